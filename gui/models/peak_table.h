// What was alive at a moment as rows: one allocation each.
#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <QString>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/report/report.h"

namespace tapelens::gui {

// "ConvolutionBackward0.input", "gradient of fc.weight", "the program": its main holder, as `tapelens report` says it.
QString what_text(const report::Allocation& allocation);
// The holders one by one, the main one first.
QString holders_text(const report::Allocation& allocation);

// Qt::EditRole is for programs: bytes and times (in ns) as numbers, in the header too what they are.
class PeakTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column : uint8_t { bytes, what, category, shape, source, op, module, holders, age, step, kColumns };
  enum Role : int {
    sort_role = Qt::UserRole,  // a number, or the text
    allocation_role,           // report::Allocation::id
    kind_role                  // peak::HolderKind as int
  };

  using QAbstractTableModel::QAbstractTableModel;

  // Null: none.
  void show(std::shared_ptr<const report::Peak> peak);
  const report::Peak* peak() const { return peak_.get(); }
  const report::Allocation& allocation(int row) const { return peak_->allocations[static_cast<size_t>(row)]; }
  int row_of(uint32_t allocation) const;  // -1: it is not among them

  // What a filter looks at: the text of all columns in lower case. Made when it is first asked for.
  const std::string& haystack(int row) const;
  // Where a row stands when they are sorted by a column; equals have the same place.
  int64_t place(Column column, int row) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  QString text(const report::Allocation& allocation, Column column) const;
  std::string words(const report::Allocation& allocation, Column column) const;
  int64_t number(const report::Allocation& allocation, Column column) const;
  void rank(Column column) const;

  std::shared_ptr<const report::Peak> peak_;
  mutable std::vector<std::string> haystacks_;
  mutable std::vector<std::vector<uint32_t>> ranks_;  // by column, then row; of columns of text
};

// Sorted by any column and cut down to the rows with all the words of a filter, as matches() has it.
class PeakRows : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  explicit PeakRows(PeakTable& table, QObject* parent = nullptr);

  void set_filter(const QString& filter);
  // Only these rows of the table, one flag each; none: all.
  void set_shown(std::vector<bool> shown);
  bool matches_filter(int row) const;  // whatever set_shown() says

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

 private:
  PeakTable& table_;
  std::vector<std::string> words_;
  std::vector<bool> shown_;
};

}  // namespace tapelens::gui
