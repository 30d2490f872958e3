#include "gui/models/group_tree.h"

#include <QStringList>
#include <algorithm>
#include <array>
#include <unordered_map>

#include "analyzer/compare/module_tree.h"
#include "analyzer/report/categories.h"
#include "analyzer/text/format.h"
#include "analyzer/text/names.h"
#include "gui/models/visible_text.h"

namespace tapelens::gui {

namespace {

// Splits groups into levels: a module's path has one level for each part.
struct Level {
  peak::By by{};
  std::vector<uint32_t> part_begin;  // by group: its parts are [begin of it, begin of the next)
  std::vector<uint32_t> parts;       // indices of names
  std::vector<QString> names;
  GroupKeys keys;
};

Level level(const report::Peak& peak, peak::By by, Nesting nesting) {
  Level out;
  out.by = by;
  out.keys = group_keys(peak, by, nesting);
  std::unordered_map<std::string, uint32_t> ids;
  const auto add = [&](const std::string& name) {
    const auto [at, fresh] = ids.try_emplace(name, static_cast<uint32_t>(out.names.size()));
    if (fresh) out.names.push_back(visible(by == peak::By::module ? name : report::group_text(name)));
    out.parts.push_back(at->second);
  };
  for (size_t group = 0; group < out.keys.names.size(); ++group) {
    out.part_begin.push_back(static_cast<uint32_t>(out.parts.size()));
    const std::vector<std::string>& parts = out.keys.parts[group];
    if (parts.empty()) add(out.keys.names[group]);
    for (const std::string& part : parts) add(part);
  }
  out.part_begin.push_back(static_cast<uint32_t>(out.parts.size()));
  return out;
}

Nesting nesting_of(const Groupings& groupings) {
  if (!groupings.nests) return Nesting::none;
  const bool has_modules = std::ranges::find(groupings.levels, peak::By::module) != groupings.levels.end();
  return has_modules ? Nesting::modules : Nesting::parts;
}

struct Key {
  uint32_t parent, key;
  friend bool operator==(Key, Key) = default;
};
struct Hash {
  size_t operator()(Key key) const { return (uint64_t{key.parent} << 32 | key.key) * 0x9e3779b97f4a7c15ULL; }
};

}  // namespace

GroupTree::GroupTree(const report::Peak& peak, const Groupings& groupings, const Rows& wanted)
    : nodes_(1), leaf_(peak.allocations.size(), kRoot), is_bottom_up_(groupings.is_bottom_up) {
  std::vector<Level> levels;
  for (const peak::By by : groupings.levels) levels.push_back(level(peak, by, nesting_of(groupings)));
  struct Step {
    uint32_t key;  // level and name
    const Level* of;
    uint32_t name;
  };
  std::unordered_map<Key, uint32_t, Hash> found;
  std::vector<Step> steps;
  std::vector<std::array<int64_t, peak::kHolderKinds>> by_kind(1);  // by node
  for (size_t row = 0; row < leaf_.size(); ++row) {
    if (wanted && !wanted(static_cast<int>(row))) continue;
    steps.clear();
    for (size_t i = 0; i < levels.size(); ++i) {
      const Level& l = levels[i];
      const uint32_t group = l.keys.of[row];
      for (uint32_t part = l.part_begin[group]; part < l.part_begin[group + 1]; ++part)
        steps.push_back({static_cast<uint32_t>(i) << 28 | l.parts[part], &l, l.parts[part]});
    }
    if (groupings.is_bottom_up) std::ranges::reverse(steps);
    const report::Allocation& a = peak.allocations[row];
    const auto count = [&](uint32_t id) {
      Node& n = nodes_[id];
      if (n.allocations == 0) n.biggest = static_cast<uint32_t>(row);
      if (n.allocations == 0) n.category = a.category;
      if (n.category != a.category) n.category.reset();
      n.bytes += a.bytes.value;
      by_kind[id][static_cast<size_t>(a.category)] += a.bytes.value;
      ++n.allocations;
    };
    uint32_t at = kRoot;
    count(at);
    for (const Step& step : steps) {
      const auto [place, fresh] = found.try_emplace({at, step.key}, size());
      if (fresh) {
        nodes_[at].children.push_back(size());
        by_kind.emplace_back();
        Node& made = nodes_.emplace_back();
        made.name = step.of->names[step.name];
        made.by = step.of->by;
        made.parent = at;
        made.depth = nodes_[at].depth + 1;
      }
      at = place->second;
      count(at);
    }
    leaf_[row] = at;
  }
  for (uint32_t id = 0; id < size(); ++id) {
    nodes_[id].main = static_cast<peak::HolderKind>(std::ranges::max_element(by_kind[id]) - by_kind[id].begin());
  }
  sort_children();
}

GroupTree::GroupTree(const compare::ModuleTree& modules) : nodes_(modules.size()) {
  for (uint32_t id = 0; id < size(); ++id) {
    const compare::ModuleTree::Node& of = modules.node(id);
    Node& node = nodes_[id];
    node.name = visible(of.name);
    if (of.layers > 1) node.name += visible(" x" + text::count_text(of.layers));
    if (!of.before.empty()) node.name += visible(" (" + of.before + " in A)");
    node.by = of.is_module ? peak::By::module : peak::By::field;
    node.bytes = of.width.value;
    node.allocations = std::max(of.allocations_a, of.allocations_b);
    node.parent = of.parent;
    node.depth = of.depth;
    node.children = of.children;
    node.growth = of.growth();
    node.before = of.a;
    node.after = of.b;
    for (uint32_t i = 0; i < of.children.size(); ++i) nodes_[of.children[i]].place = i;
  }
}

void GroupTree::sort_children() {
  for (Node& node : nodes_) {
    std::ranges::sort(node.children, [&](uint32_t x, uint32_t y) {
      return nodes_[x].bytes != nodes_[y].bytes
                 ? nodes_[x].bytes > nodes_[y].bytes
                 : text::natural_less(nodes_[x].name.toStdString(), nodes_[y].name.toStdString());
    });
    for (uint32_t i = 0; i < node.children.size(); ++i) nodes_[node.children[i]].place = i;
  }
}

bool GroupTree::is_within(uint32_t id, uint32_t ancestor) const {
  while (nodes_[id].depth > nodes_[ancestor].depth) id = nodes_[id].parent;
  return id == ancestor;
}

bool GroupTree::has(uint32_t id, int row) const {
  // A filtered row is in no node, and its leaf is the root. Without levels the root is every row's leaf.
  const uint32_t leaf = leaf_of(row);
  return (leaf != kRoot || nodes_.size() == 1) && is_within(leaf, id);
}

QString GroupTree::path(uint32_t id) const {
  QStringList names;
  for (; id != kRoot; id = nodes_[id].parent) names.prepend(nodes_[id].name);
  return names.join(QStringLiteral(" › "));
}

QString GroupTree::module_path(uint32_t id) const {
  QStringList names;
  for (; id != kRoot; id = nodes_[id].parent) {
    if (nodes_[id].by != peak::By::module || !text::is_path(nodes_[id].name.toStdString())) continue;
    names.insert(is_bottom_up_ ? names.size() : 0, nodes_[id].name);
  }
  return names.join(QLatin1Char('.'));
}

uint32_t GroupTree::same_place(const GroupTree& other, uint32_t id) const {
  std::vector<uint32_t> way;
  for (; id != kRoot; id = nodes_[id].parent) way.push_back(id);
  uint32_t at = kRoot;
  for (; !way.empty(); way.pop_back()) {
    const auto& children = other.node(at).children;
    const Node& wanted = nodes_[way.back()];
    const auto same = std::ranges::find_if(children, [&](uint32_t child) {
      return other.node(child).name == wanted.name && other.node(child).by == wanted.by;
    });
    if (same == children.end()) break;
    at = *same;
  }
  return at;
}

void GroupTreeModel::show(std::shared_ptr<const GroupTree> tree) {
  beginResetModel();
  tree_ = std::move(tree);
  endResetModel();
}

QModelIndex GroupTreeModel::index_of(uint32_t node) const {
  if (node == GroupTree::kRoot || node >= tree_->size()) return {};
  return createIndex(static_cast<int>(tree_->node(node).place), name, static_cast<quintptr>(node));
}

uint32_t GroupTreeModel::node_at(const QModelIndex& index) const {
  return index.isValid() ? static_cast<uint32_t>(index.internalId()) : GroupTree::kRoot;
}

QModelIndex GroupTreeModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  return createIndex(row, column, quintptr{tree_->node(node_at(parent)).children[static_cast<size_t>(row)]});
}

