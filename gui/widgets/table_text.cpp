#include <QAbstractItemModel>
#include <QStringList>
#include <functional>

#include "gui/widgets/table.h"

namespace tapelens::gui {

namespace {

QString quoted(QString text) {
  const bool needs = text.contains(',') || text.contains('"') || text.contains('\n') || text.contains('\r');
  return needs ? '"' + text.replace("\"", "\"\"") + '"' : text;
}

QString plain(QString text) { return text.replace('\t', ' ').replace('\n', ' ').replace('\r', ' '); }

QVariant first_valid(const QVariant& value, const QVariant& otherwise) { return value.isValid() ? value : otherwise; }

// Visits rows, each followed by its children.
void visit(const QAbstractItemModel& table, const QModelIndex& of, const std::function<void(const QModelIndex&)>& row) {
  for (int at = 0; at < table.rowCount(of); ++at) {
    const QModelIndex index = table.index(at, 0, of);
    row(index);
    visit(table, index, row);
  }
}

template <class Cell>
QString joined(const QAbstractItemModel& table, char between, Cell cell) {
  QStringList cells;
  for (int column = 0; column < table.columnCount(); ++column) cells.append(cell(column));
  return cells.join(between);
}

}  // namespace

QString row_text(const QModelIndex& row) {
  return joined(*row.model(), '\t', [&](int column) { return plain(row.siblingAtColumn(column).data().toString()); });
}

QString row_text(const QAbstractItemModel& table, int row) { return row_text(table.index(row, 0)); }

QString pasted_text(const QAbstractItemModel& table) {
  QString text =
      joined(table, '\t', [&](int column) { return plain(table.headerData(column, Qt::Horizontal).toString()); });
  visit(table, {}, [&](const QModelIndex& row) { text += "\n" + row_text(row); });
  return text + "\n";
}

QString csv_text(const QAbstractItemModel& table) {
  QString text = joined(table, ',', [&](int column) {
    return quoted(
        first_valid(table.headerData(column, Qt::Horizontal, Qt::EditRole), table.headerData(column, Qt::Horizontal))
            .toString());
  });
  visit(table, {}, [&](const QModelIndex& row) {
    text += "\r\n" + joined(table, ',', [&](int column) {
              const QModelIndex cell = row.siblingAtColumn(column);
              return quoted(first_valid(cell.data(Qt::EditRole), cell.data()).toString());
            });
  });
  return text + "\r\n";
}

}  // namespace tapelens::gui
