#include "plugins/duplicate-save/uncached.h"

#include <algorithm>

namespace tapelens::check {

bool Uncached::is_cast(const Contents& contents, AllocationId copy, const Copied& copied) const {
  const View& source = copied.parts.front();
  if (!is_parameter_[source.allocation.value]) return false;
  if (context_.provenance.name(copied.op) != "_to_copy") return false;
  return !contents.is_called_copy(context_.provenance.maker(copy));
}

NodeId Uncached::node_of(AllocationId cast) const {
  const Process& p = context_.process;
  for (OperatorId op = p.allocations.op[cast]; op; op = p.operators.parent[op]) {
    for (const NodeId node : context_.provenance.nodes(op)) {
      if (context_.text.string(p.nodes.type[node]) == "ToCopyBackward0") return node;
    }
  }
  return {};
}

EvaluationId Uncached::evaluation_of(AllocationId cast) {
  if (!evaluations_) evaluations_ = last_evaluations(context_.process);
  return (*evaluations_)[node_of(cast).value];
}

std::vector<AllocationId> Uncached::made_in(EvaluationId evaluation) const {
  const Process& p = context_.process;
  std::vector<AllocationId> made;
  for (const AllocationId one : allocations_in(p, evaluation)) {
    if (p.allocations.evaluation[one] == evaluation) made.push_back(one);
  }
  return made;
}

void Uncached::add_backward(AllocationId first, AllocationId before, AllocationId cast, peak::WhatIf& change) {
  const Process& p = context_.process;
  const EvaluationId of_first = evaluation_of(first), of_before = evaluation_of(before), of_cast = evaluation_of(cast);
  if (!of_first || !of_before || !of_cast) return;
  const Time begin = p.evaluations.begin[of_cast], next = p.evaluations.begin[of_before];
  if (begin < next) change.extras.push_back({cast, {begin, next}, p.allocations.bytes[cast]});
  // The parameter's own gradient is there once that of the first cast was added to it.
  Time added = p.evaluations.end[of_first];
  for (const AllocationId gradient : made_in(of_first)) {
    if (p.freed(gradient) != kNever) added = std::max(added, p.freed(gradient));
  }
  for (const AllocationId gradient : made_in(of_cast)) {
    change.never_make(p, gradient);
    if (p.freed(gradient) <= added) continue;
    change.extras.push_back({gradient, {added, p.freed(gradient)}, p.allocations.bytes[gradient]});
  }
}

}  // namespace tapelens::check
