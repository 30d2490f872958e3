// The implementation that LibTorch's foreach operators choose on CUDA: kernels for many tensors, or one operator after
// the other, whose last bits may differ. An operator uses the kernels only if all tensors of its lists permit them. So
// it chooses the same for some of the tensors as for all, if all permit the kernels. On the CPU it never uses any.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <span>

namespace tapelens::rewrite {

// Whether the foreach operators of an optimizer would use the kernels for a parameter. `others`: its gradient and
// state.
inline bool permits_foreach_kernels(const at::Tensor& parameter, std::span<const at::Tensor> others) {
  // No operator on the number of a parameter's steps uses the kernels.
  const auto is_number_on_cpu = [](const at::Tensor& tensor) { return tensor.is_cpu() && tensor.dim() == 0; };
  const auto is_like = [&](const at::Tensor& tensor) {
    return tensor.device() == parameter.device() && tensor.dtype() == parameter.dtype() &&
           tensor.sizes() == parameter.sizes() && tensor.strides() == parameter.strides();
  };
  return parameter.is_non_overlapping_and_dense() && std::ranges::all_of(others, [&](const at::Tensor& other) {
           return is_like(other) || is_number_on_cpu(other);
         });
}

}  // namespace tapelens::rewrite
