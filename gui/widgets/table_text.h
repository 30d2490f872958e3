// Tables as text, to paste or to save.
#pragma once

#include <QString>

class QAbstractItemModel;

namespace tapelens::gui {

// A row as shown, with tabs between the columns, as spreadsheets paste it.
QString row_text(const QAbstractItemModel& table, int row);
// All rows in that format, with a header.
QString pasted_text(const QAbstractItemModel& table);
// The whole table as RFC 4180 CSV, with a header. Uses raw numbers (Qt::EditRole) if the table has them, for programs.
QString csv_text(const QAbstractItemModel& table);

}  // namespace tapelens::gui
