// The bytes kept only for the backward: measured in the recorded run, or predicted with changes. One formula computes
// both, so the prediction of `tapelens advise --apply` and the measurement of `tapelens verify` are comparable.
#pragma once

#include <span>

#include "analyzer/peak/replay.h"

namespace tapelens::peak {

// A prediction: the changes of a replay, and its outcome.
struct Replayed {
  const Replay::Outcome& outcome;
  std::span<const WhatIf* const> changes;
};

// The most bytes on the timeline's device at the begin of a backward, from `since` on. In a process without a backward:
// at any moment. It counts each allocation once that a save holds and the program has released. It also counts the
// memory that rewrites keep in place of others, in the run (Rewrites::kept) or as predicted (WhatIf::Extra::is_saved).
// Parameters, buffers, gradients and optimizer state do not count, because they stay without the save. `predicted`:
// with these changes; null: as recorded.
Bytes saved_for_backward(const Lifetimes& lifetimes, const Timeline& timeline, Time since,
                         const Replayed* predicted = nullptr);

}  // namespace tapelens::peak
