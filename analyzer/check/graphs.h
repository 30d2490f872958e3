// Common functions of checks of whole autograd graphs.
#pragma once

#include <unordered_map>
#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

// Which nodes were evaluated, which died, and which belong to a graph at all.
class Graphs {
 public:
  Graphs(const Process& process, const Text& text);

  // Not a leaf (AccumulateGrad: parameters' leaves connect every graph with every other), and not the stand-in that a
  // save without a node is given.
  bool is_inner(NodeId node) const { return (flags_[node.value] & kInner) != 0; }
  bool is_evaluated(NodeId node) const { return (flags_[node.value] & kEvaluated) != 0; }
  // kNever: the node is alive at the end of the recording.
  Time died(NodeId node) const { return Time{died_[node.value]}; }
  // By node: whether it is an inner node that is neither evaluated nor reachable from an evaluated node. A backward
  // stops before a reachable node because of inputs=, or because the program did not request that gradient.
  std::vector<bool> never_differentiated(const Process& process) const;

 private:
  enum Flag : uint8_t { kInner = 1, kEvaluated = 2 };
  std::vector<uint8_t> flags_;  // by node
  std::vector<int64_t> died_;   // by node
};

// Whether a save keeps memory: the program's own hooks did not take it, and the program releases it before the save.
bool keeps_memory(const Context& context, SaveId save);

// Saves of one allocation that are released at `at` instead of later, as a change for the replay.
class EarlyReleases {
 public:
  explicit EarlyReleases(const Context& context) : context_(context) {}
  // `saves`: not empty. The running time is linear in `saves`, also for many disjoint sets of one allocation.
  peak::WhatIf change(std::span<const SaveId> saves, Time at);

 private:
  const Context& context_;
  std::unordered_map<uint32_t, std::vector<SaveId>> latest_first_;  // by allocation: its saves by their release
};

// The saves of an allocation that is the first one's, at [first, end): for walks over saves sorted by allocation.
size_t end_of_allocation(const Process& process, std::span<const SaveId> saves, size_t first);

}  // namespace tapelens::check
