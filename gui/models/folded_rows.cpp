#include "gui/models/folded_rows.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "analyzer/text/format.h"
#include "analyzer/text/names.h"
#include "gui/models/visible_text.h"

namespace tapelens::gui {

FoldedRows::FoldedRows(PeakTable& table, PeakRows& rows, QObject* parent)
    : QAbstractProxyModel(parent), table_(table), rows_(rows) {
  setSourceModel(&rows);
  connect(&rows, &QAbstractItemModel::modelAboutToBeReset, this, [this] { beginResetModel(); });
  connect(&rows, &QAbstractItemModel::modelReset, this, [this] {
    equal_.clear();
    open_.clear();
    fold();
    endResetModel();
  });
  // PeakRows changes its rows and their order in no other way.
  connect(&rows, &QAbstractItemModel::layoutAboutToBeChanged, this, [this] {
    Q_EMIT layoutAboutToBeChanged();
    kept_.clear();
    for (const QModelIndex& index : persistentIndexList()) {
      kept_.push_back(index.data(PeakTable::allocation_role).toUInt());
    }
  });
  connect(&rows, &QAbstractItemModel::layoutChanged, this, [this] { fold_as_layout(); });
  fold();
}

const report::Allocation& FoldedRows::allocation(int row) const {
  return table_.allocation(rows_.mapToSource(rows_.index(row, 0)).row());
}

void FoldedRows::find_equal() {
  const int count = table_.rowCount();
  std::vector<text::NamedRow> named;  // each module of a kind once
  std::vector<size_t> name_of;        // by row of the table
  std::map<std::pair<std::string_view, size_t>, size_t> names;
  std::map<std::tuple<int64_t, std::string, std::string, std::string, std::string, int>, size_t> kinds;
  for (int row = 0; row < count; ++row) {
    const report::Allocation& a = table_.allocation(row);
    const auto kind =
        kinds.try_emplace({a.bytes.value, a.op, a.source, a.layout, text::without_indices(holder_text(main_holder(a))),
                           static_cast<int>(a.category)},
                          kinds.size());
    const auto [name, is_new] = names.try_emplace({a.module, kind.first->second}, named.size());
    if (is_new) named.push_back({a.module, kind.first->second});
    name_of.push_back(name->second);
  }
  std::vector<uint32_t> ids(named.size());
  uint32_t id = 0;
  for (const text::EqualRows& equal : text::equal_rows(named)) {
    for (const size_t name : equal.rows) ids[name] = id;
    ++id;
  }
  for (const size_t name : name_of) equal_.push_back(ids[name]);
}

void FoldedRows::fold() {
  groups_.clear();
  entries_.clear();
  const int count = rows_.rowCount();
  place_.assign(static_cast<size_t>(count), 0);
  if (count == 0) return;
  if (equal_.empty()) find_equal();
  std::map<uint32_t, size_t> at;
  for (int row = 0; row < count; ++row) {
    const int of = rows_.mapToSource(rows_.index(row, 0)).row();
    const uint32_t id = equal_[static_cast<size_t>(of)];
    const auto [found, is_new] = at.try_emplace(id, groups_.size());
    if (is_new) groups_.push_back({id, {}, {}});
    Group& group = groups_[found->second];
    group.rows.push_back(row);
    group.bytes += table_.allocation(of).bytes;
  }
  if (column_ == PeakTable::bytes) {
    std::ranges::stable_sort(groups_, [&](const Group& a, const Group& b) {
      return order_ == Qt::AscendingOrder ? a.bytes < b.bytes : b.bytes < a.bytes;
    });
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    const bool is_group = group.rows.size() > 1;
    const bool has_members = !is_group || open_.contains(group.id);
    if (is_group) entries_.push_back({group.rows.front(), i, true});
    for (const int row : group.rows) {
      if (has_members) entries_.push_back({row, i, false});
      place_[static_cast<size_t>(row)] = static_cast<int>(entries_.size()) - 1;
    }
  }
}

// Persistent indices follow their allocations.
void FoldedRows::fold_as_layout() {
  const QModelIndexList before = persistentIndexList();  // in the order of kept_
  fold();
  std::map<uint32_t, int> rows;
  if (!before.isEmpty()) {
    for (int row = 0; row < rows_.rowCount(); ++row) rows.emplace(allocation(row).id, place_[static_cast<size_t>(row)]);
  }
  QModelIndexList after;
  for (qsizetype i = 0; i < before.size(); ++i) {
    const auto found = rows.find(kept_[static_cast<size_t>(i)]);
    after.append(found == rows.end() ? QModelIndex() : index(found->second, before[i].column()));
  }
  changePersistentIndexList(before, after);
  Q_EMIT layoutChanged();
}

bool FoldedRows::is_open(int row) const { return open_.contains(group_of(row).id); }

void FoldedRows::set_open(int row, bool is_open) {
  if (!is_group(row) || is_open == this->is_open(row)) return;
  const Group& group = group_of(row);
  const int last = row + static_cast<int>(group.rows.size());
  if (is_open) {
    beginInsertRows({}, row + 1, last);
    open_.insert(group.id);
    fold();
    endInsertRows();
  } else {
    beginRemoveRows({}, row + 1, last);
    open_.erase(group.id);
    fold();
    endRemoveRows();
  }
  Q_EMIT dataChanged(index(row, 0), index(row, columnCount() - 1));
}

void FoldedRows::reveal(const QModelIndex& source) {
  if (!source.isValid()) return;
  const int row = place_[static_cast<size_t>(source.row())];
  if (is_group(row) && entries_[static_cast<size_t>(row)].row != source.row()) set_open(row, true);
}

QModelIndex FoldedRows::index(int row, int column, const QModelIndex& parent) const {
  return hasIndex(row, column, parent) ? createIndex(row, column) : QModelIndex();
}

QModelIndex FoldedRows::parent(const QModelIndex&) const { return {}; }

int FoldedRows::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(entries_.size());
}

