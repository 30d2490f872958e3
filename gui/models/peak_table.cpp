#include "gui/models/peak_table.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "analyzer/report/categories.h"
#include "analyzer/text/format.h"
#include "analyzer/text/names.h"
#include "gui/models/visible_text.h"

namespace tapelens::gui {

namespace {

using report::Allocation;
using report::Holder;

struct Heading {
  const char* title;
  const char* tip;
};
constexpr std::array<Heading, PeakTable::kColumns> kHeadings = {{
    {"Bytes", "Requested bytes of the allocation"},
    {"What", "The main holder of the allocation"},
    {"Category", "The category that its bytes are counted in"},
    {"Shape", "Layout of the tensor as the first save saw it"},
    {"Source", "The innermost line of the program's own code that it was made at"},
    {"Operator", "The operator that allocated it"},
    {"Module", "The module whose call it was made in"},
    {"Holders", "Everything that kept it alive at this moment; it is freed when the last one releases it"},
    {"Age", "How long it had been alive at this moment"},
    {"Step", "The training step that it was made in"},
}};

std::string all_holders(const Allocation& allocation) {
  const Holder& first = main_holder(allocation);
  std::string text = holder_text(first);
  for (const Holder& holder : allocation.holders) {
    if (&holder == &first) continue;
    text += holder.kind == peak::HolderKind::save ? "; saved as " : "; ";
    text += holder_text(holder);
  }
  return text;
}

// Lower case, for non-ASCII text too.
std::string lower(std::string text) {
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    return visible(text).toLower().toStdString();
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + ('a' - 'A')) : c; });
  return text;
}

bool is_number(PeakTable::Column column) {
  return column == PeakTable::bytes || column == PeakTable::age || column == PeakTable::step;
}

}  // namespace

QString what_text(const Allocation& allocation) { return visible(holder_text(main_holder(allocation))); }
QString holders_text(const Allocation& allocation) { return visible(all_holders(allocation)); }

void PeakTable::show(std::shared_ptr<const report::Peak> peak) {
  beginResetModel();
  peak_ = std::move(peak);
  std::vector<std::string_view> modules;
  if (peak_) {
    for (const Allocation& a : peak_->allocations) modules.emplace_back(a.module);
  }
  parent_ = text::common_path(modules);
  haystacks_.clear();
  ranks_.assign(kColumns, {});
  endResetModel();
}

int PeakTable::row_of(uint32_t allocation) const {
  if (!peak_) return -1;
  const auto at = std::ranges::find(peak_->allocations, allocation, &Allocation::id);
  return at == peak_->allocations.end() ? -1 : static_cast<int>(at - peak_->allocations.begin());
}

std::string PeakTable::words(const Allocation& a, Column column) const {
  switch (column) {
    case bytes:
      return text::bytes_text(a.bytes);
    case what:
      return holder_text(main_holder(a));
    case category:
      return report::label(a.category);
    case holders:
      return all_holders(a);
    case shape:
      return a.layout;
    case op:
      return a.op;
    case module:
      return a.module;
    case source:
      return a.source;
    case age:
      return text::time_text(model::Time{peak_->time.ns - a.time.ns});
    case step:
      return std::to_string(a.step);
    case kColumns:
      break;
  }
  return {};
}

QString PeakTable::text(const Allocation& allocation, Column column) const {
  return visible(words(allocation, column));
}

int64_t PeakTable::number(const Allocation& a, Column column) const {
  switch (column) {
    case bytes:
      return a.bytes.value;
    case age:
      return peak_->time.ns - a.time.ns;
    default:
      return a.step;
  }
}

const std::string& PeakTable::haystack(int row) const {
  if (haystacks_.empty()) haystacks_.resize(peak_->allocations.size());
  std::string& text = haystacks_[static_cast<size_t>(row)];
  if (text.empty()) {
    const Allocation& a = allocation(row);
    text.reserve(240);
    for (int column = 0; column < kColumns; ++column) {
      if (column == what) continue;  // the holders start with it
      text.append(words(a, static_cast<Column>(column))).push_back('\n');
    }
    text = lower(std::move(text));
  }
  return text;
}

