// The tensor of a save, without an unpack.
#pragma once

#include <torch/csrc/autograd/saved_variable.h>

#include <optional>

#include "profiler/observe/private_members.h"
#include "profiler/observe/torch_minor.h"

namespace tapelens::observe {

#if !TAPELENS_SAVES_GIVE_RAW_DATA
namespace members {
TAPELENS_MEMBER(SavedData, &torch::autograd::SavedVariable::data_);
}  // namespace members
#endif

// The saved tensor, undefined if the save holds none (any more). Empty if the save has hooks, which have packed it.
inline std::optional<at::Tensor> raw_data(const torch::autograd::SavedVariable& save) {
#if TAPELENS_SAVES_GIVE_RAW_DATA
  return save.get_raw_data();
#else
  return save.has_hooks() ? std::nullopt : std::optional(save.*member(members::SavedData{}));
#endif
}

}  // namespace tapelens::observe
