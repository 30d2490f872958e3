// Finds the checkpoints of a program: the calls that one backward recomputes together, and the modules that
// checkpoint_sequential does not checkpoint.
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check::segments {

// A part of the forward that a backward recomputes: successive calls of modules.
struct Recomputed {
  EvaluationId evaluation;            // the evaluation that unpacks its first tensor
  OperatorId forward;                 // the operator whose backward needs the tensors; none: not known
  Time end;                           // end of the last call
  std::vector<ModuleCallId> calls;    // siblings: the outermost level that has several calls
  std::vector<AllocationId> tensors;  // recomputed tensors, in the order of time
};
std::vector<Recomputed> recomputed_segments(const Context& context);

// The calls of the last segment of a torch.utils.checkpoint.checkpoint_sequential, which does not checkpoint them.
struct LastSegment {
  StackId stack;                    // stack of the first operator
  std::vector<ModuleCallId> calls;  // in the order of time
  uint32_t modules = 0;             // number of modules in all segments
};
std::vector<LastSegment> last_segments(const Context& context);

// The program's frame that calls the checkpoint. None if the stack is not inside a checkpoint.
FrameId frame_around_checkpoint(const Text& text, StackId stack);

}  // namespace tapelens::check::segments
