// The forward graphs that one backward goes through, if its loss is no more than the sum of theirs.
#pragma once

#include <vector>

#include "plugins/check.h"
#include "plugins/graphs.h"

namespace tapelens::advise {

// A graph that could have had a backward of its own: it shares no node with the others but the parameters' leaves.
struct Branch {
  NodeId loss;       // its root
  Time first, last;  // when its nodes were made
  std::vector<NodeId> nodes;
  std::vector<NodeId> leaves;  // AccumulateGrad nodes that it leads to
};

class Branches {
 public:
  Branches(const Context& context, const Graphs& graphs);

  // In the order in which they were made. `first` to `end`: the evaluations of the backward. The roots of the sum are
  // found from its first one. Empty: the loss is no sum, or of one graph.
  std::vector<Branch> of(uint32_t first, uint32_t end);

 private:
  bool is_sum(NodeId node) const;
  bool makes_scalars(NodeId node) const;
  void find_losses(NodeId root, std::vector<NodeId>& losses) const;

  const Context& context_;
  const Process& p_;
  const Graphs& graphs_;
  std::vector<uint8_t> kind_;    // by StringId, of node types
  std::vector<uint32_t> owner_;  // by node: 1 + its branch, in the backward that is looked at
};

}  // namespace tapelens::advise
