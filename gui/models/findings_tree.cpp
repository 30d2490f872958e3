#include "gui/models/findings_tree.h"

#include <algorithm>
#include <set>

#include "analyzer/report/advice_text.h"
#include "analyzer/report/findings_text.h"
#include "analyzer/report/next_commands.h"
#include "analyzer/text/format.h"
#include "gui/models/facts.h"
#include "gui/models/visible_text.h"
#include "policy/level.h"

namespace tapelens::gui {

namespace {

using advise::Entry;
using advise::Finding;
using check::FixKind;
using text::bytes_text;
using Kind = Entry::Kind;

// The lines of an entry: "train.py:42 Net.forward", "3 lines"; empty if unknown.
QString lines_text(const advise::Advice& advice, const Entry& entry) {
  std::set<std::string> lines;
  for (const uint32_t at : entry.findings) {
    if (const std::string line = report::source_text(advice.findings[at].source); !line.empty()) lines.insert(line);
  }
  if (lines.empty()) return {};
  return visible(lines.size() == 1 ? *lines.begin() : text::plural(lines.size(), "line", "lines"));
}

}  // namespace

FindingsTree::FindingsTree(Session& session, QObject* parent) : QAbstractItemModel(parent), session_(session) {
  connect(&session, &Session::opened, this, [this] { show(); });
  connect(&session, &Session::closed, this, [this] { show(); });
  connect(&session, &Session::viewChanged, this, [this](const ViewState& before) {
    if (before.subject != session_.view().subject) show();
  });
  connect(&session, &Session::made, this, [this](Part part) {
    if (part == Part::advice) show();
  });
  connect(&session, &Session::tickedChanged, this, [this] {
    if (is_empty()) return;
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, 0), {Qt::CheckStateRole});
    for (int row = 0; row < rowCount(); ++row) {
      const QModelIndex of = index(row, 0);
      if (const int rows = rowCount(of); rows > 0)
        Q_EMIT dataChanged(index(0, 0, of), index(rows - 1, 0, of), {Qt::CheckStateRole});
    }
  });
  show();
}

void FindingsTree::show() {
  beginResetModel();
  document_ = session_.shared();
  advised_ = session_.has(Part::advice) ? session_.subject().advised.get() : nullptr;
  endResetModel();
}

// ---- rows: the internal id of an entry is 0; a finding below it has the entry's row + 1

QModelIndex FindingsTree::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  return createIndex(row, column, parent.isValid() ? static_cast<quintptr>(parent.row()) + 1 : quintptr{0});
}

QModelIndex FindingsTree::parent(const QModelIndex& index) const {
  if (!index.isValid() || index.internalId() == 0) return {};
  return createIndex(static_cast<int>(index.internalId()) - 1, 0, quintptr{0});
}

int FindingsTree::rowCount(const QModelIndex& parent) const {
  if (advised_ == nullptr || parent.column() > 0) return 0;
  if (!parent.isValid()) return static_cast<int>(advice().entries.size());
  if (parent.internalId() != 0) return 0;
  const size_t findings = entry(parent).findings.size();
  return findings > 1 ? static_cast<int>(findings) : 0;
}

int FindingsTree::columnCount(const QModelIndex&) const { return kColumns; }

const Entry& FindingsTree::entry(const QModelIndex& index) const {
  const auto at =
      index.internalId() == 0 ? static_cast<size_t>(index.row()) : static_cast<size_t>(index.internalId()) - 1;
  return advice().entries[at];
}

const Finding& FindingsTree::finding(const QModelIndex& index) const {
  const size_t at = index.internalId() == 0 ? 0 : static_cast<size_t>(index.row());
  return advice().findings[entry(index).findings[at]];
}

QModelIndex FindingsTree::index_of(const QString& id) const {
  for (int row = 0; row < rowCount(); ++row) {
    const QModelIndex of = index(row, 0);
    const auto& findings = entry(of).findings;
    for (size_t at = 0; at < findings.size(); ++at) {
      if (visible(advice().findings[findings[at]].id) != id) continue;
      return at == 0 ? of : index(static_cast<int>(at), 0, of);
    }
  }
  return {};
}

bool FindingsTree::is_constant(Column column) const {
  for (int row = 1; row < rowCount(); ++row) {
    if (text(index(row, column)) != text(index(0, column))) return false;
  }
  return true;
}

