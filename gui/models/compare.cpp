#include "gui/models/compare.h"

#include <algorithm>
#include <cmath>

#include "analyzer/report/categories.h"
#include "analyzer/text/format.h"
#include "gui/models/facts.h"
#include "gui/models/session.h"
#include "gui/models/visible_text.h"

namespace tapelens::gui {

namespace {

QString bytes_text(Bytes bytes) { return visible(text::bytes_text(bytes)); }

struct Found {
  ComparedMoment moment;
  std::vector<peak::AllocationGroup> groups;
  std::vector<compare::HeldBytes> held;
};

Found find(const Document& document, const Subject& subject, std::optional<uint32_t> step, peak::By by) {
  const std::vector<model::Step>& steps = subject.of.steps;
  const auto make = [&](const peak::PeakSet& set, uint32_t index) {
    return Found{{index, set.bytes, set.when.time, set.members.size()},
                 peak::groups(subject.of.process, document.text(), steps, set, by),
                 compare::held_at(subject.of.process, document.text(), steps, set)};
  };
  if (!step) return make(subject.peak, model::step_at(steps, subject.peak.when.time).index);
  if (*step >= steps.size()) return {};
  const auto extreme = subject.timeline.largest(steps[*step].when);
  return make(peak_set(subject.of.process, document.text(), subject.device.device, extreme.when), *step);
}

// The time at a position on the axis of steps.
Time time_at(const std::vector<Interval>& steps, double place) {
  const auto last = static_cast<double>(steps.size());
  const auto at = std::min(static_cast<size_t>(std::clamp(place, 0.0, last)), steps.size() - 1);
  const Interval& when = steps[at];
  const double share = std::clamp(place - static_cast<double>(at), 0.0, 1.0);
  return Time{when.begin.ns + static_cast<int64_t>(share * static_cast<double>(when.end.ns - when.begin.ns))};
}

}  // namespace

MomentComparison compare(const Document& a, const Subject& of_a, const Document& b, const Subject& of_b,
                         std::optional<uint32_t> step, peak::By by) {
  Found in_a = find(a, of_a, step, by), in_b = find(b, of_b, step, by);
  return {in_a.moment,
          in_b.moment,
          compare::compared(in_a.groups, in_b.groups),
          {std::move(in_a.held), std::move(in_b.held)}};
}

std::set<std::string> ComparedModules::within(uint32_t node) const {
  std::set<std::string> names;
  for (size_t i = 0; i < a.size(); ++i) {
    if (tree.is_within(tree.node_of_a(i), node)) names.insert(a[i].module);
  }
  for (size_t i = 0; i < b.size(); ++i) {
    if (tree.is_within(tree.node_of_b(i), node)) names.insert(b[i].module);
  }
  return names;
}

std::vector<int64_t> step_columns(const Subject& subject, double begin, double end, int width) {
  const std::vector<Interval>& steps = subject.of.bands.steps;
  std::vector<int64_t> columns(static_cast<size_t>(std::max(width, 0)), -1);
  const double each = (end - begin) / width;
  for (size_t i = 0; i < columns.size(); ++i) {
    const double from = begin + each * static_cast<double>(i);
    if (from >= static_cast<double>(steps.size())) break;
    const Time first = time_at(steps, from), behind = time_at(steps, from + each);
    columns[i] = subject.timeline.largest({first, std::max(behind, Time{first.ns + 1})}).bytes.value;
  }
  return columns;
}

double step_of(const Subject& subject, Time time) {
  const std::vector<Interval>& steps = subject.of.bands.steps;
  const auto behind = std::ranges::upper_bound(steps, time, {}, &Interval::begin);
  if (behind == steps.begin()) return 0;
  const Interval& when = *(behind - 1);
  const double length = static_cast<double>(std::max<int64_t>(when.end.ns - when.begin.ns, 1));
  return static_cast<double>(behind - 1 - steps.begin()) +
         std::clamp(static_cast<double>(time.ns - when.begin.ns) / length, 0.0, 1.0);
}

void CompareTable::show(std::vector<ComparedGroup> groups) {
  beginResetModel();
  groups_ = std::move(groups);
  endResetModel();
}

int CompareTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(groups_.size());
}

int CompareTable::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

// A category has its name in the report.
static QString name_of(const ComparedGroup& group) { return visible(report::group_text(group.name)); }

QString CompareTable::text(const ComparedGroup& g, int column) const {
  const auto count = [](uint64_t value) { return visible(text::count_text(value)); };
  switch (column) {
    case group:
      return name_of(g);
    case difference:
      return signed_bytes(g.difference());
    case change:
      return change_name(g.change());
    case a:
      return g.allocations_a == 0 ? QString() : bytes_text(g.a);
    case b:
      return g.allocations_b == 0 ? QString() : bytes_text(g.b);
    case allocations:
      return g.allocations_a == g.allocations_b ? count(g.allocations_a)
                                                : count(g.allocations_a) + " \u2192 " + count(g.allocations_b);
    default:
      return {};
  }
}

QVariant CompareTable::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
  const ComparedGroup& g = at(index.row());
  const bool is_number = index.column() != group && index.column() != change;
  switch (role) {
    case Qt::DisplayRole:
      return text(g, index.column());
    case Qt::ToolTipRole:
      return index.column() == group ? plain_tip(name_of(g)) : QVariant();
    case Qt::TextAlignmentRole:
      return static_cast<int>((is_number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case change_role:
      return static_cast<int>(g.change());
    case sort_role:
      switch (index.column()) {
        case difference:
          return QVariant::fromValue<qlonglong>(g.difference().value);
        case change:
          return static_cast<int>(g.change());
        case a:
          return QVariant::fromValue<qlonglong>(g.a.value);
        case b:
          return QVariant::fromValue<qlonglong>(g.b.value);
        case allocations:
          return static_cast<qlonglong>(g.allocations_b) - static_cast<qlonglong>(g.allocations_a);
        default:
          return name_of(g);
      }
    default:
      return {};
  }
}

QVariant CompareTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return QAbstractTableModel::headerData(section, orientation, role);
  struct Head {
    const char *name, *tip;
  };
  static constexpr Head kHeads[kColumns] = {{"Group", "The key that groups the bytes."},
                                            {"Difference", "B minus A: the bytes that B holds more."},
                                            {"Change", "New: it is in B alone. Removed: in A alone."},
                                            {"A", "Bytes in the recording that is open."},
                                            {"B", "Bytes in the recording that it is compared with."},
                                            {"Allocations", "How many in A, and in B."}};
  if (section < 0 || section >= kColumns) return {};
  if (role == Qt::DisplayRole) return kHeads[section].name;
  if (role == Qt::ToolTipRole) return kHeads[section].tip;
  if (role == Qt::TextAlignmentRole) {
    const bool is_number = section != group && section != change;
    return static_cast<int>((is_number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  return {};
}

CompareFilter::CompareFilter(CompareTable& table, QObject* parent) : TextFilter(parent), table_(table) {
  setSourceModel(&table);
  setSortRole(CompareTable::sort_role);
  setSortCaseSensitivity(Qt::CaseInsensitive);
}

bool CompareFilter::filterAcceptsRow(int row, const QModelIndex&) const {
  const ComparedGroup& group = table_.at(row);
  return matches(filter(), name_of(group) + ' ' + change_name(group.change()));
}

}  // namespace tapelens::gui
