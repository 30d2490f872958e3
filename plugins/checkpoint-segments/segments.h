// Checkpointing that a program has: what a backward computes again at once, and what a sequence of segments leaves out.
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check::segments {

// One forward that is computed again in a backward, over calls of modules that follow one another.
struct Recomputed {
  EvaluationId evaluation;            // that unpacks its first tensor
  OperatorId forward;                 // whose backward asked for it; none: not known
  Time end;                           // of its last call
  std::vector<ModuleCallId> calls;    // of the recomputation: siblings, the first level at which there are several
  std::vector<AllocationId> tensors;  // that it makes, in the order of time
};
std::vector<Recomputed> recomputed_segments(const Context& context);

// Calls of the last segment of one torch.utils.checkpoint.checkpoint_sequential, which it does not checkpoint.
struct LastSegment {
  StackId stack;                    // of the first operator
  std::vector<ModuleCallId> calls;  // in the order of time
  uint32_t modules = 0;             // that the sequence calls in all
};
std::vector<LastSegment> last_segments(const Context& context);

// The program's frame that calls a checkpoint, of what runs in it; none: it runs in none.
FrameId frame_around_checkpoint(const Text& text, StackId stack);

}  // namespace tapelens::check::segments
