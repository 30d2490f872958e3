// The training steps as rows, and the outliers among them.
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

// How a step differs from the others; an empty text means that it does not.
struct StandsOut {
  std::vector<QString> peak;    // by step: "peak 12 % above the median"
  std::vector<QString> growth;  // by step: "grows by 3.1 MiB a step since step 4"
  uint64_t count = 0;           // steps with either
};
// A peak is an outlier if it exceeds the median by much more than the typical distance from it. Bytes grow if each of
// five or more steps begins with more live bytes than the step before. The first step's growth does not count, because
// it allocates parameters and optimizer state. `live`: the bytes at each step's begin.
StandsOut stands_out(const std::vector<report::Step>& steps, const std::vector<int64_t>& live);

// Qt::EditRole returns bytes and times (in ns) as numbers, for programs.
class StepsTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column : uint8_t { step, peak, shape, live, allocations, backward, allocated, time, note, kColumns };
  enum Role : int {
    sort_role = Qt::UserRole,  // a number
    sparkline_role,            // QList<qint64>: the most bytes alive in each part of the step, starting at 0
    most_role,                 // qint64: common maximum of all sparklines
    why_role                   // why the cell is an outlier; none: it is not
  };
  static constexpr int kParts = 60;

  using QAbstractTableModel::QAbstractTableModel;

  // `owner` keeps the timeline alive. Null shows no steps.
  void show(std::shared_ptr<const void> owner, const peak::Timeline* timeline, std::vector<report::Step> steps);
  const std::vector<report::Step>& steps() const { return steps_; }
  const StandsOut& outstanding() const { return out_; }
  // The step with the largest peak; -1 if the table is empty.
  int largest() const { return largest_; }
  int row_of(uint32_t index) const;  // row of a step; -1 if the table does not have it

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

// Sorts by any column, and keeps the steps whose number and note contain all words of a filter.
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
