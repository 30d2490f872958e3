#include "analyzer/compare/module_tree.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/peak/keys.h"
#include "analyzer/report/categories.h"
#include "analyzer/text/names.h"

namespace tapelens::compare {

namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr const char* kOutside = "(outside of modules)";

bool is_number(std::string_view part) {
  return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
}

// The tree of one run: a level for each part of a module's path, and the holder below it.
class Side {
 public:
  using Key = std::tuple<uint32_t, bool, std::string_view>;  // parent, is a module, name
  struct Node {
    std::string_view name;
    bool is_module = true;
    Bytes bytes;  // 0 for a module
    uint64_t allocations = 0;
    std::vector<uint32_t> children;  // in the order of the input
  };

  explicit Side(std::span<const HeldBytes> held) : nodes_(1) {
    for (const HeldBytes& one : held) {
      uint32_t at = 0;
      std::string_view rest = one.module.empty() ? std::string_view(kOutside) : std::string_view(one.module);
      while (true) {
        const size_t end = text::is_path(rest) ? std::min(rest.find('.'), rest.size()) : rest.size();
        at = child(at, true, rest.substr(0, end));
        if (end == rest.size()) break;
        rest.remove_prefix(end + 1);
      }
      at = child(at, false, one.what);
      nodes_[at].bytes += one.bytes;
      nodes_[at].allocations += one.allocations;
      leaf_.push_back(at);
    }
  }

  const Node& node(uint32_t id) const { return nodes_[id]; }
  const std::vector<uint32_t>& leaves() const { return leaf_; }  // of each element of the input
  size_t size() const { return nodes_.size(); }
  // kNone: the child does not exist.
  uint32_t find(uint32_t parent, const Node& like) const {
    const auto found = ids_.find({parent, like.is_module, like.name});
    return found == ids_.end() ? kNone : found->second;
  }

 private:
  uint32_t child(uint32_t parent, bool is_module, std::string_view name) {
    const auto [at, is_new] = ids_.try_emplace({parent, is_module, name}, static_cast<uint32_t>(nodes_.size()));
    if (is_new) {
      nodes_[parent].children.push_back(at->second);
      nodes_.push_back({name, is_module, {}, 0, {}});
    }
    return at->second;
  }

  std::vector<Node> nodes_;
  std::map<Key, uint32_t> ids_;
  std::vector<uint32_t> leaf_;
};

// Both trees in one, layer by layer.
class Merged {
 public:
  struct Node {
    std::string_view name, before;
    bool is_module = true;
    Bytes a, b, width;
    uint64_t allocations_a = 0, allocations_b = 0;
    std::vector<uint32_t> children;
    size_t shape = 0;  // equal for nodes with the same bytes and the same nodes below them
  };

  Merged(const Side& a, const Side& b) : a_(a), b_(b), of_a(a.size(), kNone), of_b(b.size(), kNone) {
    add(0, 0);
    for (uint32_t id = 0; id < nodes.size(); ++id) add_children(id);  // `nodes` grows
    for (uint32_t id = static_cast<uint32_t>(nodes.size()); id-- > 0;) finish(id);
  }

 private:
  struct Pair {
    uint32_t a, b;
  };
  const Side &a_, &b_;
  std::vector<Pair> pairs_;  // by node
  std::map<std::vector<uint64_t>, size_t> shapes_;
  std::unordered_map<std::string_view, uint64_t> names_;

 public:
  std::vector<Node> nodes;
  std::vector<uint32_t> of_a, of_b;  // the merged node of a node

 private:
  uint32_t add(uint32_t a, uint32_t b) {
    const auto id = static_cast<uint32_t>(nodes.size());
    Node& out = nodes.emplace_back();
    pairs_.push_back({a, b});
    if (a != kNone) {
      const Side::Node& of = a_.node(a);
      out.name = of.name;
      out.is_module = of.is_module;
      out.a = of.bytes;
      out.allocations_a = of.allocations;
      of_a[a] = id;
    }
    if (b != kNone) {
      const Side::Node& of = b_.node(b);
      if (a != kNone && of.name != out.name) out.before = out.name;
      out.name = of.name;
      out.is_module = of.is_module;
      out.b = of.bytes;
      out.allocations_b = of.allocations;
      of_b[b] = id;
    }
    return id;
  }

