// The segments of a device at one time, as rows.
#pragma once

#include <QAbstractTableModel>
#include <memory>

#include "gui/models/session.h"

namespace tapelens::gui {

// The reserved bytes at one time, and how they are used.
struct SegmentTotals {
  Bytes allocated, waiting, reserved, unused, largest_hole;
  uint64_t segments = 0;
};
SegmentTotals totals_of(const std::vector<peak::SegmentAt>& segments);
// "800 MiB unused, in pieces of at most 300 MiB", "nothing unused"
QString unused_words(Bytes unused, Bytes largest_hole);
// "1.2 GiB allocated, 24.0 MiB waiting, 2.0 GiB reserved in 14 segments; 800 MiB unused, in pieces of at most 300 MiB"
QString totals_words(const SegmentTotals& totals);

// Qt::EditRole returns bytes as numbers, for programs.
class SegmentsTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column : uint8_t { address, bytes, allocated, waiting, unused, hole, blocks, where, kColumns };

  using QAbstractTableModel::QAbstractTableModel;

  // Null shows no rows.
  void show(std::shared_ptr<const MomentSet> moment);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  QVariant number(const peak::SegmentAt& segment, int column) const;

  std::shared_ptr<const MomentSet> moment_;
};

}  // namespace tapelens::gui
