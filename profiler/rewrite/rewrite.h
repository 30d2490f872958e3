// The interface of a rewrite: how it encodes a saved tensor or replaces an operator, and how backward gets the values.
// Both plugins/*/rewrite.cpp and shared libraries of third parties use it.
//
// A rewrite of saves decides which saves it handles and how to keep their values in fewer bytes. The host does the rest
// (host.h): whether a tensor may be touched, other holders of its storage, the time of release, the version check,
// plans, thresholds, counts. A save is rewritten when only rewritable saves keep its storage. Nothing is encoded
// before, so nothing must be undone if another holder appears.
//
// A rewrite of operators runs another forward pass, where a rewrite of saves cannot help because the bytes are
// allocated before anything is saved: operators.h.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string_view>

#include "policy/catalog.h"
#include "policy/registration.h"

namespace tapelens::rewrite {

using policy::Level;
using policy::RewriteInfo;
class OperatorHost;  // operators.h

// A saved field of a complete node that no other code knows yet.
struct Save {
  const torch::autograd::Node& node;
  std::string_view type, field;     // "ReluBackward0", "result"
  uint32_t index;                   // place in a field that is a list, else 0
  std::string_view operator_name;   // the innermost enclosing operator, "aten::relu"; empty outside of operators
  std::string_view outer_operator;  // the operator that the program called: "aten::dropout" around "aten::mul"
  std::string_view attributes;      // "training=False", as in the table of needs; empty if the table needs none
  uint64_t wanted;                  // bit i: the gradient along edge i is needed
  const at::Tensor& tensor;         // strided, of no subclass, on a supported device; do not keep it
};

// The data that is kept instead of a tensor. Threads of a backward may decode concurrently.
class Encoding {
 public:
  virtual ~Encoding() = default;
  // Returns a tensor with the original sizes, strides, dtype and device. For levels never_read and encoded its values
  // may differ, but must give the gradients the same bits. Runs without autograd and hooks. May throw: the backward
  // then fails.
  virtual at::Tensor decode() const = 0;
  virtual uint64_t bytes() const = 0;  // size of the encoding
  // Whether decode() returns the original values, so that other tensors can be rematerialized from them.
  virtual bool is_exact() const { return false; }
};

// Values that the host recomputes, instead of keeping them, on behalf of a rewrite. The host follows the operators; the
// rewrite provides the id that users enable. At most one rewrite for each value, in plugins/: others are ignored.
enum class Recomputes : uint8_t {
  nothing,
  operators,  // results of cheap operators (policy/recompute); includes copies
  copies,     // tensors with the same bits as a kept one: a copy, or the same computation from the same inputs
};

// The CPU, and the devices whose streams the host follows (streams.h).
inline constexpr c10::DeviceType kDeviceTypes[] = {c10::kCPU, c10::kCUDA};
// For Rewrite::is_for().
inline bool is_cpu_or_has_streams(c10::DeviceType device) {
  return std::ranges::find(kDeviceTypes, device) != std::end(kDeviceTypes);
}

// Override the functions for the kind of rewrite: of saves, of operators, or a recomputation.
class Rewrite {
 public:
  virtual ~Rewrite() = default;
  virtual RewriteInfo info() const = 0;

  // Whether the rewrite supports tensors on such a device: the CPU, or CUDA. On CUDA encode() and decode() run
  // operators of LibTorch on the current stream and must not wait for the device.
  virtual bool is_for(c10::DeviceType device) const { return device == c10::kCPU; }
  // By type and field only: called once for each pair, so that other saves cost nothing.
  virtual bool may_match(std::string_view /*type*/, std::string_view /*field*/) const { return false; }
  // Whether the rewrite handles this save. Must be cheap: called for each save of that type and field.
  virtual bool matches(const Save& /*save*/) const { return false; }
  // Called when only matching saves hold the storage, right before its release, with the saved tensor. Return null to
  // keep it (for example if a NaN has no encoding). May run for another node than matches() did.
  virtual std::unique_ptr<Encoding> encode(const Save& /*save*/) const { return nullptr; }

  // Called once before the program's second operator, if the rewrite may be applied anywhere.
  virtual void install(const OperatorHost& /*host*/) const {}

  virtual Recomputes recomputes() const { return Recomputes::nothing; }
  // Whether the host moves saves that nothing else releases to the memory of the host, on behalf of this rewrite. At
  // most one rewrite in plugins/: others are ignored.
  virtual bool offloads() const { return false; }
};

// ---- registration --------------------------------------------------------------------------------------------------

struct RewriteInterface {
  using Made = const Rewrite;  // never destroyed
  // Raise it with every change of this file, or of operators.h, that affects a compiled rewrite.
  static constexpr uint32_t kVersion = 5;
  using BuiltFor = const char*;  // PyTorch's version: other minor versions are refused
  static constexpr BuiltFor kBuiltFor = TORCH_VERSION;
};
using RewritePlugin = policy::Registration<RewriteInterface>;
using RewriteEntry = const RewritePlugin* (*)();

}  // namespace tapelens::rewrite

// Registers the rewrites of a folder or of a shared library in one line: TAPELENS_REWRITES(MyRewrite)
#ifndef TAPELENS_REWRITE_SYMBOL
#define TAPELENS_REWRITE_SYMBOL tapelens_rewrite_plugin
#endif
#define TAPELENS_REWRITES(...) \
  TAPELENS_REGISTRATION(TAPELENS_REWRITE_SYMBOL, tapelens::rewrite::RewriteInterface, __VA_ARGS__)
