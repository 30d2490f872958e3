// Finds the memory of each module call that a checkpoint around it would free.
#pragma once

#include <span>
#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

// A checkpoint frees the tensors that the call makes and that only nodes of the call save. It keeps the call's inputs
// and the tensors that other nodes save.
class Calls {
 public:
  explicit Calls(const Context& context);

  // The bytes of the call's allocations that are alive at the peak.
  Bytes at_peak(ModuleCallId call) const { return Bytes{at_peak_[call.value]}; }
  // The begin of the call's part of the backward, at which a checkpoint runs the forward again. kNever: no backward.
  Time backward(ModuleCallId call) const { return Time{backward_[call.value]}; }

  struct Saved {
    ModuleCallId call;
    AllocationId allocation;
    Time last;      // time of the last save
    Time released;  // by its last save
  };
  // The saves of the wanted calls, sorted by call. `wanted`: by ModuleCallId.
  std::vector<Saved> saved(const std::vector<bool>& wanted) const;

 private:
  // Calls fn(call) for each call whose checkpoint would free the allocation.
  template <class Fn>
  void each_call(AllocationId allocation, Fn fn) const;
  ModuleCallId common(ModuleCallId a, ModuleCallId b) const;

  const Context& context_;
  const Process& p_;
  std::vector<uint32_t> depth_;  // by call
  std::vector<int64_t> at_peak_, backward_;
};

// By ModuleCallId: whether the program checkpoints that module itself, as far as its stacks show:
// torch.utils.checkpoint calls the module.
std::vector<bool> checkpointed_calls(const Context& context);

// The change of a checkpoint around one call.
struct Checkpointed {
  peak::WhatIf change;
  Bytes bytes;  // size of the call's saved tensors
};
// `saved`: all saves of one call; not empty.
Checkpointed checkpointed(const Context& context, const Calls& calls, std::span<const Calls::Saved> saved);

}  // namespace tapelens::check