  void add_child(uint32_t parent, uint32_t a, uint32_t b) {
    const uint32_t made = add(a, b);
    nodes[parent].children.push_back(made);
  }

  bool has_common_child(uint32_t a, uint32_t b) const {
    return std::ranges::any_of(a_.node(a).children,
                               [&](uint32_t child) { return b_.find(b, a_.node(child)) != kNone; });
  }

  // Renamed: both are the only module there without a partner, and they have something of one name in them.
  bool are_renamed(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) const {
    if (a.size() != 1 || b.size() != 1) return false;
    const auto may = [](std::string_view name) { return text::is_path(name) && !is_number(name); };
    return may(a_.node(a[0]).name) && may(b_.node(b[0]).name) && has_common_child(a[0], b[0]);
  }

  void add_children(uint32_t id) {
    const Pair of = pairs_[id];
    std::vector<uint32_t> only_a, only_b;  // modules
    if (of.b != kNone) {
      for (const uint32_t in_b : b_.node(of.b).children) {
        const uint32_t in_a = of.a == kNone ? kNone : a_.find(of.a, b_.node(in_b));
        if (in_a == kNone && b_.node(in_b).is_module) {
          only_b.push_back(in_b);
        } else {
          add_child(id, in_a, in_b);
        }
      }
    }
    if (of.a != kNone) {
      for (const uint32_t in_a : a_.node(of.a).children) {
        if (of.b != kNone && b_.find(of.b, a_.node(in_a)) != kNone) continue;
        if (a_.node(in_a).is_module) {
          only_a.push_back(in_a);
        } else {
          add_child(id, in_a, kNone);
        }
      }
    }
    if (are_renamed(only_a, only_b)) return add_child(id, only_a[0], only_b[0]);
    for (const uint32_t in_b : only_b) add_child(id, kNone, in_b);
    for (const uint32_t in_a : only_a) add_child(id, in_a, kNone);
  }

  // Its children are finished.
  void finish(uint32_t id) {
    Node& node = nodes[id];
    node.width = std::max(node.a, node.b);
    if (!node.children.empty()) node.width = Bytes{};
    for (const uint32_t below : node.children) {
      const Node& child = nodes[below];
      node.a += child.a;
      node.b += child.b;
      node.width += child.width;
      node.allocations_a += child.allocations_a;
      node.allocations_b += child.allocations_b;
    }
    // Equal layers list their children in the same order.
    std::ranges::sort(node.children, [&](uint32_t x, uint32_t y) {
      const Node &one = nodes[x], &other = nodes[y];
      return std::tie(one.is_module, one.name, one.before) < std::tie(other.is_module, other.name, other.before);
    });
    std::vector<uint64_t> shape{static_cast<uint64_t>(node.is_module), static_cast<uint64_t>(node.a.value),
                                static_cast<uint64_t>(node.b.value), node.allocations_a, node.allocations_b};
    for (const uint32_t below : node.children) {
      shape.push_back(name_id(nodes[below].name));
      shape.push_back(name_id(nodes[below].before));
      shape.push_back(nodes[below].shape);
    }
    node.shape = shapes_.try_emplace(std::move(shape), shapes_.size()).first->second;
  }
  uint64_t name_id(std::string_view name) { return names_.try_emplace(name, names_.size()).first->second; }
};

// Children of one node that the picture shows as one: equal layers, or one child alone.
struct Layers {
  std::string name;
  std::vector<size_t> places;  // among the children
};

std::vector<Layers> layers_of(const std::vector<Merged::Node>& nodes, const std::vector<uint32_t>& children) {
  std::vector<Layers> out;
  std::vector<std::string> names;
  std::vector<size_t> places;
  for (size_t i = 0; i < children.size(); ++i) {
    const Merged::Node& child = nodes[children[i]];
    if (child.is_module && is_number(child.name)) {
      names.push_back("layers." + std::string(child.name));
      places.push_back(i);
    } else {
      out.push_back({std::string(child.name), {i}});
    }
  }
  std::vector<text::NamedRow> rows;
  for (size_t i = 0; i < names.size(); ++i) rows.push_back({names[i], nodes[children[places[i]]].shape});
  for (const text::EqualRows& equal : text::equal_rows(rows)) {
    Layers& one = out.emplace_back(Layers{equal.name.substr(equal.name.find('.') + 1), {}});
    for (const size_t row : equal.rows) one.places.push_back(places[row]);
  }
  return out;
}

std::vector<HeldBytes> held_by_rows(const std::vector<Row>& rows) {
  std::vector<HeldBytes> out;
  for (const Row& row : rows) {
    const std::string what = row.kind == peak::HolderKind::save ? holder_text(row) : category_name(row.kind);
    out.push_back({row.module, report::group_text(what), row.bytes, row.allocations});
  }
  return out;
}

}  // namespace

