// What can fail in the window gives a trace::Result, too; its sentences become text of the window and back here.
#pragma once

#include <QString>

#include "trace/result.h"

namespace tapelens::gui {

inline trace::Error failure(const QString& sentence) { return {sentence.toStdString()}; }
inline QString sentence(const trace::Error& error) { return QString::fromStdString(error.message); }

}  // namespace tapelens::gui
