// Names, paths and messages of a recording or a verify result are somebody else's text. It becomes text of the window
// here: what acts upon nothing and hides nothing.
#pragma once

#include <QString>
#include <string_view>

namespace tapelens::gui {

// As report::printable says.
QString visible(std::string_view utf8);
// Likewise, of text of several lines, which stay lines.
QString visible_lines(std::string_view utf8);

// For tool tips, which take text that looks like HTML for HTML.
QString plain_tip(const QString& text);

}  // namespace tapelens::gui