std::vector<HeldBytes> held_at(const model::Process& process, const model::Text& text,
                               const std::vector<model::Step>& steps, const peak::PeakSet& set,
                               const std::function<bool(const peak::Member&)>& wanted) {
  peak::Keys modules(process, text, steps, peak::By::module), fields(process, text, steps, peak::By::field);
  struct Sum {
    Bytes bytes;
    uint64_t allocations = 0;
  };
  std::map<std::pair<uint64_t, uint64_t>, Sum> sums;
  std::vector<uint64_t> module_keys, field_keys;
  for (const peak::Member& member : set.members) {
    if (wanted && !wanted(member)) continue;
    const peak::Holder& holder = peak::main_holder(set.holders_of(member));
    const uint64_t module = modules.key(member.allocation, holder), field = fields.key(member.allocation, holder);
    const auto [at, is_new] = sums.try_emplace({module, field});
    if (is_new) {
      module_keys.push_back(module);
      field_keys.push_back(field);
    }
    at->second.bytes += member.bytes;
    ++at->second.allocations;
  }
  const auto module_names = modules.names(module_keys), field_names = fields.names(field_keys);
  std::map<std::pair<std::string, std::string>, Sum> by_name;
  for (const auto& [keys, sum] : sums) {
    Sum& all = by_name[{module_names.at(keys.first), report::group_text(field_names.at(keys.second))}];
    all.bytes += sum.bytes;
    all.allocations += sum.allocations;
  }
  std::vector<HeldBytes> out;
  for (const auto& [names, sum] : by_name) out.push_back({names.first, names.second, sum.bytes, sum.allocations});
  return out;
}

Growth growth_of(Bytes a, Bytes b) {
  if (a == b) return Growth::same;
  if (a == Bytes{}) return Growth::is_new;
  if (b == Bytes{}) return Growth::removed;
  if (b > a) return b.value / 2 >= a.value ? Growth::doubled : Growth::increased;
  return a.value / 2 >= b.value ? Growth::halved : Growth::decreased;
}

const char* label(Growth growth) {
  switch (growth) {
    case Growth::removed:
      return "removed";
    case Growth::halved:
      return "at most half";
    case Growth::decreased:
      return "smaller";
    case Growth::increased:
      return "larger";
    case Growth::doubled:
      return "at least doubled";
    case Growth::is_new:
      return "new";
    case Growth::same:
      break;
  }
  return "the same";
}

