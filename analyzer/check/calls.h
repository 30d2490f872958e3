// What each call of a module saved that a checkpoint around it would not keep.
#pragma once

#include <span>
#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

// Tensors that were made within a call and are saved within it alone: its inputs, and what others save, would stay.
class Calls {
 public:
  explicit Calls(const Context& context);

  // Of the allocations of a call that are alive at the peak.
  Bytes at_peak(ModuleCallId call) const { return Bytes{at_peak_[call.value]}; }
  // When its part of the backward begins: then a checkpoint runs its forward again. kNever: it has none.
  Time backward(ModuleCallId call) const { return Time{backward_[call.value]}; }

  struct Saved {
    ModuleCallId call;
    AllocationId allocation;
    Time last;      // when it was last saved
    Time released;  // by its last save
  };
  // Of the wanted calls (by id), all of them sorted by call.
  std::vector<Saved> saved(const std::vector<bool>& wanted) const;

 private:
  // Calls fn(call) for each call that would keep the allocation no longer.
  template <class Fn>
  void each_call(AllocationId allocation, Fn fn) const;
  ModuleCallId common(ModuleCallId a, ModuleCallId b) const;

  const Context& context_;
  const Process& p_;
  std::vector<uint32_t> depth_;  // by call
  std::vector<int64_t> at_peak_, backward_;
};

// What a checkpoint around one call changes: `saved` are the call's.
struct Checkpointed {
  peak::WhatIf change;
  Bytes bytes;  // that it saved
};
Checkpointed checkpointed(const Context& context, const Calls& calls, std::span<const Calls::Saved> saved);

}  // namespace tapelens::check
