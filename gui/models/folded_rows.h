// The rows of PeakRows with equal allocations folded into one row "x12", which can be opened. Equal allocations differ
// only in the indices of their modules and names, and in their times.
#pragma once

#include <QAbstractProxyModel>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "gui/models/peak_table.h"

namespace tapelens::gui {

// A group's row has the sum of the bytes, and otherwise the data of its first allocation; Qt::DisplayRole has the
// indices of all: "layer.{0-3}.fc". Sorted by bytes, groups are sorted by their sums.
class FoldedRows : public QAbstractProxyModel {
  Q_OBJECT
 public:
  enum Role : int { count_role = PeakTable::kind_role + 1 };  // the number of allocations in a row; 1: no group

  // Both outlive this.
  FoldedRows(PeakTable& table, PeakRows& rows, QObject* parent = nullptr);

  bool is_group(int row) const { return entries_[static_cast<size_t>(row)].is_group; }
  bool is_open(int row) const;
  // The row is that of a group.
  void set_open(int row, bool is_open);
  // The modules of all allocations of a group's row, equal ones as text::equal_rows() writes them. The result is empty
  // if they are outside of modules.
  std::vector<std::string> modules(int row) const;
  // Opens the group of a row of PeakRows, unless it is the first of its group or in none.
  void reveal(const QModelIndex& source);

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  // The first row of a closed group is the group's row.
  QModelIndex mapToSource(const QModelIndex& index) const override;
  QModelIndex mapFromSource(const QModelIndex& source) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;
  void sort(int column, Qt::SortOrder order = Qt::AscendingOrder) override;

 private:
  struct Group {
    uint32_t id = 0;        // equal for equal allocations of the table
    std::vector<int> rows;  // of PeakRows, sorted as those
    model::Bytes bytes;
  };
  struct Entry {
    int row = 0;       // of PeakRows
    size_t group = 0;  // index in groups_
    bool is_group = false;
  };
  // `row`: of PeakRows.
  const report::Allocation& allocation(int row) const;
  const Group& group_of(int row) const { return groups_[entries_[static_cast<size_t>(row)].group]; }
  void find_equal();
  void fold();
  void fold_as_layout();
  // The modules of a group; more than one, if a filter left out some of the combinations of several indices.
  std::vector<std::string> modules(const Group& group) const;
  QString folded_text(const Group& group, PeakTable::Column column) const;

  PeakTable& table_;
  PeakRows& rows_;
  std::vector<uint32_t> equal_;  // Group::id by row of the table; computed at the first use
  std::vector<Group> groups_;    // in the order shown; a single allocation is a group of one
  std::vector<Entry> entries_;
  std::vector<int> place_;  // by row of PeakRows: its entry, or that of its closed group
  std::set<uint32_t> open_;
  int column_ = -1;
  Qt::SortOrder order_ = Qt::AscendingOrder;
  std::vector<uint32_t> kept_;  // allocations of the persistent indices, while the layout changes
};

}  // namespace tapelens::gui
