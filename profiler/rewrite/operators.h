// Rewrites of operators run another forward pass. They apply where a rewrite of a save cannot help, because the bytes
// are allocated before anything is saved. Each changes the computation, at least by rounding (L3) or by shared memory
// (L4), so each must be enabled by name.
//
// A rewrite's kernels precede LibTorch's at AutogradCPU or AutogradCUDA. At that point an operator of an ordinary
// tensor is still the program's own call, and its graph does not exist yet. Any case that the rewrite does not cover
// goes to the original kernel with `stock`, unchanged.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <string_view>

#include "profiler/rewrite/rewrite.h"

namespace tapelens::rewrite {

// The host object that a rewrite of operators gets when it is installed. It may keep the reference: the object is never
// destroyed. Callable from any thread.
class OperatorHost {
 public:
  // A library for kernels of aten's operators with tensors of a device, the CPU or CUDA: at AutogradCPU, AutogradCUDA.
  // A new one at each call. On CUDA a kernel runs on the stream that the program chose, also while a graph is captured:
  // it may call operators of LibTorch, and must not wait for the device.
  virtual torch::Library& kernels(c10::DeviceType device) const = 0;
  // Whether the user wants this rewrite of this operator ("aten::matmul") at the program's current place.
  virtual bool applies_here(const RewriteInfo& info, std::string_view operator_name) const = 0;
  // A rewrite ignores smaller storages.
  virtual uint64_t min_bytes() const = 0;
  // Counts an applied rewrite: it replaced `bytes` bytes, of which `kept` are kept.
  virtual void applied(const RewriteInfo& info, std::string_view operator_name, uint64_t bytes,
                       uint64_t kept) const = 0;
  // Counts a skipped rewrite. `reason`: a few words for the user, from a small set of texts.
  virtual void skipped(const RewriteInfo& info, std::string_view operator_name, std::string_view reason,
                       uint64_t bytes) const = 0;

 protected:
  ~OperatorHost() = default;
};

// Installs the rewrites that the settings want. Called once, at the probe's start; they stay installed.
void install_operator_rewrites();

// Whether the settings want this rewrite of this operator at the program's current place.
bool applies_here(const RewriteInfo& info, std::string_view operator_name);

// The keys that send the operator to its original kernel. LibTorch puts the same kernel in the slot AutogradOther,
// which no backend uses. All layers before autograd have already run, for every caller.
inline c10::DispatchKeySet stock(c10::DispatchKeySet keys) {
  constexpr c10::DispatchKeySet behind(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::AutogradFunctionality);
  return (keys & behind).add(c10::DispatchKey::AutogradOther);
}

}  // namespace tapelens::rewrite
