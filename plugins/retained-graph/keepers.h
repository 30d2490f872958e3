// Finds the references that keep the graphs of earlier steps, as far as the recording shows them, and the other memory
// that those graphs hold.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/check/graphs.h"

namespace tapelens::check {

enum class KeptBy : uint8_t {
  result,          // the default: a tensor of the program
  gradient,        // .grad of a parameter, made by backward(create_graph=True)
  context,         // an attribute of ctx is the node's own output: a cycle
  gradient_graph,  // a gradient graph without a backward; graph-without-backward reports it
  hidden,          // all results are freed: a hook, a closure or a grad_fn
};

class Keepers {
 public:
  // `entries`: nodes alive at `alive` to which no other live node has an edge.
  Keepers(const Context& context, const Graphs& graphs, const std::set<NodeId>& entries, Time alive);

  KeptBy of(NodeId entry) const;
  // The allocations that the entry's operator made and left alive, in the order of time.
  const std::vector<AllocationId>& results(NodeId entry) const;
  // The attribute of the entry's ctx that is the entry's own output; none: no such attribute.
  HeldId own_output(NodeId entry) const;
  // The evaluation of a parameter's AccumulateGrad node that made the entry; none: no such evaluation made it.
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

// The statement that sets an attribute of ctx, "ctx.y = y", in the operator's function; none: not found.
EditLine attribute_line(const Context& context, StackId stack, std::string_view attribute);

}  // namespace tapelens::check
