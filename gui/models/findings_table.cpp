#include "gui/models/findings_table.h"

#include "analyzer/report/findings.h"
#include "analyzer/report/format.h"
#include "gui/models/visible_text.h"
#include "plugins/builtin.h"
#include "rewrites/level.h"

namespace tapelens::gui {

namespace {

using advise::Finding;
using check::FixKind;
using report::bytes_text;

// Of the rewrite that fixes a finding; -1: none does.
int level_of(const Finding& finding) {
  if (finding.fix.kind != FixKind::rewrite) return -1;
  static const advise::Checks checks = plugins::builtin_checks();
  const advise::Checks::Entry* entry = checks.find(finding.fix.rewrite);
  return entry == nullptr ? -1 : entry->check->info().rewrite_level;
}

QString where_text(const Finding& finding) {
  const std::string source = report::source_text(finding.source), place = report::place_text(finding);
  return visible(source + (source.empty() || place.empty() ? "" : ", ") + place);
}

}  // namespace

QString fixing_text(const Finding& finding) {
  QString text = "by hand";
  if (finding.fix.kind == FixKind::patch) text = "patch";
  if (finding.fix.kind == FixKind::rewrite) {
    const int level = level_of(finding);
    text = level < 0 || level > 2 ? "rewrite" : level == 2 ? "rewrite, bitwise" : "rewrite, lossless";
  }
  return finding.is_alternative ? text + " (alternative)" : text;
}

QString guarantee_text(const Finding& finding) {
  switch (level_of(finding)) {
    case 0:
      return "Lossless: saved but never read, so nothing is kept: the values cannot reach a gradient that is wanted. "
             "Losses "
             "and gradients are the same, bit for bit.";
    case 1:
      return "Lossless: the same values are kept in fewer bytes. Losses and gradients are the same, bit for bit.";
    case 2:
      return "Bitwise: recomputed in backward by a cheap operator from tensors that stay alive. Losses and gradients "
             "are the "
             "same, bit for bit, for a little time.";
    case 3:
      return "Equivalent: another order of the same sums, at most twice the rounding error.";
    default:
      break;
  }
  switch (finding.fix.kind) {
    case FixKind::rewrite:
      return "A rewrite fixes it while the program runs, without a change of the program.";
    case FixKind::patch:
      return "A change of the program: read the patch before you apply it.";
    case FixKind::advice:
      break;
  }
  return "A change of the program that only you can make.";
}

QString reduction_text(const Finding& finding) {
  const Bytes alone = finding.peak_before - finding.peak_after;
  if (alone > Bytes{}) return visible(bytes_text(alone));
  if (finding.retained_at_peak_with_all > Bytes{})
    return visible(bytes_text(finding.retained_at_peak_with_all)) + " with others";
  if (alone < Bytes{}) return "rises by " + visible(bytes_text(Bytes{} - alone));
  return "none";
}

FindingsTable::FindingsTable(Session& session, QObject* parent) : QAbstractTableModel(parent), session_(session) {
  connect(&session, &Session::opened, this, [this] { show(); });
  connect(&session, &Session::closed, this, [this] { show(); });
  connect(&session, &Session::viewChanged, this, [this](const View& before) {
    if (before.subject != session_.view().subject) show();
  });
  connect(&session, &Session::made, this, [this](Part part) {
    if (part == Part::advice) show();
  });
  connect(&session, &Session::tickedChanged, this, [this] {
    if (!is_empty()) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, 0), {Qt::CheckStateRole});
  });
  show();
}

void FindingsTable::show() {
  beginResetModel();
  document_ = session_.shared();
  advised_ = session_.has(Part::advice) ? session_.subject().advised.get() : nullptr;
  endResetModel();
}

int FindingsTable::row_of(const QString& id) const {
  for (int row = 0; row < rowCount(); ++row) {
    if (visible(finding(row).id) == id) return row;
  }
  return -1;
}

QSet<QString> FindingsTable::rewritable() const {
  QSet<QString> ids;
  for (int row = 0; row < rowCount(); ++row) {
    if (finding(row).fix.kind == FixKind::rewrite) ids.insert(visible(finding(row).id));
  }
  return ids;
}

QString FindingsTable::level_of_all(const QSet<QString>& ticked) const {
  const QSet<QString> wanted = ticked & rewritable();
  for (const rewrites::Group& group : rewrites::kGroups) {
    QSet<QString> fixed;
    for (int row = 0; row < rowCount(); ++row) {
      const int level = level_of(finding(row));
      if (level >= 0 && level <= static_cast<int>(group.highest)) fixed.insert(visible(finding(row).id));
    }
    if (!wanted.isEmpty() && fixed == wanted) return visible(std::string(group.name));
  }
  return {};
}

int FindingsTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || advised_ == nullptr ? 0 : static_cast<int>(advice().findings.size());
}

int FindingsTable::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant FindingsTable::text(const Finding& f, int column) const {
  switch (column) {
    case title:
      return visible(f.title);
    case reduction:
      return reduction_text(f);
    case bytes:
      return visible(bytes_text(f.bytes));
    case severity:
      return check::severity_name(f.severity);
    case fixing:
      return fixing_text(f);
    case check:
      return visible(f.check);
    case where:
      return where_text(f);
    case times:
      return visible(report::times_text(f));
    default:
      return {};
  }
}

QVariant FindingsTable::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
  const Finding& f = finding(index.row());
  switch (role) {
    case Qt::DisplayRole:
      return text(f, index.column());
    case Qt::ToolTipRole:
      if (index.column() == reduction) return plain_tip(visible(report::effect_text(f)));
      if (index.column() == fixing) return guarantee_text(f);
      return plain_tip(text(f, index.column()).toString());
    case Qt::TextAlignmentRole:
      return static_cast<int>(
          (index.column() == reduction || index.column() == bytes ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::CheckStateRole:
      if (index.column() != title) return {};
      return session_.ticked().contains(visible(f.id)) ? Qt::Checked : Qt::Unchecked;
    case Qt::AccessibleTextRole:
      return visible(f.title) + ", peak falls by: " + reduction_text(f) + ", " + fixing_text(f);
    case id_role:
      return visible(f.id);
    case sort_role:
      switch (index.column()) {
        case reduction:
          return QVariant::fromValue<qlonglong>(f.retained_at_peak().value);
        case bytes:
          return QVariant::fromValue<qlonglong>(f.bytes.value);
        case severity:
          return static_cast<int>(f.severity);
        case times:
          return QVariant::fromValue<qulonglong>(f.occurrences);
        default:
          return text(f, index.column());
      }
    default:
      return {};
  }
}

QVariant FindingsTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return QAbstractTableModel::headerData(section, orientation, role);
  struct Head {
    const char *name, *tip;
  };
  static constexpr Head kHeads[kColumns] = {
      {"Finding", "What memory is avoidable. Ticked: the memory is shown without it."},
      {"Peak falls by", "Alone; where others keep the same memory, with all findings fixed."},
      {"Holds", "The most that it holds at one moment. It need not be at the peak."},
      {"Fixed by", "A rewrite fixes it without a change of the program."},
      {"Severity", "Info: an opportunity. Warning: avoidable memory. Error: it runs out of memory in the end."},
      {"Where", "The line, the node and its field, and the module."},
      {"Times", "At how many sites, how often, in how many steps."},
      {"Check", "Which check found it."}};
  if (section < 0 || section >= kColumns) return {};
  if (role == Qt::DisplayRole) return kHeads[section].name;
  if (role == Qt::ToolTipRole) return kHeads[section].tip;
  if (role == Qt::TextAlignmentRole) {
    return static_cast<int>((section == reduction || section == bytes ? Qt::AlignRight : Qt::AlignLeft) |
                            Qt::AlignVCenter);
  }
  return {};
}

Qt::ItemFlags FindingsTable::flags(const QModelIndex& index) const {
  const Qt::ItemFlags flags = QAbstractTableModel::flags(index);
  return index.isValid() && index.column() == title ? flags | Qt::ItemIsUserCheckable : flags;
}

bool FindingsTable::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::CheckStateRole || index.column() != title ||
      !checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) {
    return false;
  }
  session_.tick(visible(finding(index.row()).id), value.toInt() == Qt::Checked);
  return true;
}

FindingsFilter::FindingsFilter(FindingsTable& table, QObject* parent) : QSortFilterProxyModel(parent), table_(table) {
  setSourceModel(&table);
  setSortRole(FindingsTable::sort_role);
  setSortCaseSensitivity(Qt::CaseInsensitive);
}

void FindingsFilter::set_filter(const QString& filter) {
  if (filter == filter_) return;
  filter_ = filter;
  invalidateFilter();
}

bool FindingsFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
  QString all;
  for (int column = 0; column < FindingsTable::kColumns; ++column) {
    all += table_.index(row, column, parent).data().toString() + '\n';
  }
  return matches(filter_, all);
}

}  // namespace tapelens::gui
