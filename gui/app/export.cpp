#include <QAbstractItemModel>
#include <QApplication>
#include <QClipboard>
#include <QFileInfo>
#include <QPainter>
#include <QSvgGenerator>

#include "gui/app/exports.h"
#include "gui/models/visible_text.h"
#include "gui/widgets/page.h"
#include "gui/widgets/table.h"

namespace tapelens::gui {

trace::Status export_page(Page& page, const QString& path, const Saving& saving) {
  const QString ending = QFileInfo(path).suffix().toLower();
  if (ending == "png") {
    return save_png(path, saving, page.picture()->grab().toImage());
  }
  if (ending == "svg") {
    return save_file(path, picture_kind(ending), saving, [&](QIODevice& file) {
      QSvgGenerator svg;
      svg.setOutputDevice(&file);
      svg.setSize(page.picture()->size());
      svg.setViewBox(page.picture()->rect());
      svg.setTitle("Tapelens: " + page.title());
      QPainter painter;
      if (!painter.begin(&svg)) return false;
      page.paint_picture(painter);
      return painter.end();
    });
  }
  if (ending == "csv") {
    const QAbstractItemModel* table = page.table();
    if (table == nullptr) return failure(QString("%1: the %2 page has no table: .png or .svg").arg(path, page.title()));
    return save_file(path, {.name = "table"}, saving, [&](QIODevice& file) {
      const QByteArray bytes = csv_text(*table).toUtf8();
      return file.write(bytes) == bytes.size();
    });
  }
  return failure(QString("%1: a name ends with .png, .svg or .csv").arg(path));
}

void copy_page(Page& page) {
  if (const QAbstractItemModel* table = page.table()) {
    QApplication::clipboard()->setText(pasted_text(*table));
  } else {
    QApplication::clipboard()->setPixmap(page.picture()->grab());
  }
}

}  // namespace tapelens::gui
