// Functions of the window that can fail return a trace::Result; these helpers convert its message to and from text of
// the window.
#pragma once

#include <QString>

#include "trace/result.h"

namespace tapelens::gui {

inline trace::Error failure(const QString& sentence) { return {sentence.toStdString()}; }
inline QString sentence(const trace::Error& error) { return QString::fromStdString(error.message); }

}  // namespace tapelens::gui
