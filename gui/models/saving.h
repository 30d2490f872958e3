// Writes files of the window with the rules of the commands (trace/output.h).
#pragma once

#include <QString>
#include <QStringList>
#include <functional>

#include "trace/output.h"

class QIODevice;
class QImage;

namespace tapelens::gui {

struct Saving {
  QStringList recordings = {};  // open recordings: never overwritten; files made from them get their mode
  bool is_forced = true;        // the file dialog has already asked whether to replace the file
};

// Whether the file may be written; call before the work.
trace::Status may_save(const QString& path, const trace::OutputKind& kind, const Saving& saving);
// Writes the whole file or, on failure, keeps the previous one. `write` returns whether it succeeded.
trace::Status save_file(const QString& path, const trace::OutputKind& kind, const Saving& saving,
                        const std::function<bool(QIODevice&)>& write);
trace::Status save_text(const QString& path, const trace::OutputKind& kind, const Saving& saving,
                        const std::string& text);
// Pictures are marked as files of Tapelens: in a PNG's text, in a drawing's title.
trace::OutputKind picture_kind(const QString& ending);
trace::Status save_png(const QString& path, const Saving& saving, QImage image);

}  // namespace tapelens::gui
