// Tables as text, to paste elsewhere or to keep.
#pragma once

#include <QString>

class QAbstractItemModel;

namespace tapelens::gui {

// A row as it is shown, with tabs between the columns: what a spreadsheet takes from the clipboard.
QString row_text(const QAbstractItemModel& table, int row);
// All rows so, with a header.
QString pasted_text(const QAbstractItemModel& table);
// All of it as RFC 4180 has it, with a header; numbers behind the words (Qt::EditRole) where the table knows them:
// programs read it.
QString csv_text(const QAbstractItemModel& table);

}  // namespace tapelens::gui
