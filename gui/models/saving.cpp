#include "gui/models/saving.h"

#include <QBuffer>
#include <QFile>
#include <QImage>

#include "gui/models/visible_text.h"

namespace tapelens::gui {
namespace {

constexpr size_t kHead = 4096;

trace::OutputOptions output_of(const QString& path, const trace::OutputKind& kind, const Saving& saving) {
  trace::OutputOptions options;
  // In the window, "-" is an ordinary file name.
  options.path = QFile::encodeName(path == "-" ? "./-" : path).toStdString();
  options.kind = kind;
  for (const QString& recording : saving.recordings)
    options.inputs.push_back(QFile::encodeName(recording).toStdString());
  options.is_forced = saving.is_forced;
  options.mode = options.inputs.empty() ? 0 : trace::mode_of_made(options.inputs);
  return options;
}

}  // namespace

trace::Status may_save(const QString& path, const trace::OutputKind& kind, const Saving& saving) {
  return trace::Output::check(output_of(path, kind, saving));
}

trace::Status save_file(const QString& path, const trace::OutputKind& kind, const Saving& saving,
                        const std::function<bool(QIODevice&)>& write) {
  if (auto may = may_save(path, kind, saving); !may) return may;
  QBuffer bytes;
  if (!bytes.open(QIODevice::WriteOnly) || !write(bytes)) {
    return failure(QString("%1: cannot be written: out of memory").arg(path));
  }
  return save_text(path, kind, saving, bytes.data().toStdString());
}

trace::Status save_text(const QString& path, const trace::OutputKind& kind, const Saving& saving,
                        const std::string& text) {
  auto output = trace::Output::open(output_of(path, kind, saving));
  if (!output) return output.error();
  if (auto written = output->write(text); !written) return written;
  return output->finish();
}

trace::OutputKind picture_kind(const QString& ending) {
  if (ending == "png") {
    return {.name = "picture",
            .begins = "\x89PNG\r\n",
            .is_ours =
                [](std::string_view head) {
                  return head.find(std::string_view("tEXtSoftware\0Tapelens", 21)) != std::string_view::npos;
                },
            .looks_at = kHead};
  }
  return {.name = "drawing",
          .begins = "<?xml ",
          .is_ours = [](std::string_view head) { return head.find("<title>Tapelens") != std::string_view::npos; },
          .looks_at = kHead};
}

trace::Status save_png(const QString& path, const Saving& saving, QImage image) {
  image.setText("Software", "Tapelens");
  return save_file(path, picture_kind("png"), saving, [&](QIODevice& file) { return image.save(&file, "PNG"); });
}

}  // namespace tapelens::gui