int FoldedRows::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : rows_.columnCount(); }

QModelIndex FoldedRows::mapToSource(const QModelIndex& index) const {
  if (!index.isValid()) return {};
  return rows_.index(entries_[static_cast<size_t>(index.row())].row, index.column());
}

QModelIndex FoldedRows::mapFromSource(const QModelIndex& source) const {
  if (!source.isValid() || static_cast<size_t>(source.row()) >= place_.size()) return {};
  return index(place_[static_cast<size_t>(source.row())], source.column());
}

std::vector<std::string> FoldedRows::modules(const Group& group) const {
  std::set<std::string_view> paths;
  for (const int row : group.rows) paths.insert(allocation(row).module);
  std::vector<text::NamedRow> rows;
  for (const std::string_view path : paths) rows.push_back({path, 0});
  std::vector<std::string> names;
  for (text::EqualRows& equal : text::equal_rows(rows)) names.push_back(std::move(equal.name));
  return names;
}

std::vector<std::string> FoldedRows::modules(int row) const {
  std::vector<std::string> names = modules(group_of(row));
  std::erase_if(names, [](const std::string& name) { return !text::is_path(name); });
  return names;
}

QString FoldedRows::folded_text(const Group& group, PeakTable::Column column) const {
  std::vector<std::string> texts;
  const auto shown = [&](int row) { return rows_.index(row, column).data().toString(); };
  switch (column) {
    case PeakTable::bytes:
      return visible(text::bytes_text(group.bytes));
    case PeakTable::what:
      for (const int row : group.rows) texts.push_back(holder_text(main_holder(allocation(row))));
      return visible(text::with_indices(texts));
    case PeakTable::module: {
      const auto names = modules(group);
      const std::string name =
          names.size() == 1 ? names.front() : text::without_indices(allocation(group.rows.front()).module);
      return visible(text::below(name, table_.common_module()));
    }
    case PeakTable::age:
    case PeakTable::step: {
      const auto [least, most] = std::ranges::minmax_element(
          group.rows, {}, [&](int row) { return rows_.index(row, column).data(PeakTable::sort_role).toLongLong(); });
      const QString from = shown(*least), to = shown(*most);
      return from == to ? from : from + QStringLiteral(" to ") + to;
    }
    default:
      return shown(group.rows.front());
  }
}

QVariant FoldedRows::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Entry& entry = entries_[static_cast<size_t>(index.row())];
  const Group& group = groups_[entry.group];
  const auto column = static_cast<PeakTable::Column>(index.column());
  if (role == count_role) return static_cast<int>(entry.is_group ? group.rows.size() : 1);
  if (!entry.is_group) {
    const bool is_member = group.rows.size() > 1;
    if (is_member && role == Qt::DisplayRole && column == PeakTable::what)
      return QStringLiteral("      ") + rows_.index(entry.row, column).data().toString();
    return rows_.index(entry.row, column).data(role);
  }
  const QString count = visible(text::count_text(group.rows.size()));
  switch (role) {
    case Qt::DisplayRole:
      if (column != PeakTable::what) return folded_text(group, column);
      return (is_open(index.row()) ? QStringLiteral("▾ x%1  %2") : QStringLiteral("▸ x%1  %2"))
          .arg(count, folded_text(group, column));
    case Qt::ToolTipRole:
      if (column == PeakTable::bytes) {
        return QStringLiteral("%1 allocations of %2 B each")
            .arg(count, visible(text::count_text(static_cast<uint64_t>(allocation(group.rows.front()).bytes.value))));
      }
      return plain_tip(folded_text(group, column));
    case Qt::EditRole:
    case PeakTable::sort_role:
      if (column == PeakTable::bytes) return static_cast<qlonglong>(group.bytes.value);
      break;
    default:
      break;
  }
  return rows_.index(entry.row, column).data(role);
}

QVariant FoldedRows::headerData(int section, Qt::Orientation orientation, int role) const {
  return orientation == Qt::Horizontal ? rows_.headerData(section, orientation, role) : QVariant();
}

void FoldedRows::sort(int column, Qt::SortOrder order) {
  column_ = column;
  order_ = order;
  rows_.sort(column, order);
}

}  // namespace tapelens::gui
