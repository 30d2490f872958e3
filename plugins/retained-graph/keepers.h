// What keeps the graphs of earlier steps, as far as the recording tells, and what else goes with them.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/check/graphs.h"

namespace tapelens::check {

enum class KeptBy : uint8_t {
  result,          // a tensor of the program, for all that is known
  gradient,        // .grad of a parameter, made by backward(create_graph=True)
  context,         // an attribute of ctx that is the node's own output: a cycle
  gradient_graph,  // a graph of gradients that is never differentiated, which graph-without-backward finds
  hidden,          // its results are freed: a hook, a closure, a grad_fn
};

class Keepers {
 public:
  // `entries`: nodes that were alive then, and that no living node leads to.
  Keepers(const Context& context, const Graphs& graphs, const std::set<NodeId>& entries, Time alive);

  KeptBy of(NodeId entry) const;
  // What the operator that made an entry made and left, in the order of time.
  const std::vector<AllocationId>& results(NodeId entry) const;
  // The attribute of an entry's ctx that is its own output; none: there is none.
  HeldId own_output(NodeId entry) const;
  // The evaluation of a parameter's node that an entry was made in; none: in no such.
  EvaluationId accumulation(NodeId entry) const;

 private:
  void find_results(const std::set<NodeId>& entries);
  void find_own_outputs(const std::set<NodeId>& entries);
  void find_created_graphs();
  bool is_of_created_graph(NodeId entry) const;

  const Context& context_;
  const Graphs& graphs_;
  const Time alive_;
  std::unordered_map<uint32_t, std::vector<AllocationId>> results_;  // by operator
  std::unordered_map<uint32_t, HeldId> own_outputs_;                 // by node
  std::vector<bool> created_for_nothing_;                            // by node
  std::vector<bool> creates_graph_;  // by node: whether a backward that creates a graph evaluated it last
};

// The statement that keeps an attribute of ctx in the function that an operator runs in, "ctx.y = y"; none: not found.
EditLine attribute_line(const Context& context, StackId stack, std::string_view attribute);

}  // namespace tapelens::check
