// One call of an operator on the simulated GPU, from begin to end, and the calls of a thread.
#pragma once

#include <ATen/core/stack.h>
#include <c10/util/Exception.h>

#include <array>
#include <memory>
#include <vector>

#include "profiler/fake_kernels/aliases.h"
#include "profiler/fake_kernels/operators.h"
#include "profiler/observe/thread.h"

namespace tapelens::fake_kernels {

class Call {
 public:
  // At the begin, before its kernels write. The memory that it will write is unknown from now on, unless the call is
  // executed on the CPU.
  Call(const OperatorTraits& facts, std::span<const c10::IValue> arguments);

  // Whether it uses the GPU. If not, end() need not be called.
  bool is_on_device() const { return is_on_device_; }
  bool is_carried() const { return is_carried_; }
  // For a call that is executed: whether all its inputs are known.
  bool is_known() const { return is_known_; }

  // At the end of a call without an exception: gives its results the values of the CPU operator, or makes them unknown.
  void end(std::span<const c10::IValue> outputs) noexcept;

  // The results of the CPU operator. It writes its in-place results to memory of the call. Throws the operator's
  // exceptions.
  torch::jit::Stack run();
  // Copies `computed`, which has the same sizes, to a tensor of the GPU.
  void give(const at::Tensor& tensor, const at::Tensor& computed) const;

 private:
  void take(std::span<const c10::IValue> arguments);
  void make_unknown(std::span<const c10::IValue> arguments) const;
  at::Tensor on_host(const at::Tensor& tensor, size_t number, bool is_written);
  void carry_out(std::span<const c10::IValue> outputs);
  void give_all(const c10::IValue& tensors, const c10::IValue& computed) const;

  OperatorTraits facts_;
  bool is_on_device_ = false, is_carried_ = false, is_known_ = true;
  std::vector<c10::IValue> arguments_;  // arguments of a call that is executed
  std::vector<Extent> extents_;         // extents of its tensors when it began
  std::vector<Extent> regions_;
  std::vector<std::unique_ptr<char[]>> before_;  // the regions' content when it began; null: only read
};

// While it lives, PyTorch's warnings do not reach the program, because our own calls cause them.
class Silence {
  class Nobody final : public c10::WarningHandler {
   public:
    void process(const c10::Warning&) override {}
  };
  Nobody nobody_;
  c10::WarningUtils::WarningHandlerGuard guard_{&nobody_};
};

// The state of each thread of a process with a simulated GPU.
struct ThreadState {
  std::array<OperatorTraits, observe::kOperatorNames> operators;  // as Thread::names
  struct Open {
    Call call;
    int exceptions;  // number of exceptions in flight when it began
  };
  std::vector<Open> calls;
  // A kernel reads counts that it computed from known tensors: not a read of unknown values.
  bool reads_known = false;
};

}  // namespace tapelens::fake_kernels
