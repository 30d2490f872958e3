// One call of an operator on the simulated GPU, from its begin to its end.
#pragma once

#include <ATen/core/stack.h>

#include <memory>
#include <vector>

#include "profiler/simulated/aliases.h"
#include "profiler/simulated/operators.h"

namespace tapelens::simulated {

class Call {
 public:
  // At the begin, before its kernels write anything. What it is going to write is unknown from now on, unless it is
  // carried out.
  Call(const OperatorTraits& facts, std::span<const c10::IValue> arguments);

  // Has it anything to do with the GPU? If not, its end need not be told.
  bool is_on_device() const { return is_on_device_; }
  bool is_carried() const { return is_carried_; }
  // Of a call that is carried out: whether all that it reads is known.
  bool is_known() const { return is_known_; }

  // At the end, of a call that was not left by an exception: gives its results the values that the operator of the CPU
  // has for them, or makes them unknown.
  void end(std::span<const c10::IValue> outputs) noexcept;

  // The results of the operator on the CPU. What it writes in place is in memory of the call. Throws what the operator
  // throws.
  torch::jit::Stack run();
  // Gives a tensor of the GPU what `computed`, of the same sizes, holds.
  void give(const at::Tensor& tensor, const at::Tensor& computed) const;

 private:
  void take(std::span<const c10::IValue> arguments);
  void make_unknown(std::span<const c10::IValue> arguments) const;
  at::Tensor on_host(const at::Tensor& tensor, size_t number, bool is_written);
  void carry_out(std::span<const c10::IValue> outputs);
  void give_all(const c10::IValue& tensors, const c10::IValue& computed) const;

  OperatorTraits facts_;
  bool is_on_device_ = false, is_carried_ = false, is_known_ = true;
  std::vector<c10::IValue> arguments_;  // of a call that is carried out
  std::vector<Extent> extents_;         // of its tensors, as it began
  std::vector<Extent> regions_;
  std::vector<std::unique_ptr<char[]>> before_;  // what the regions held as it began; null for those that it only reads
};

}  // namespace tapelens::simulated
