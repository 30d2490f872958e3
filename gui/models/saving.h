// How the window writes a file: as the commands do (trace/output.h).
#pragma once

#include <QString>
#include <QStringList>
#include <functional>

#include "trace/output.h"

class QIODevice;
class QImage;

namespace tapelens::gui {

struct Saving {
  QStringList recordings = {};  // that are open: never written; what is made of them has their mode
  bool is_forced = true;        // the dialog that asked for the name has asked whether to replace the file
};

// Whether that may be done, before the work.
trace::Status may_save(const QString& path, const trace::OutputKind& kind, const Saving& saving);
// All of it or, if it cannot be written, what was there before. `write` says whether it could.
trace::Status save_file(const QString& path, const trace::OutputKind& kind, const Saving& saving,
                        const std::function<bool(QIODevice&)>& write);
trace::Status save_text(const QString& path, const trace::OutputKind& kind, const Saving& saving,
                        const std::string& text);
// Pictures, which say that they are of Tapelens: in a PNG's texts, in a drawing's title.
trace::OutputKind picture_kind(const QString& ending);
trace::Status save_png(const QString& path, const Saving& saving, QImage image);

}  // namespace tapelens::gui
