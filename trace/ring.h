// Leaves the older steps of a spool out while its process goes on writing it, so that it takes no more of the disk than
// its last steps and what is alive need (`tapelens record --last`). Called by whoever watches over the process, never
// within it.
//
// What a reader needs of the older steps goes to a file beside the spool, "1.older": the events by which what is alive
// at their end was made, saved and named, as the process wrote them, and every name, for later events may use it. It is
// written beside its place and renamed; then the space of the blocks that it stands for goes back to the file system
// (FALLOC_FL_PUNCH_HOLE), which the writer is told of in the spool's header. Whoever is killed at any point of this
// leaves a spool that can be sealed, with the same content. Nothing is given back while somebody reads the spool. Like
// the spool it is not synced: it outlives every process, not the machine.
//
// What an event is a part of is kept with it: the operators, module calls and evaluations that it is in, with the node
// of these. What an operator of an older step was given is not kept: what was written since is not known any more, so
// that nothing is to be concluded from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trace/result.h"

namespace tapelens::trace {

struct RingState {
  uint64_t steps = 0;               // that have ended, the older ones too
  uint64_t steps_left_out = 0;      // of these
  uint64_t blocks = 0;              // of the spool, with something in them
  uint64_t older_bytes = 0;         // of the file beside it
  std::optional<uint64_t> reached;  // how many steps had ended when `KeepSteps::when` was first exceeded
};

// Which steps stay.
struct KeepSteps {
  uint64_t last = 0;  // that have ended
  // Bytes: once more than these are alive on a device, the last steps before that stay, and everything since. 0: never.
  uint64_t when = 0;
};

// Leaves the other steps that have ended out of the spool. One that cannot be read, or a file system that
// takes nothing back, is an error, and then the spool is as good as it was. Any number of calls, one at a time.
Result<RingState> leave_out_older_steps(const std::string& spool, KeepSteps keep);

// Has the process end its recording when so many steps have ended, or with the next.
Status stop_after_steps(const std::string& spool, uint64_t steps);

}  // namespace tapelens::trace
