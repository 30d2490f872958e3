// The forward graphs of one backward, if its loss is only the sum of their losses.
#pragma once

#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/check/graphs.h"

namespace tapelens::check {

// A graph that a separate backward could evaluate: it shares only the parameters' leaves with the others.
struct Branch {
  NodeId loss;       // its root
  Time first, last;  // creation of its nodes
  std::vector<NodeId> nodes;
  std::vector<NodeId> leaves;  // AccumulateGrad nodes of the graph
};

class Branches {
 public:
  Branches(const Context& context, const Graphs& graphs);

  // Branches in order of their creation. `first` to `end`: the evaluations of the backward, which begin at the root of
  // the sum. Empty: the loss is not a sum, the sum has one graph, or a later factor.
  std::vector<Branch> of(uint32_t first, uint32_t end);

 private:
  bool is_sum(NodeId node) const;
  bool makes_scalars(NodeId node) const;
  // Visits each node once that is evaluated in [first, end). The walk ends at nodes that two sums share, and at cycles.
  std::vector<NodeId> find_losses(NodeId root, uint32_t first, uint32_t end);
  // Whether the sum multiplies the losses by a tensor that was made after `time`: the returns of an episode.
  bool has_later_factor(Time time) const;

  const Context& context_;
  const Process& p_;
  const Graphs& graphs_;
  std::vector<uint8_t> kind_;       // by StringId, of node types
  std::vector<uint32_t> owner_;     // by node: 1 + its branch, in the current backward
  std::vector<NodeId> sums_;        // nodes of the sum, in the current backward
  std::vector<uint8_t> is_open_;    // by node: evaluated in the current backward, and not visited yet
  std::vector<uint32_t> next_big_;  // by allocation: itself, or else the next one that is larger than a list of scalars
};

}  // namespace tapelens::check
