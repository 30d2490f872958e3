// Casts of one weight that autocast repeats for each use, and the changes of their backward with its cache.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/check/content.h"

namespace tapelens::check {

class Uncached {
 public:
  explicit Uncached(const Context& context) : context_(context), is_parameter_(parameters_of(context.process)) {}

  // Whether autocast made the copy of a weight, and not the program.
  bool is_cast(const Contents& contents, AllocationId copy, const Copied& copied) const;

  // Whether the cast's backward exists: autocast's cache has only weights that require a gradient.
  bool needs_gradient(AllocationId cast) const { return bool{node_of(cast)}; }

  // With the cache, the gradients of all uses are summed in the dtype of the cast, and one gradient is made of the sum
  // where that of the first cast is made now. `before`: the cast before this one, in the order of the forward.
  void add_backward(AllocationId first, AllocationId before, AllocationId cast, peak::WhatIf& change);

 private:
  NodeId node_of(AllocationId cast) const;
  EvaluationId evaluation_of(AllocationId cast);
  std::vector<AllocationId> made_in(EvaluationId evaluation) const;

  const Context& context_;
  std::vector<bool> is_parameter_;
  std::optional<std::vector<EvaluationId>> evaluations_;  // by node
};

}  // namespace tapelens::check
