// The interface of a rewrite: what it takes of a saved tensor or of an operator, and what it gives back to the
// backward. The rewrites of plugins/*/rewrite.cpp and those of a third party's shared library use the same.
//
// A rewrite says which saves it knows and how their values are kept in less; everything else is the host's (host.h):
// whether a tensor may be touched at all, who else keeps its storage, when the bytes go, the version check, plans,
// thresholds, counting. A save is rewritten when the saves that can be rewritten are all that keeps its storage: until
// then nothing was encoded, so nothing has to be undone when somebody else turns out to keep it.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>
#include <torch/version.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "rewrites/catalog.h"

namespace tapelens::rewrite {

using rewrites::Level;

struct RewriteInfo {
  std::string_view id;  // "wide-save": that of the check that finds what it fixes, where there is one
  Level level;
  std::string_view title;  // "masks as bits", at most 60 characters
};

// A saved field of a node that is whole and that nobody else knows yet.
struct Save {
  const torch::autograd::Node& node;
  std::string_view type, field;     // "ReluBackward0", "result"
  uint32_t index;                   // place in a field that is a list, else 0
  std::string_view operator_name;   // of the innermost operator around, "aten::relu"; empty outside of any
  std::string_view outer_operator;  // that the program called: "aten::dropout" around "aten::mul"
  std::string_view attributes;      // "training=False", as the table of needs spells them; empty where it asks for none
  uint64_t wanted;                  // bit i: the gradient along edge i is wanted
  const at::Tensor& tensor;         // strided, on the CPU, of no subclass; not to be kept
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

class Rewrite {
 public:
  virtual ~Rewrite() = default;
  virtual RewriteInfo info() const = 0;
  // By type and field alone: asked once for each pair, so that other saves cost nothing.
  virtual bool may_match(std::string_view type, std::string_view field) const = 0;
  // Whether this save is one of its kind. Cheap: asked for each save of that type and field.
  virtual bool matches(const Save& save) const = 0;
  // Called when only saves that matched hold the storage, right before it goes, with the tensor as it was saved. Null:
  // it is kept after all (a NaN where bits cannot tell). May run on another node than it was asked about before.
  virtual std::unique_ptr<Encoding> encode(const Save& save) const = 0;
};

// ---- how rewrites are registered -----------------------------------------------------------------------------------

// Raised with every change of this file that a compiled rewrite would notice.
inline constexpr uint32_t kRewriteInterface = 1;

struct RewritePlugin {
  uint32_t interface = kRewriteInterface;
  uint32_t count = 0;
  const char* torch_version = TORCH_VERSION;         // that it was compiled for: another minor is refused
  const Rewrite* (*make)(uint32_t index) = nullptr;  // never destroyed
};

template <class... Rewrites>
const RewritePlugin* rewrite_plugin_of() {
  static constexpr RewritePlugin plugin{kRewriteInterface, sizeof...(Rewrites), TORCH_VERSION,
                                        [](uint32_t index) -> const Rewrite* {
                                          const Rewrite* made = nullptr;
                                          uint32_t at = 0;
                                          ((at++ == index ? (made = new Rewrites) : nullptr), ...);
                                          return made;
                                        }};
  return &plugin;
}

}  // namespace tapelens::rewrite

// The one line that registers the rewrites of a folder or of a shared library: TAPELENS_REWRITES(MyRewrite)
#ifndef TAPELENS_REWRITE_SYMBOL
#define TAPELENS_REWRITE_SYMBOL tapelens_rewrite_plugin
#endif
#define TAPELENS_REWRITES(...)                                                              \
  extern "C" __attribute__((visibility("default"))) const tapelens::rewrite::RewritePlugin* \
  TAPELENS_REWRITE_SYMBOL() {                                                               \
    return tapelens::rewrite::rewrite_plugin_of<__VA_ARGS__>();                             \
  }
