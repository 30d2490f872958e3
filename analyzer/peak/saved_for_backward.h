// How much is kept for the backward alone: measured, of the run as it was, and predicted, with changes. One formula, so
// that what `tapelens advise --apply` predicts and what `tapelens verify` measures are the same quantity.
#pragma once

#include <span>

#include "analyzer/peak/replay.h"

namespace tapelens::peak {

// A prediction: what the replay changes, and its outcome.
struct Replayed {
  const Replay::Outcome& outcome;
  std::span<const WhatIf* const> changes;
};

// The most bytes on the timeline's device when a backward begins (of a process without one: at any moment), from
// `since` on, of the allocations that some save holds and the program has released, each counted once; and of what
// rewrites keep in place of others: those of the run (Rewrites::kept), and those that are predicted
// (WhatIf::Extra::is_saved). Parameters, buffers, gradients and optimizer state are not among them: they stay without
// the save. `predicted`: with these changes; null: as it was.
Bytes saved_for_backward(const Lifetimes& lifetimes, const Timeline& timeline, Time since,
                         const Replayed* predicted = nullptr);

}  // namespace tapelens::peak