QModelIndex GroupTreeModel::parent(const QModelIndex& index) const {
  return index.isValid() ? index_of(tree_->node(node_at(index)).parent) : QModelIndex();
}

int GroupTreeModel::rowCount(const QModelIndex& parent) const {
  return parent.column() > 0 ? 0 : static_cast<int>(tree_->node(node_at(parent)).children.size());
}

int GroupTreeModel::columnCount(const QModelIndex&) const { return kColumns; }

QVariant GroupTreeModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const GroupTree::Node& node = tree_->node(node_at(index));
  switch (role) {
    case Qt::DisplayRole:
      switch (index.column()) {
        case name:
          return node.name;
        case bytes:
          return QString::fromStdString(text::bytes_text({node.bytes}));
        case share:
          return QString::fromStdString(text::percent_text({node.bytes}, {tree_->node(GroupTree::kRoot).bytes}));
        default:
          return QString::fromStdString(text::count_text(node.allocations));
      }
    case Qt::ToolTipRole:
      return plain_tip(tree_->path(node_at(index)));
    case Qt::TextAlignmentRole:
      return QVariant::fromValue<Qt::Alignment>((index.column() == name ? Qt::AlignLeft : Qt::AlignRight) |
                                                Qt::AlignVCenter);
    case node_role:
      return node_at(index);
    default:
      return {};
  }
}

QVariant GroupTreeModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  static const char* const kTitles[] = {"Group", "Bytes", "Share", "Allocations"};
  if (role == Qt::DisplayRole) return QString::fromUtf8(kTitles[section]);
  if (role == Qt::TextAlignmentRole)
    return QVariant::fromValue<Qt::Alignment>((section == name ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  return {};
}

}  // namespace tapelens::gui
