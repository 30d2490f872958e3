#include "gui/models/steps_table.h"

#include <QList>
#include <QStringList>
#include <algorithm>
#include <array>

#include "analyzer/text/format.h"
#include "gui/models/session.h"

namespace tapelens::gui {

namespace {

struct Heading {
  const char* title;
  const char* tip;
};
constexpr std::array<Heading, StepsTable::kColumns> kHeadings = {{
    {"Step", "Its number, from 0; it ends with a step of the optimizer"},
    {"Peak", "The most that was alive at one moment of the step"},
    {"Live bytes", "Live bytes during the step, from left to right; all steps have the same scale"},
    {"Live at start", "Live bytes just before the step: growth means that memory is kept from step to step"},
    {"Allocations", "How many allocations the step made"},
    {"In backward", "How many of the allocations were made while a backward ran"},
    {"Allocated", "Bytes of all allocations that the step made, freed or not"},
    {"Time", "How long the step took"},
    {"Notes", "Why the step is unlike the others"},
}};

QString bytes_of(int64_t bytes) { return QString::fromStdString(text::bytes_text({bytes})); }
QString count_of(uint64_t count) { return QString::fromStdString(text::count_text(count)); }

}  // namespace

void StepsTable::show(std::shared_ptr<const void> owner, const peak::Timeline* timeline,
                      std::vector<report::Step> steps) {
  beginResetModel();
  owner_ = std::move(owner);
  timeline_ = timeline;
  steps_ = std::move(steps);
  parts_.clear();
  live_.clear();
  // The sum over an empty interval is the value just before it.
  for (const report::Step& s : steps_) live_.push_back(timeline->largest({s.begin, s.begin}).bytes.value);
  out_ = stands_out(steps_, live_);
  const auto most = std::ranges::max_element(steps_, {}, &report::Step::peak);
  largest_ = most == steps_.end() ? -1 : static_cast<int>(most - steps_.begin());
  endResetModel();
}

int StepsTable::row_of(uint32_t index) const {
  const auto at = std::ranges::lower_bound(steps_, index, {}, &report::Step::index);
  return at == steps_.end() || at->index != index ? -1 : static_cast<int>(at - steps_.begin());
}

qint64 StepsTable::number(size_t row, Column column) const {
  const report::Step& s = steps_[row];
  switch (column) {
    case peak:
    case shape:
      return s.peak.value;
    case live:
      return live_[row];
    case allocations:
      return static_cast<qint64>(s.allocations);
    case allocated:
      return s.allocated.value;
    case backward:
      return static_cast<qint64>(s.backward_allocations);
    case time:
      return s.end.ns - s.begin.ns;
    case note:
      return (out_.peak[row].isEmpty() ? 0 : 2) + (out_.growth[row].isEmpty() ? 0 : 1);
    default:
      return s.index;
  }
}

QString StepsTable::text(size_t row, Column column) const {
  const report::Step& s = steps_[row];
  switch (column) {
    case peak:
      return bytes_of(s.peak.value);
    case live:
      return bytes_of(live_[row]);
    case allocations:
      return count_of(s.allocations);
    case allocated:
      return bytes_of(s.allocated.value);
    case backward:
      return count_of(s.backward_allocations);
    case time:
      return QString::fromStdString(text::time_text(model::Time{s.end.ns - s.begin.ns}));
    case note: {
      QStringList why{out_.peak[row], out_.growth[row]};
      why.removeAll({});
      if (!s.complete)
        why.append(steps_.size() == 1 ? QStringLiteral("the whole recording: no optimizer was stepped")
                                      : QStringLiteral("the part after the last optimizer step"));
      return why.join(QStringLiteral("; "));
    }
    case step:
      return QString::number(s.index);
    default:
      return {};
  }
}

const QList<qint64>& StepsTable::parts(size_t row) const {
  if (const QList<qint64>* known = parts_.object(row)) return *known;
  const report::Step& s = steps_[row];
  auto* made = new QList<qint64>;  // owned by the cache
  const int64_t length = std::max<int64_t>(1, s.end.ns - s.begin.ns);
  for (int64_t part = 0; part < kParts; ++part) {
    // Computed in two parts, so that a long step does not overflow.
    const auto at = [&](int64_t i) {
      return model::Time{s.begin.ns + length / kParts * i + length % kParts * i / kParts};
    };
    made->append(timeline_->largest({at(part), at(part + 1)}).bytes.value);
  }
  parts_.insert(row, made);
  return *parts_.object(row);
}

int StepsTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(steps_.size());
}

int StepsTable::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant StepsTable::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
  const auto row = static_cast<size_t>(index.row());
  const auto column = static_cast<Column>(index.column());
  switch (role) {
    case Qt::DisplayRole:
      return text(row, column);
    case Qt::ToolTipRole:
    case why_role: {
      const QString why = column == peak ? out_.peak[row] : column == live ? out_.growth[row] : QString();
      if (!why.isEmpty()) return why;
      return role == Qt::ToolTipRole && column == note ? QVariant(text(row, note)) : QVariant();
    }
    case Qt::AccessibleTextRole:
      return column == shape ? QVariant(QStringLiteral("from %1 to %2").arg(text(row, live), text(row, peak)))
                             : QVariant(text(row, column));
    case Qt::TextAlignmentRole:
      return QVariant::fromValue<Qt::Alignment>((column == note || column == shape ? Qt::AlignLeft : Qt::AlignRight) |
                                                Qt::AlignVCenter);
    case Qt::EditRole:
      return column == note ? QVariant(text(row, note)) : QVariant(number(row, column));
    case sort_role:
      return number(row, column);
    case sparkline_role:
      return column == shape ? QVariant::fromValue(parts(row)) : QVariant();
    case most_role:
      return static_cast<qint64>(steps_[static_cast<size_t>(largest_)].peak.value);
    default:
      return {};
  }
}

QVariant StepsTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  if (role == Qt::EditRole && section == time) return QStringLiteral("Time (ns)");
  if (role == Qt::DisplayRole || role == Qt::EditRole)
    return QString::fromUtf8(kHeadings[static_cast<size_t>(section)].title);
  if (role == Qt::ToolTipRole) return QString::fromUtf8(kHeadings[static_cast<size_t>(section)].tip);
  if (role == Qt::TextAlignmentRole)
    return QVariant::fromValue<Qt::Alignment>((section == note || section == shape ? Qt::AlignLeft : Qt::AlignRight) |
                                              Qt::AlignVCenter);
  return {};
}

StepsRows::StepsRows(StepsTable& table, QObject* parent) : QSortFilterProxyModel(parent), table_(table) {
  setSourceModel(&table);
}

void StepsRows::set_filter(const QString& filter, bool only_outstanding) {
  filter_ = filter;
  only_outstanding_ = only_outstanding;
  invalidate();  // one pass over all rows, instead of one for each removed row
}

bool StepsRows::filterAcceptsRow(int row, const QModelIndex& parent) const {
  if (only_outstanding_ && table_.number(static_cast<size_t>(row), StepsTable::note) == 0) return false;
  if (filter_.isEmpty()) return true;
  return matches(filter_, QStringLiteral("step %1 %2")
                              .arg(table_.index(row, StepsTable::step, parent).data().toString(),
                                   table_.index(row, StepsTable::note, parent).data().toString()));
}

bool StepsRows::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const auto column = static_cast<StepsTable::Column>(left.column());
  return table_.number(static_cast<size_t>(left.row()), column) <
         table_.number(static_cast<size_t>(right.row()), column);
}

}  // namespace tapelens::gui
