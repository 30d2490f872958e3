// Names, paths and messages of a recording or a verify result are untrusted text. These functions make it safe to show:
// control characters and markup have no effect, and nothing stays hidden.
#pragma once

#include <QString>
#include <string_view>

namespace tapelens::gui {

// Escapes text as text::printable() does.
QString visible(std::string_view utf8);
// The same for text of several lines; line breaks stay.
QString visible_lines(std::string_view utf8);

// For tool tips, which would interpret text that looks like HTML.
QString plain_tip(const QString& text);

}  // namespace tapelens::gui
