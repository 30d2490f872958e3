#include "gui/peak/table_text.h"

#include <QAbstractItemModel>
#include <QStringList>

namespace tapelens::gui {

namespace {

QString quoted(const QString& text) {
  const bool needs = text.contains(QLatin1Char(',')) || text.contains(QLatin1Char('"')) ||
                     text.contains(QLatin1Char('\n')) || text.contains(QLatin1Char('\r'));
  return needs ? QLatin1Char('"') + QString(text).replace(QLatin1Char('"'), QStringLiteral("\"\"")) + QLatin1Char('"')
               : text;
}

}  // namespace

QString row_text(const QAbstractItemModel& table, int row) {
  QStringList cells;
  for (int column = 0; column < table.columnCount(); ++column) cells.append(table.index(row, column).data().toString());
  return cells.join(QLatin1Char('\t'));
}

QString csv_text(const QAbstractItemModel& table) {
  QString out;
  const auto add = [&](const auto& cell) {
    for (int column = 0; column < table.columnCount(); ++column) {
      if (column > 0) out += QLatin1Char(',');
      out += quoted(cell(column));
    }
    out += QStringLiteral("\r\n");
  };
  add([&](int column) { return table.headerData(column, Qt::Horizontal, Qt::EditRole).toString(); });
  for (int row = 0; row < table.rowCount(); ++row)
    add([&](int column) { return table.index(row, column).data(Qt::EditRole).toString(); });
  return out;
}

}  // namespace tapelens::gui
