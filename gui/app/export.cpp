#include "gui/app/export.h"

#include <QAbstractItemModel>
#include <QApplication>
#include <QClipboard>
#include <QFileInfo>
#include <QPainter>
#include <QSaveFile>
#include <QSvgGenerator>

#include "gui/widgets/page.h"

namespace tapelens::gui {

namespace {

QString cell(QString text, char between) {
  const auto has = [&](char c) { return text.contains(c); };
  if (between != ',') return text.replace('\t', ' ').replace('\n', ' ').replace('\r', ' ');
  if (!has(',') && !has('"') && !has('\n') && !has('\r')) return text;
  return '"' + text.replace("\"", "\"\"") + '"';
}

template <class Write>
QString saved(const QString& path, Write write) {
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly) || !write(file) || !file.commit()) {
    return QString("%1: cannot be written: %2").arg(path, file.errorString());
  }
  return {};
}

}  // namespace

QString table_text(const QAbstractItemModel& table, char between) {
  // A file has the numbers behind the words where the table knows them: programs read it.
  const Qt::ItemDataRole role = between == ',' ? Qt::EditRole : Qt::DisplayRole;
  QString text;
  const auto row = [&](auto value) {
    for (int column = 0; column < table.columnCount(); ++column) {
      if (column > 0) text += between;
      text += cell(value(column), between);
    }
    text += between == ',' ? "\r\n" : "\n";
  };
  row([&](int column) {
    const QVariant title = table.headerData(column, Qt::Horizontal, role);
    return (title.isValid() ? title : table.headerData(column, Qt::Horizontal)).toString();
  });
  for (int at = 0; at < table.rowCount(); ++at) {
    row([&](int column) {
      const QModelIndex index = table.index(at, column);
      const QVariant value = index.data(role);
      return (value.isValid() ? value : index.data()).toString();
    });
  }
  return text;
}

QString export_page(Page& page, const QString& path) {
  const QString ending = QFileInfo(path).suffix().toLower();
  if (ending == "png") {
    return saved(path, [&](QIODevice& file) { return page.picture()->grab().save(&file, "PNG"); });
  }
  if (ending == "svg") {
    return saved(path, [&](QIODevice& file) {
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
    if (table == nullptr) return QString("%1: the %2 page has no table: .png or .svg").arg(path, page.title());
    return saved(path, [&](QIODevice& file) {
      const QByteArray bytes = table_text(*table, ',').toUtf8();
      return file.write(bytes) == bytes.size();
    });
  }
  return QString("%1: a name ends with .png, .svg or .csv").arg(path);
}

void copy_page(Page& page) {
  if (const QAbstractItemModel* table = page.table()) {
    QApplication::clipboard()->setText(table_text(*table, '\t'));
  } else {
    QApplication::clipboard()->setPixmap(page.picture()->grab());
  }
}

}  // namespace tapelens::gui
