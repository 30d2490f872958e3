// The bytes at the peaks of two runs as one tree of modules, for pictures of the difference.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/compare/comparison.h"
#include "analyzer/compare/growth.h"

namespace tapelens::compare {

// The bytes at a moment by module and holder. A module is the owner of a parameter and its gradient, as in peak::By.
// Sorted by module, then by `what`. `wanted` selects members; empty: all of them.
std::vector<HeldBytes> held_at(const model::Process& process, const model::Text& text,
                               const std::vector<model::Step>& steps, const peak::PeakSet& set,
                               const std::function<bool(const peak::Member&)>& wanted = {});

class ModuleTree {
 public:
  // A module, or under a module the holder of its memory. Layers that are equal in both runs are one node.
  struct Node {
    std::string name;    // "attention", "encoder.{0-3}": modules with one child are one node with it
    std::string before;  // the name in `a` if it is another one, else empty
    bool is_module = true;
    Bytes a, b;   // in all layers of the node, with everything below it
    Bytes width;  // in a picture: the sum of the larger of `a` and `b` of each holder. Children sum to it
    uint64_t allocations_a = 0, allocations_b = 0;
    uint64_t layers = 1;  // equal layers in this node, with those of its parents left out
    uint32_t parent = 0, depth = 0;
    std::vector<uint32_t> children;  // the widest first

    Bytes difference() const { return b - a; }
    Growth growth() const { return growth_of(a, b); }
  };

  static constexpr uint32_t kRoot = 0;  // everything, without a name

  // Modules match by path. A module that only one run has matches the only such module of the other run at its place if
  // both contain a module or holder of one name: a renamed class. Linear in the number of nodes, apart from sorting.
  ModuleTree(std::span<const HeldBytes> a, std::span<const HeldBytes> b);

  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  const Node& node(uint32_t id) const { return nodes_[id]; }  // parents have lower ids than their children
  bool is_within(uint32_t id, uint32_t ancestor) const;
  // "GPT.blocks.{0-3}.fc", "GPT.blocks.{0-3}.fc: ReluBackward0.result"; empty for the root.
  std::string path(uint32_t id) const;
  // The innermost node of each element of the constructor's `a` and `b`.
  uint32_t node_of_a(size_t at) const { return of_a_[at]; }
  uint32_t node_of_b(size_t at) const { return of_b_[at]; }

 private:
  std::vector<Node> nodes_;
  std::vector<uint32_t> of_a_, of_b_;
};

// Two recordings have full paths. A baseline has rows: repeated layers are "*", and a module is the one that allocated.
ModuleTree module_tree(const ComparedDevice& device);

}  // namespace tapelens::compare
