// What is kept for the backward, over time: now, and with changes.
#pragma once

#include <span>
#include <vector>

#include "analyzer/model/most_at_once.h"
#include "analyzer/model/steps.h"
#include "analyzer/peak/replay.h"

namespace tapelens::peak {

// The bytes of the allocations that some save holds and the program has released, each counted once. Parameters,
// buffers, gradients and optimizer state are not among them: they stay without the save.
class Saved {
 public:
  // Looked at from `since` on.
  Saved(const Lifetimes& lifetimes, const Timeline& timeline, Time since = Time{0});

  // The most of them when a backward begins.
  Bytes most() const;
  // With what is changed, and with what is kept for the backward instead (WhatIf::Extra::is_saved).
  Bytes most_without(const Replay::Outcome& outcome, std::span<const WhatIf* const> changes) const;

 private:
  // When saves alone hold an allocation; empty: never. `gone`, sorted: they hold nothing.
  Interval held(AllocationId allocation, std::span<const SaveId> gone) const;
  bool counts(AllocationId allocation) const;
  void add(std::vector<model::Span>& spans, Interval when, Bytes bytes) const;

  const Lifetimes& lifetimes_;
  const Timeline& timeline_;
  Time since_;
  model::BackwardBegins begins_;
  std::vector<uint8_t> has_role_;  // by allocation
};

}  // namespace tapelens::peak
