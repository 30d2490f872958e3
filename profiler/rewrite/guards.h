// Rewrites touch only ordinary tensors at ordinary moments. Everything else (subclasses, fake tensors, functorch,
// functionalization, tracing, forward-mode gradients) behaves as without Tapelens. A rewrite's own operators are
// isolated from the program's state.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "profiler/observe/mode_keys.h"

namespace tapelens::rewrite {

namespace guards {

// All dispatch keys of an ordinary CPU or CUDA tensor. Other tensors have an additional key: a subclass with
// __torch_dispatch__; a fake, batched, functional or dual-level tensor; a sparse, nested, quantized or oneDNN tensor;
// one with names; a lazy conjugate or negative. An inference tensor lacks two of these keys.
inline constexpr c10::DispatchKeySet kPlainKeys({c10::DispatchKey::CPU, c10::DispatchKey::ADInplaceOrView,
                                                 c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutocastCPU});
inline constexpr c10::DispatchKeySet kPlainCudaKeys({c10::DispatchKey::CUDA, c10::DispatchKey::ADInplaceOrView,
                                                     c10::DispatchKey::AutogradCUDA, c10::DispatchKey::AutocastCUDA});

inline bool has_plain_shape(const c10::TensorImpl& impl, const at::Tensor& tensor) {
  if (!impl.has_storage() || impl.has_symbolic_sizes_strides()) return false;
  // The gradient of a view may be on its base: LibTorch's _fw_grad() handles that.
  return impl.autograd_meta() == nullptr || !tensor._fw_grad(0).defined();
}

}  // namespace guards

// Whether the tensor is dispatched like a strided tensor of the CPU or of CUDA.
inline bool has_plain_keys(const at::Tensor& tensor) {
  const c10::DispatchKeySet keys = tensor.unsafeGetTensorImpl()->key_set();
  return keys == guards::kPlainKeys || keys == guards::kPlainCudaKeys;
}

// Whether the tensor is strided, on the CPU, with a storage and concrete sizes, and dispatched like an ordinary tensor.
// Inference tensors and tensors with a forward-mode gradient are not plain, nor are undefined tensors.
inline bool is_plain_on_cpu(const at::Tensor& tensor) {
  if (!tensor.defined()) return false;
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  return impl.key_set() == guards::kPlainKeys && guards::has_plain_shape(impl, tensor);
}
// The same, on the CPU or on a CUDA device.
inline bool is_plain(const at::Tensor& tensor) {
  if (!tensor.defined()) return false;
  return has_plain_keys(tensor) && guards::has_plain_shape(*tensor.unsafeGetTensorImpl(), tensor);
}

// Whether no active mode sees this thread's operators or intercepts their kernels.
inline bool is_plain_moment() { return !c10::impl::tls_local_dispatch_key_set().included_.has_any(observe::kModeKeys); }

// While it lives, this thread's operators run without autograd, autocast and modes.
struct Alone {
  at::AutoDispatchBelowADInplaceOrView below;
  c10::impl::ExcludeDispatchKeyGuard autocast{c10::autocast_dispatch_keyset};
  c10::impl::ExcludeDispatchKeyGuard modes{observe::kModeKeys};
  at::NoGradGuard no_grad;
};

}  // namespace tapelens::rewrite