QSet<QString> FindingsTree::ids_of(const QModelIndex& index) const {
  if (index.internalId() != 0) return {visible(finding(index).id)};
  QSet<QString> ids;
  for (const uint32_t at : entry(index).findings) ids.insert(visible(advice().findings[at].id));
  return ids;
}

// ---- rewritable findings

QSet<QString> FindingsTree::rewritable() const {
  QSet<QString> ids;
  if (advised_ == nullptr) return ids;
  for (const Finding& one : advice().findings) {
    if (one.fix.kind == FixKind::rewrite) ids.insert(visible(one.id));
  }
  return ids;
}

QSet<QString> FindingsTree::automatic() const {
  QSet<QString> ids;
  for (int row = 0; row < rowCount(); ++row) {
    const QModelIndex of = index(row, 0);
    if (entry(of).kind == Kind::automatic) ids += ids_of(of);
  }
  return ids;
}

QString FindingsTree::applying(const QSet<QString>& ticked) const {
  const QSet<QString> wanted = ticked & rewritable();
  if (wanted.isEmpty()) return {};
  for (int row = 0; row < rowCount(); ++row) {
    const QModelIndex of = index(row, 0);
    if (entry(of).kind == Kind::automatic && ids_of(of) == wanted)
      return visible(report::applying_text(advice(), entry(of)));
  }
  for (const policy::Preset& group : policy::kPresets) {
    QSet<QString> fixed;
    for (const Finding& one : advice().findings) {
      const int level = rewrite_level(one);
      if (level >= 0 && level <= static_cast<int>(group.highest)) fixed.insert(visible(one.id));
    }
    if (fixed == wanted) return "--apply " + visible(group.name);
  }
  return {};
}

// ---- cells

check::Severity FindingsTree::severity_of(const QModelIndex& index) const {
  check::Severity most = finding(index).severity;
  if (index.internalId() != 0) return most;
  for (const uint32_t at : entry(index).findings) most = std::max(most, advice().findings[at].severity);
  return most;
}

QString FindingsTree::text(const QModelIndex& index) const {
  const Entry& e = entry(index);
  const Finding& f = finding(index);
  const bool is_entry = index.internalId() == 0, is_several = is_entry && e.findings.size() > 1;
  switch (index.column()) {
    case number:
      return is_entry ? QString::number(index.row() + 1)
                      : QString("%1.%2").arg(index.internalId()).arg(index.row() + 1);
    case where:
      return is_several ? lines_text(advice(), e) : where_text(f);
    case title:
      return visible(is_entry ? report::entry_title(advice(), e) : f.title);
    case change:
      return is_entry ? signed_bytes(Bytes{} - e.change()) : change_text(f);
    case after:
      return is_entry ? visible(bytes_text(e.peak_after)) : QString();
    case fixing:
      return fixing_text(e, f);
    case bytes:
      return is_several ? QString() : visible(bytes_text(f.bytes));
    case severity:
      return check::severity_name(severity_of(index));
    case times:
      return visible(is_several ? text::plural(e.findings.size(), "group of tensors", "groups of tensors")
                                : report::times_text(f));
    case check: {
      std::set<std::string> checks{f.check};
      if (is_entry)
        for (const uint32_t at : e.findings) checks.insert(advice().findings[at].check);
      QStringList names;
      for (const std::string& one : checks) names.append(visible(one));
      return names.join(", ");
    }
    default:
      return {};
  }
}

QVariant FindingsTree::value(const QModelIndex& index) const {
  const Entry& e = entry(index);
  const Finding& f = finding(index);
  const bool is_entry = index.internalId() == 0;
  switch (index.column()) {
    case number:
      return index.row();
    case change:
      return QVariant::fromValue<qlonglong>(is_entry ? -e.change().value : -f.retained_at_peak().value);
    case after:
      return QVariant::fromValue<qlonglong>(is_entry ? e.peak_after.value : f.peak_after.value);
    case bytes:
      return QVariant::fromValue<qlonglong>(f.bytes.value);
    case severity:
      return static_cast<int>(severity_of(index));
    case times:
      return QVariant::fromValue<qulonglong>(f.occurrences);
    default:
      return text(index);
  }
}

