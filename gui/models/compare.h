// Two recordings side by side: the same step of both, what held their peaks, and what the difference is.
#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <QString>
#include <optional>
#include <vector>

#include "analyzer/compare/groups.h"
#include "gui/models/document.h"

namespace tapelens::gui {

using compare::Change;
using compare::ComparedGroup;

// What was alive at the largest moment of one recording: of its whole, or of a step.
struct ComparedMoment {
  uint32_t step = 0;
  Bytes bytes;
  Time time;
  uint64_t allocations = 0;
};
struct Comparison {
  ComparedMoment a, b;
  std::vector<ComparedGroup> groups;
};
// `step`: of both; none: that of each one's peak.
Comparison compare(const Document& a, const Subject& of_a, const Document& b, const Subject& of_b,
                   std::optional<uint32_t> step, peak::By by);

// The live bytes over steps, a column a pixel: column c is the most between the steps `begin + c * (end - begin) /
// width` and the next; half a step is half of its time. Past the last step there is nothing: -1.
std::vector<int64_t> step_columns(const Subject& subject, double begin, double end, int width);
// The place of a time on that axis.
double step_of(const Subject& subject, Time time);

// "+24.1 MiB", "−24.1 MiB", "0 B"
QString signed_bytes(Bytes bytes);

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

// By the names of groups and what became of them.
class CompareFilter : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  explicit CompareFilter(CompareTable& table, QObject* parent = nullptr);
  void set_filter(const QString& filter);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  CompareTable& table_;
  QString filter_;
};

}  // namespace tapelens::gui
