// The training steps as rows, and which of them stand out.
#pragma once

#include <QAbstractTableModel>
#include <QCache>
#include <QSortFilterProxyModel>
#include <QString>
#include <memory>
#include <vector>

#include "analyzer/peak/timeline.h"
#include "analyzer/report/report.h"

namespace tapelens::gui {

// What is unlike the other steps; empty texts: nothing.
struct StandsOut {
  std::vector<QString> peak;    // by step: "peak 12 % above the median"
  std::vector<QString> growth;  // by step: "grows by 3.1 MiB a step since step 4"
  uint64_t count = 0;           // steps with either
};
// A peak stands out when it is above the median by much more than peaks differ from it; bytes grow when what is alive
// at the begin of each of five or more steps is more than at the one before; what the first step left, which makes the
// parameters and the optimizer's state, is no growth. `live`: at each step's begin.
StandsOut stands_out(const std::vector<report::Step>& steps, const std::vector<int64_t>& live);

// Qt::EditRole is for programs: bytes and times (in ns) as numbers.
class StepsTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column : uint8_t { step, peak, shape, live, allocations, backward, allocated, time, note, kColumns };
  enum Role : int {
    sort_role = Qt::UserRole,  // a number
    sparkline_role,            // QList<qint64>: the most that was alive in each part of the step, all from 0
    most_role,                 // qint64: the top of all sparklines
    why_role                   // why a cell stands out; none: it does not
  };
  static constexpr int kParts = 60;

  using QAbstractTableModel::QAbstractTableModel;

  // The timeline lives as long as `owner`. Null: no steps.
  void show(std::shared_ptr<const void> owner, const peak::Timeline* timeline, std::vector<report::Step> steps);
  const std::vector<report::Step>& steps() const { return steps_; }
  const StandsOut& outstanding() const { return out_; }
  // The one with the largest peak; -1: there are none.
  int largest() const { return largest_; }
  int row_of(uint32_t index) const;  // of a step; -1: it is not among them

  qint64 number(size_t row, Column column) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  QString text(size_t row, Column column) const;
  const QList<qint64>& parts(size_t row) const;

  std::shared_ptr<const void> owner_;
  const peak::Timeline* timeline_ = nullptr;
  std::vector<report::Step> steps_;
  std::vector<int64_t> live_;
  StandsOut out_;
  int largest_ = -1;
  mutable QCache<size_t, QList<qint64>> parts_{1000};
};

// Sorted by any column and cut down to the steps whose number and note have all words of a filter.
class StepsRows : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  explicit StepsRows(StepsTable& table, QObject* parent = nullptr);
  void set_filter(const QString& filter, bool only_outstanding);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

 private:
  StepsTable& table_;
  QString filter_;
  bool only_outstanding_ = false;
};

}  // namespace tapelens::gui