ModuleTree::ModuleTree(std::span<const HeldBytes> a, std::span<const HeldBytes> b)
    : of_a_(a.size(), kRoot), of_b_(b.size(), kRoot) {
  const Side side_a(a), side_b(b);
  const Merged merged(side_a, side_b);
  std::vector<uint32_t> id_of(merged.nodes.size(), kRoot);
  std::vector<std::vector<uint32_t>> sources{{0}};  // by node: its merged nodes, which have one shape
  nodes_.resize(1);
  const auto count = [&](uint32_t id) {
    Node& node = nodes_[id];
    for (const uint32_t source : sources[id]) {
      const Merged::Node& one = merged.nodes[source];
      node.a += one.a;
      node.b += one.b;
      node.width += one.width;
      node.allocations_a += one.allocations_a;
      node.allocations_b += one.allocations_b;
      id_of[source] = id;
    }
  };
  count(kRoot);
  const auto children_of = [&](uint32_t id, const Layers& layers) {
    std::vector<uint32_t> out;
    for (const uint32_t source : sources[id]) {
      for (const size_t place : layers.places) out.push_back(merged.nodes[source].children[place]);
    }
    return out;
  };
  for (uint32_t id = 0; id < size(); ++id) {
    std::vector<Layers> all = layers_of(merged.nodes, merged.nodes[sources[id][0]].children);
    // A module with one child is one node with it.
    while (id != kRoot && all.size() == 1 && (all[0].places.size() == 1 || nodes_[id].layers == 1)) {
      std::vector<uint32_t> below = children_of(id, all[0]);
      const Merged::Node& child = merged.nodes[below[0]];
      if (!child.is_module) break;
      Node& node = nodes_[id];
      if (!child.before.empty() && node.before.empty()) node.before = node.name;
      if (!node.before.empty()) {
        node.before += '.';
        node.before += child.before.empty() ? std::string_view(all[0].name) : child.before;
      }
      node.name += '.';
      node.name += all[0].name;
      node.layers *= all[0].places.size();
      sources[id] = std::move(below);
      for (const uint32_t source : sources[id]) id_of[source] = id;
      all = layers_of(merged.nodes, merged.nodes[sources[id][0]].children);
    }
    for (Layers& layers : all) {
      const uint32_t made = size();
      sources.push_back(children_of(id, layers));
      const Merged::Node& first = merged.nodes[sources.back()[0]];
      Node& node = nodes_.emplace_back();
      node.name = std::move(layers.name);
      node.before = first.before;
      node.is_module = first.is_module;
      node.layers = layers.places.size();
      node.parent = id;
      node.depth = nodes_[id].depth + 1;
      nodes_[id].children.push_back(made);
      count(made);
    }
    std::ranges::sort(nodes_[id].children, [&](uint32_t x, uint32_t y) {
      const Node &one = nodes_[x], &other = nodes_[y];
      return one.width != other.width ? one.width > other.width : text::natural_less(one.name, other.name);
    });
  }
  for (size_t i = 0; i < a.size(); ++i) of_a_[i] = id_of[merged.of_a[side_a.leaves()[i]]];
  for (size_t i = 0; i < b.size(); ++i) of_b_[i] = id_of[merged.of_b[side_b.leaves()[i]]];
}

bool ModuleTree::is_within(uint32_t id, uint32_t ancestor) const {
  while (nodes_[id].depth > nodes_[ancestor].depth) id = nodes_[id].parent;
  return id == ancestor;
}

std::string ModuleTree::path(uint32_t id) const {
  std::string out;
  for (; id != kRoot; id = nodes_[id].parent) {
    const Node& node = nodes_[id];
    if (!node.is_module) {
      out = ": " + node.name;
    } else {
      out = node.name + (out.empty() || out.front() == ':' ? "" : ".") + out;
    }
  }
  return out;
}

ModuleTree module_tree(const ComparedDevice& device) {
  const auto is_full = [](const DeviceFigures& one) { return !one.held.empty() || one.rows.empty(); };
  if (is_full(device.a) && is_full(device.b)) return {device.a.held, device.b.held};
  return {held_by_rows(device.a.rows), held_by_rows(device.b.rows)};
}

}  // namespace tapelens::compare
