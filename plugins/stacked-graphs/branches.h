// The forward graphs that one backward goes through, if its loss is no more than the sum of theirs.
#pragma once

#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/check/graphs.h"

namespace tapelens::check {

// A graph that a separate backward could evaluate: it shares only the parameters' leaves with the others.
struct Branch {
  NodeId loss;       // its root
  Time first, last;  // when its nodes were made
  std::vector<NodeId> nodes;
  std::vector<NodeId> leaves;  // AccumulateGrad nodes that it leads to
};

class Branches {
 public:
  Branches(const Context& context, const Graphs& graphs);

  // Branches in order of their creation. `first` to `end`: the evaluations of the backward, which begin at the root of
  // the sum. Empty: the loss is not a sum, or the sum has one graph.
  std::vector<Branch> of(uint32_t first, uint32_t end);

 private:
  bool is_sum(NodeId node) const;
  bool makes_scalars(NodeId node) const;
  // Looks at each node once that is evaluated in [first, end): nodes that two sums share, and cycles, end the walk.
  std::vector<NodeId> find_losses(NodeId root, uint32_t first, uint32_t end);

  const Context& context_;
  const Process& p_;
  const Graphs& graphs_;
  std::vector<uint8_t> kind_;       // by StringId, of node types
  std::vector<uint32_t> owner_;     // by node: 1 + its branch, in the backward that is looked at
  std::vector<uint8_t> is_open_;    // by node: evaluated in the backward that is looked at, and not met yet
  std::vector<uint32_t> next_big_;  // by allocation: itself, or else the next one that is larger than a list of scalars
};

}  // namespace tapelens::check
