// The allocations alive at one time, one row each.
#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <QString>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/report/report.h"
#include "gui/models/filter_words.h"

namespace tapelens::gui {

// The main holder, as `tapelens report` names it: "ConvolutionBackward0.input", "gradient of fc.weight", "the program".
QString what_text(const report::Allocation& allocation);
// All holders, the main one first.
QString holders_text(const report::Allocation& allocation);

// For programs, Qt::EditRole returns bytes and times (in ns) as numbers; the header names their units.
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

  // Null shows no rows. Qt::DisplayRole of a module is its path below the path that all modules share.
  void show(std::shared_ptr<const report::Peak> peak);
  const report::Peak* peak() const { return peak_.get(); }
  const report::Allocation& allocation(int row) const { return peak_->allocations[static_cast<size_t>(row)]; }
  const std::string& common_module() const { return parent_; }  // the path that begins all modules
  int row_of(uint32_t allocation) const;                        // -1 if the table does not have it

  // The text of all columns in lower case, for filters. Computed on first use.
  const std::string& haystack(int row) const;
  // The rank of a row when sorted by a column; equal values have the same rank.
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
  std::string parent_;  // the path that begins all modules; the column leaves it out
  mutable std::vector<std::string> haystacks_;
  mutable std::vector<std::vector<uint32_t>> ranks_;  // by text column, then by row
};

// Sorts by any column, and keeps the rows with the words of a filter, as matches() does.
class PeakRows : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  explicit PeakRows(PeakTable& table, QObject* parent = nullptr);

  void set_filter(const QString& filter);
  // Restricts the table to rows with a flag; none: all rows.
  void set_shown(std::vector<bool> shown);
  bool matches_filter(int row) const;  // independent of set_shown()

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

 private:
  PeakTable& table_;
  FilterWords typed_;
  struct Word {
    std::string text;
    bool is_whole = false;
  };
  std::vector<Word> wanted_, left_out_;
  std::vector<bool> shown_;
};

}  // namespace tapelens::gui