void PeakTable::rank(Column column) const {
  std::vector<std::string> texts;
  texts.reserve(peak_->allocations.size());
  for (const Allocation& a : peak_->allocations) texts.push_back(lower(words(a, column)));
  std::vector<uint32_t> order(texts.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](uint32_t x, uint32_t y) { return text::natural_less(texts[x], texts[y]); });
  std::vector<uint32_t>& ranks = ranks_[column];
  ranks.resize(texts.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const bool is_same = i > 0 && texts[order[i]] == texts[order[i - 1]];
    ranks[order[i]] = is_same ? ranks[order[i - 1]] : static_cast<uint32_t>(i);
  }
}

int64_t PeakTable::place(Column column, int row) const {
  if (is_number(column)) return number(allocation(row), column);
  if (ranks_[column].empty()) rank(column);
  return ranks_[column][static_cast<size_t>(row)];
}

int PeakTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !peak_ ? 0 : static_cast<int>(peak_->allocations.size());
}

int PeakTable::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant PeakTable::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
  const Allocation& a = allocation(index.row());
  const auto column = static_cast<Column>(index.column());
  switch (role) {
    case Qt::DisplayRole:
      return column == module ? visible(text::below(a.module, parent_)) : text(a, column);
    case Qt::ToolTipRole:
      if (column == bytes) return visible(text::count_text(static_cast<uint64_t>(a.bytes.value)) + " B");
      return plain_tip(column == holders ? text(a, column).replace(QStringLiteral("; "), QStringLiteral("\n"))
                                         : text(a, column));
    case Qt::TextAlignmentRole:
      return QVariant::fromValue<Qt::Alignment>((is_number(column) ? Qt::AlignRight : Qt::AlignLeft) |
                                                Qt::AlignVCenter);
    case Qt::EditRole:
    case sort_role:
      return is_number(column) ? QVariant(static_cast<qlonglong>(number(a, column))) : QVariant(text(a, column));
    case allocation_role:
      return a.id;
    case kind_role:
      return static_cast<int>(a.category);
    default:
      return {};
  }
}

QVariant PeakTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  const auto column = static_cast<Column>(section);
  if (role == Qt::EditRole && column == age) return QStringLiteral("Age (ns)");
  if (role == Qt::DisplayRole || role == Qt::EditRole) return QString::fromUtf8(kHeadings[column].title);
  if (role == Qt::ToolTipRole && column == module && !parent_.empty())
    return QString::fromUtf8(kHeadings[column].tip) + QStringLiteral(", below ") + visible(parent_);
  if (role == Qt::ToolTipRole) return QString::fromUtf8(kHeadings[column].tip);
  if (role == Qt::TextAlignmentRole)
    return QVariant::fromValue<Qt::Alignment>((is_number(column) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return {};
}

PeakRows::PeakRows(PeakTable& table, QObject* parent) : QSortFilterProxyModel(parent), table_(table) {
  setSourceModel(&table);
  setSortRole(PeakTable::sort_role);
  // The flags refer to rows that no longer exist.
  connect(&table, &QAbstractItemModel::modelAboutToBeReset, this, [this] { shown_.clear(); });
}

// Does not use invalidateFilter(), which removes each run of rows at the cost of all rows. This maps all rows once.
void PeakRows::set_filter(const QString& filter) {
  const FilterWords words(filter.toLower());
  if (words == typed_) return;
  typed_ = words;
  const auto utf8 = [](const QList<FilterWord>& list) {
    std::vector<Word> all;
    for (const FilterWord& word : list) all.push_back({word.text.toStdString(), word.is_whole});
    return all;
  };
  wanted_ = utf8(words.wanted);
  left_out_ = utf8(words.left_out);
  invalidate();
}

void PeakRows::set_shown(std::vector<bool> shown) {
  if (shown == shown_) return;
  shown_ = std::move(shown);
  invalidate();
}

bool PeakRows::matches_filter(int row) const {
  if (wanted_.empty() && left_out_.empty()) return true;
  const std::string& text = table_.haystack(row);
  const auto is_in = [&](const Word& word) { return has_word(text, word.text, word.is_whole); };
  return std::ranges::all_of(wanted_, is_in) && std::ranges::none_of(left_out_, is_in);
}

bool PeakRows::filterAcceptsRow(int row, const QModelIndex&) const {
  return (shown_.empty() || shown_[static_cast<size_t>(row)]) && matches_filter(row);
}

bool PeakRows::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const auto column = static_cast<PeakTable::Column>(left.column());
  return table_.place(column, left.row()) < table_.place(column, right.row());
}

}  // namespace tapelens::gui