QString FindingsTree::tip(const QModelIndex& index) const {
  const Finding& f = finding(index);
  switch (index.column()) {
    case number:
      switch (severity_of(index)) {
        case check::Severity::error:
          return "Error: it grows without bound, or runs out of memory in the end.";
        case check::Severity::warning:
          return "Warning: avoidable memory.";
        case check::Severity::info:
          return "Info: an opportunity.";
      }
      return {};
    case change:
      if (index.internalId() != 0 || entry(index).findings.size() == 1) return visible(report::effect_text(f));
      return text(index);
    case fixing:
      return guarantee_text(f);
    default:
      return text(index);
  }
}

QVariant FindingsTree::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  switch (role) {
    case Qt::DisplayRole:
      return text(index);
    case Qt::EditRole: {
      const int column = index.column();
      const bool has_bytes = (column == change || column == after || column == bytes) && !text(index).isEmpty();
      return has_bytes ? value(index) : QVariant(text(index));
    }
    case Qt::ToolTipRole:
      return plain_tip(tip(index));
    case Qt::TextAlignmentRole:
      return static_cast<int>(headerData(index.column(), Qt::Horizontal, role).toInt());
    case Qt::CheckStateRole: {
      if (index.column() != number) return {};
      const QSet<QString> ids = ids_of(index), ticked = ids & session_.ticked();
      return ticked.isEmpty() ? Qt::Unchecked : ticked == ids ? Qt::Checked : Qt::PartiallyChecked;
    }
    case Qt::AccessibleTextRole:
      return QString("%1: %2, %3, peak %4, %5")
          .arg(check::severity_name(severity_of(index)), text(index.siblingAtColumn(title)),
               text(index.siblingAtColumn(where)), text(index.siblingAtColumn(change)),
               text(index.siblingAtColumn(fixing)));
    case id_role:
      return visible(finding(index).id);
    case severity_role:
      return static_cast<int>(severity_of(index));
    case is_small_role:
      return entry(index).is_small;
    case sort_role:
      return value(index);
    default:
      return {};
  }
}

QVariant FindingsTree::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return QAbstractItemModel::headerData(section, orientation, role);
  struct Head {
    const char *name, *tip;
  };
  static constexpr Head kHeads[kColumns] = {
      {"", "In the order in which to do it. Ticked: the memory is shown without it."},
      {"Where", "The line to edit, and the module."},
      {"What", "Which memory is avoidable."},
      {"Change",
       "Change of the peak with all entries above fixed too. For an alternative, and for one group of several: fixed "
       "alone."},
      {"Peak then", "With it and all entries above it fixed; with an alternative alone."},
      {"Fix", "Automatic: a rewrite fixes it while the program runs, without a change of the program."},
      {"Holds", "The most that it holds at one moment. It need not be at the peak."},
      {"Severity", "Info: an opportunity. Warning: avoidable memory. Error: it runs out of memory in the end."},
      {"Times", "At how many sites, how often, in how many steps."},
      {"Check", "Which check found it."}};
  if (section < 0 || section >= kColumns) return {};
  if (role == Qt::DisplayRole) return kHeads[section].name;
  if (role == Qt::EditRole) return section == number ? "Entry" : kHeads[section].name;
  if (role == Qt::ToolTipRole) return kHeads[section].tip;
  if (role == Qt::TextAlignmentRole) {
    const bool is_number = section == change || section == after || section == bytes;
    return static_cast<int>((is_number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  return {};
}

Qt::ItemFlags FindingsTree::flags(const QModelIndex& index) const {
  const Qt::ItemFlags flags = QAbstractItemModel::flags(index);
  return index.isValid() && index.column() == number ? flags | Qt::ItemIsUserCheckable : flags;
}

// A checkbox ticks or clears all findings of its row.
bool FindingsTree::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::CheckStateRole || !checkIndex(index, CheckIndexOption::IndexIsValid) || index.column() != number)
    return false;
  const QSet<QString> ids = ids_of(index);
  session_.tick_all(value.toInt() == Qt::Checked ? session_.ticked() + ids : session_.ticked() - ids);
  return true;
}

FindingsFilter::FindingsFilter(FindingsTree& tree, QObject* parent) : TextFilter(parent), tree_(tree) {
  setSourceModel(&tree);
  setSortRole(FindingsTree::sort_role);
  setSortCaseSensitivity(Qt::CaseInsensitive);
  setRecursiveFilteringEnabled(true);
  setAutoAcceptChildRows(true);
}

bool FindingsFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
  QString all;
  for (int column = 0; column < FindingsTree::kColumns; ++column) {
    all += tree_.index(row, column, parent).data().toString() + '\n';
  }
  return matches(filter(), all);
}

}  // namespace tapelens::gui
