// The interface of a rewrite: what it takes of a saved tensor or of an operator, and what it gives back to the
// backward. The rewrites of plugins/*/rewrite.cpp and those of a third party's shared library use the same.
//
// A rewrite of saves says which it knows and how their values are kept in less; everything else is the host's (host.h):
// whether a tensor may be touched at all, who else keeps its storage, when the bytes go, the version check, plans,
// thresholds, counting. A save is rewritten when the saves that can be rewritten are all that keeps its storage: until
// then nothing was encoded, so nothing has to be undone when somebody else turns out to keep it.
//
// A rewrite of operators runs another forward, where one of saves cannot help because the bytes are made before
// anything is saved: operators.h.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>
#include <torch/version.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "rewrites/catalog.h"
#include "rewrites/registration.h"

namespace tapelens::rewrite {

using rewrites::Level;
using rewrites::RewriteInfo;
class OperatorHost;  // operators.h

// A saved field of a node that is whole and that nobody else knows yet.
struct Save {
  const torch::autograd::Node& node;
  std::string_view type, field;     // "ReluBackward0", "result"
  uint32_t index;                   // place in a field that is a list, else 0
  std::string_view operator_name;   // of the innermost operator around, "aten::relu"; empty outside of any
  std::string_view outer_operator;  // that the program called: "aten::dropout" around "aten::mul"
  std::string_view attributes;      // "training=False", as the table of needs spells them; empty where it asks for none
  uint64_t wanted;                  // bit i: the gradient along edge i is wanted
  const at::Tensor& tensor;         // strided, of no subclass, on a device that the rewrite is for; not to be kept
};

// What is kept instead of a tensor. Threads of a backward may decode at once.
class Encoding {
 public:
  virtual ~Encoding() = default;
  // Sizes, strides, dtype and device of the tensor; where it is never_read or encoded other values that give the
  // gradients the same bits. No autograd, no hooks are active. May throw: the backward fails with it.
  virtual at::Tensor decode() const = 0;
  virtual uint64_t bytes() const = 0;  // that it holds
  // Whether decode() gives the values themselves, from which other tensors may be rematerialized.
  virtual bool is_exact() const { return false; }
};

// What the host makes again, instead of keeping it, in the name of a rewrite: the host follows operators, that rewrite
// says how it is called, and is what has to be asked for. One for each, of plugins/: another is not looked at.
enum class Recomputes : uint8_t {
  nothing,
  operators,  // what cheap operators made (rewrites/recompute); whoever asks for this is given copies, too
  copies,     // what has the bits of something that is kept: a copy, or made of the same in the same way
};

// Overrides what it is about: saves, operators, or what is recomputed.
class Rewrite {
 public:
  virtual ~Rewrite() = default;
  virtual RewriteInfo info() const = 0;

  // Whether its tensors may be on such a device: the CPU, or CUDA, where encode() and decode() run operators of
  // LibTorch on the current stream and wait for nothing that the device does.
  virtual bool is_for(c10::DeviceType device) const { return device == c10::kCPU; }
  // By type and field alone: asked once for each pair, so that other saves cost nothing.
  virtual bool may_match(std::string_view /*type*/, std::string_view /*field*/) const { return false; }
  // Whether this save is one of its kind. Cheap: asked for each save of that type and field.
  virtual bool matches(const Save& /*save*/) const { return false; }
  // Called when only saves that matched hold the storage, right before it goes, with the tensor as it was saved. Null:
  // it is kept after all (a NaN where bits cannot tell). May run on another node than it was asked about before.
  virtual std::unique_ptr<Encoding> encode(const Save& /*save*/) const { return nullptr; }

  // Called once, if it may be applied anywhere, before the program's second operator.
  virtual void install(const OperatorHost& /*host*/) const {}

  virtual Recomputes recomputes() const { return Recomputes::nothing; }
};

// ---- how rewrites are registered -----------------------------------------------------------------------------------

struct RewriteInterface {
  using Made = const Rewrite;  // never destroyed
  // Raised with every change of this file, or of operators.h, that a compiled rewrite would notice.
  static constexpr uint32_t kVersion = 3;
  using BuiltFor = const char*;  // PyTorch's version: another minor is refused
  static constexpr BuiltFor kBuiltFor = TORCH_VERSION;
};
using RewritePlugin = rewrites::Registration<RewriteInterface>;
using RewriteEntry = const RewritePlugin* (*)();

}  // namespace tapelens::rewrite

// The one line that registers the rewrites of a folder or of a shared library: TAPELENS_REWRITES(MyRewrite)
#ifndef TAPELENS_REWRITE_SYMBOL
#define TAPELENS_REWRITE_SYMBOL tapelens_rewrite_plugin
#endif
#define TAPELENS_REWRITES(...) \
  TAPELENS_REGISTRATION(TAPELENS_REWRITE_SYMBOL, tapelens::rewrite::RewriteInterface, __VA_ARGS__)
