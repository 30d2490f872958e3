// Names, paths and messages of a recording or a verify result are untrusted text. These functions make it safe to show:
// control characters and markup have no effect, and nothing stays hidden.
#pragma once

#include <QString>
#include <string_view>

#include "trace/result.h"

namespace tapelens::gui {

// Escapes text as text::printable() does.
QString visible(std::string_view utf8);
// The same for text of several lines; line breaks stay.
QString visible_lines(std::string_view utf8);

// For tool tips, which would interpret text that looks like HTML.
QString plain_tip(const QString& text);

// ---- errors: functions of the window that can fail return a trace::Result; these convert its message to and from text
// of the window
inline trace::Error failure(const QString& sentence) { return {sentence.toStdString()}; }
inline QString sentence(const trace::Error& error) { return QString::fromStdString(error.message); }

}  // namespace tapelens::gui
