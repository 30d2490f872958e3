// Rewrites of operators: another forward pass, where a rewrite of a save cannot help because the bytes are made before
// anything is saved. Each changes what the program computes with, if only by rounding (L3) or by sharing memory (L4),
// so none is applied but by name.
//
// Its kernels stand before LibTorch's at AutogradCPU: there an operator of an ordinary tensor is still what the program
// called, and its graph not made yet. Whatever is not exactly its case it hands on with `stock`, and nothing is
// different. A third party's rewrite of an operator needs nothing of Tapelens for that: it can register a
// torch::Library itself.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <string_view>

#include "profiler/rewrite/rewrite.h"

namespace tapelens::rewrite {

struct OperatorRewrite {
  RewriteInfo info;
  void (*install)(torch::Library& aten);  // once, if it is wanted, before the program's second operator
};

// In plugins/<id>/rewrite.cpp.
extern const OperatorRewrite kExpandedSave, kTrivialConcat, kLateGradient, kScanSave;

// Puts those that the settings want before LibTorch's kernels. Once, by the probe's start; they stay.
void install_operator_rewrites();

// Whether the settings want this rewrite of this operator at the place where the program is now.
bool applies_here(const OperatorRewrite& rewrite, std::string_view operator_name);

// The keys with which the operator goes to the kernel that it would have had: LibTorch puts the same one in the slot
// AutogradOther, which no backend uses. What comes before autograd has been, whoever called.
inline c10::DispatchKeySet stock(c10::DispatchKeySet keys) {
  constexpr c10::DispatchKeySet behind(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::AutogradFunctionality);
  return (keys & behind).add(c10::DispatchKey::AutogradOther);
}

}  // namespace tapelens::rewrite
