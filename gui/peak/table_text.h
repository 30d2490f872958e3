// Rows of a table as text to paste elsewhere.
#pragma once

#include <QString>

class QAbstractItemModel;

namespace tapelens::gui {

// As it is shown, with tabs between the columns.
QString row_text(const QAbstractItemModel& table, int row);
// All of it as RFC 4180 has it, with a header; numbers as numbers (Qt::EditRole).
QString csv_text(const QAbstractItemModel& table);

}  // namespace tapelens::gui
