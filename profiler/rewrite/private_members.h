// Members of LibTorch's classes without an accessor.
#pragma once

#include <c10/core/TensorImpl.h>
#include <torch/csrc/autograd/saved_variable.h>

#include "profiler/observe/private_members.h"

namespace tapelens::rewrite::members {

TAPELENS_MEMBER(SavedOriginal, &torch::autograd::SavedVariable::saved_original_);
TAPELENS_MEMBER(SavedLeaf, &torch::autograd::SavedVariable::is_leaf_);
TAPELENS_MEMBER(SavedOfView, &torch::autograd::SavedVariable::is_inplace_on_view_);
TAPELENS_MEMBER(SavedOutputNumber, &torch::autograd::SavedVariable::output_nr_);
TAPELENS_MEMBER(SavedOfViewBy, &torch::autograd::SavedVariable::weak_grad_fn_);
TAPELENS_MEMBER(Counter, &c10::VariableVersion::version_counter_);

// Whether two tensors share a version counter.
inline bool is_same(const c10::VariableVersion& a, const c10::VariableVersion& b) {
  return (a.*member(Counter{})).get() == (b.*member(Counter{})).get();
}

}  // namespace tapelens::rewrite::members
