// Rewrites of operators: another forward pass, where a rewrite of a save cannot help because the bytes are made before
// anything is saved. Each changes what the program computes with, if only by rounding (L3) or by sharing memory (L4),
// so none is applied but by name.
//
// Its kernels stand before LibTorch's at AutogradCPU: there an operator of an ordinary tensor is still what the program
// called, and its graph not made yet. Whatever is not exactly its case it hands on with `stock`, and nothing is
// different.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <string_view>

#include "profiler/rewrite/rewrite.h"

namespace tapelens::rewrite {

// What a rewrite of operators is given when it is installed, and may keep: it is never destroyed. Any thread may call.
class OperatorHost {
 public:
  // Takes kernels of aten's operators, for AutogradCPU; another one at each call.
  virtual torch::Library& kernels() const = 0;
  // Whether the user wants this rewrite of this operator ("aten::matmul") at the place where the program is now.
  virtual bool applies_here(const RewriteInfo& info, std::string_view operator_name) const = 0;
  // Below this a rewrite leaves a storage alone.
  virtual uint64_t min_bytes() const = 0;
  // For the count: it was applied to so many bytes, of which so many are kept.
  virtual void applied(const RewriteInfo& info, std::string_view operator_name, uint64_t bytes,
                       uint64_t kept) const = 0;
  // It was not, because of this: a few words for the user, one of a few texts.
  virtual void skipped(const RewriteInfo& info, std::string_view operator_name, std::string_view reason,
                       uint64_t bytes) const = 0;

 protected:
  ~OperatorHost() = default;
};

// Installs those that the settings want. Once, by the probe's start; they stay.
void install_operator_rewrites();

// Whether the settings want this rewrite of this operator at the place where the program is now.
bool applies_here(const RewriteInfo& info, std::string_view operator_name);

// The keys with which the operator goes to the kernel that it would have had: LibTorch puts the same one in the slot
// AutogradOther, which no backend uses. What comes before autograd has been, whoever called.
inline c10::DispatchKeySet stock(c10::DispatchKeySet keys) {
  constexpr c10::DispatchKeySet behind(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::AutogradFunctionality);
  return (keys & behind).add(c10::DispatchKey::AutogradOther);
}

}  // namespace tapelens::rewrite
