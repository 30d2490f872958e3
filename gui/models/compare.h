// Compares two recordings at the same step: the peak sets of both, and their difference.
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/compare/groups.h"
#include "analyzer/compare/module_tree.h"
#include "gui/models/document.h"
#include "gui/models/text_filter.h"

namespace tapelens::gui {

using compare::Change;
using compare::ComparedGroup;

// The time at which one recording, or one of its steps, has the most live bytes.
struct ComparedMoment {
  uint32_t step = 0;
  Bytes bytes;
  Time time;
  uint64_t allocations = 0;
};
// The modules of both at their moments as one tree.
struct ComparedModules {
  std::vector<compare::HeldBytes> a, b;
  compare::ModuleTree tree;

  ComparedModules() : tree(a, b) {}
  ComparedModules(std::vector<compare::HeldBytes> in_a, std::vector<compare::HeldBytes> in_b)
      : a(std::move(in_a)), b(std::move(in_b)), tree(a, b) {}
  // The names of the groups by module that a node contains, in either recording.
  std::set<std::string> within(uint32_t node) const;
};
struct MomentComparison {
  ComparedMoment a, b;
  std::vector<ComparedGroup> groups;
  ComparedModules modules;
};
// `step`: compared in both recordings; none: compares each at its own peak.
MomentComparison compare(const Document& a, const Subject& of_a, const Document& b, const Subject& of_b,
                         std::optional<uint32_t> step, peak::By by);

// The live bytes over steps, one column a pixel. Column c is the maximum from step `begin + c * (end - begin) / width`
// to the step of the next column; half a step is half of its time. Columns after the last step are -1.
std::vector<int64_t> step_columns(const Subject& subject, double begin, double end, int width);
// The position of a time on that axis.
double step_of(const Subject& subject, Time time);

class CompareTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column : uint8_t { group, difference, change, a, b, allocations, kColumns };
  enum Role : int { sort_role = Qt::UserRole, change_role };

  using QAbstractTableModel::QAbstractTableModel;

  void show(std::vector<ComparedGroup> groups);
  const ComparedGroup& at(int row) const { return groups_[static_cast<size_t>(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  QString text(const ComparedGroup& group, int column) const;
  std::vector<ComparedGroup> groups_;
};

// Filters by the names of groups and their kinds of change.
class CompareFilter : public TextFilter {
  Q_OBJECT
 public:
  explicit CompareFilter(CompareTable& table, QObject* parent = nullptr);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  CompareTable& table_;
};

}  // namespace tapelens::gui
