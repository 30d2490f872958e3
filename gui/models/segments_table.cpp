#include "gui/models/segments_table.h"

#include <algorithm>

#include "analyzer/text/format.h"
#include "gui/models/facts.h"
#include "gui/models/visible_text.h"

namespace tapelens::gui {

namespace {

Bytes waiting_of(const peak::SegmentAt& segment) {
  Bytes waiting;
  for (const peak::BlockAt& block : segment.blocks) {
    if (block.waits) waiting += block.rounded;
  }
  return waiting;
}

}  // namespace

SegmentTotals totals_of(const std::vector<peak::SegmentAt>& segments) {
  SegmentTotals t;
  for (const peak::SegmentAt& segment : segments) {
    const Bytes waiting = waiting_of(segment);
    t.allocated += segment.used - waiting;
    t.waiting += waiting;
    t.reserved += segment.bytes;
    t.unused += segment.bytes - segment.used;
    t.largest_hole = std::max(t.largest_hole, segment.largest_hole);
    ++t.segments;
  }
  return t;
}

QString unused_words(Bytes unused, Bytes largest_hole) {
  if (unused.value == 0) return QStringLiteral("nothing unused");
  return QString("%1 unused, in pieces of at most %2").arg(bytes_words(unused), bytes_words(largest_hole));
}

QString totals_words(const SegmentTotals& t) {
  QString words = QString("%1 allocated, ").arg(bytes_words(t.allocated));
  if (t.waiting.value > 0) words += QString("%1 waiting, ").arg(bytes_words(t.waiting));
  return words +
         QString("%1 reserved in %2; ")
             .arg(bytes_words(t.reserved), visible(text::plural(t.segments, "segment", "segments"))) +
         unused_words(t.unused, t.largest_hole);
}

void SegmentsTable::show(std::shared_ptr<const MomentSet> moment) {
  beginResetModel();
  moment_ = std::move(moment);
  endResetModel();
}

int SegmentsTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !moment_ ? 0 : static_cast<int>(moment_->segments.size());
}

int SegmentsTable::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant SegmentsTable::number(const peak::SegmentAt& s, int column) const {
  switch (column) {
    case address:
      return QVariant::fromValue<qulonglong>(s.address);
    case bytes:
      return QVariant::fromValue<qlonglong>(s.bytes.value);
    case allocated:
      return QVariant::fromValue<qlonglong>((s.used - waiting_of(s)).value);
    case waiting:
      return QVariant::fromValue<qlonglong>(waiting_of(s).value);
    case unused:
      return QVariant::fromValue<qlonglong>((s.bytes - s.used).value);
    case hole:
      return QVariant::fromValue<qlonglong>(s.largest_hole.value);
    case blocks:
      return QVariant::fromValue<qulonglong>(s.blocks.size());
    default:
      return pool_words(s.stream, s.graph_pool, s.user_pool);
  }
}

QVariant SegmentsTable::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
  const peak::SegmentAt& segment = moment_->segments[static_cast<size_t>(index.row())];
  const QVariant value = number(segment, index.column());
  switch (role) {
    case Qt::DisplayRole:
      if (index.column() == address)
        return address_words(segment.address) + (segment.is_expandable ? tr(", expandable") : QString());
      if (index.column() == blocks) return visible(text::count_text(segment.blocks.size()));
      return index.column() == where ? value : bytes_words(Bytes{value.toLongLong()});
    case Qt::EditRole:
      return value;
    case Qt::TextAlignmentRole: {
      const bool is_number = index.column() != address && index.column() != where;
      return QVariant::fromValue<Qt::Alignment>((is_number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    }
    default:
      return {};
  }
}

QVariant SegmentsTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  struct Head {
    const char *name, *tip;
  };
  static constexpr Head kHeads[kColumns] = {
      {"Address", "Address of the segment on the device."},
      {"Size", "Bytes that the allocator reserved for the segment."},
      {"Allocated", "Blocks that the program holds."},
      {"Waiting", "Blocks that the program freed, and that another stream still uses."},
      {"Unused", "Free bytes, usable if the pieces are large enough."},
      {"Largest hole", "The longest piece without a block."},
      {"Blocks", "How many."},
      {"Stream and pool", "Whom blocks of it may be given to."}};
  if (role == Qt::DisplayRole) return kHeads[section].name;
  if (role == Qt::ToolTipRole) return kHeads[section].tip;
  if (role == Qt::TextAlignmentRole) {
    const bool is_number = section != address && section != where;
    return QVariant::fromValue<Qt::Alignment>((is_number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  return {};
}

}  // namespace tapelens::gui
