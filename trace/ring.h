// Removes the older steps of a spool while its process writes it, so that the spool's disk size covers only its last
// steps and live memory (`tapelens record --last`). The process that supervises the recording calls this; the recorded
// process never does.
//
// A file beside the spool, "1.older", keeps the records of older steps that a reader needs. These are the events that
// made, saved and named memory and nodes that are alive at the end of the older steps, as the process wrote them. It
// also keeps every name, because later events may use it. The file is written under another name and renamed. Then the
// space of the blocks that it replaces is released to the file system (FALLOC_FL_PUNCH_HOLE), and the spool's header
// tells the writer how much. If the caller is killed at any point, the spool can still be sealed, with the same
// content. Nothing is released while another process reads the spool. Like the spool, the file is not synced: it
// survives every process, but not a crash of the machine.
//
// A kept event keeps its context: the enclosing operators, module calls and evaluations, with their node. The input
// views of an older operator are not kept. Storage versions of older steps are then not known, and readers must not
// draw conclusions from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trace/result.h"

namespace tapelens::trace {

struct RingState {
  uint64_t steps = 0;               // that have ended, including the older ones
  uint64_t steps_left_out = 0;      // of `steps`
  uint64_t blocks = 0;              // blocks of the spool that have content
  uint64_t older_bytes = 0;         // size of the file beside it
  std::optional<uint64_t> reached;  // number of ended steps when `KeepSteps::when` was first exceeded
  uint64_t failed_at = 0;           // ticks of the last request that failed for lack of memory; 0: the spool has none
};

// The steps to keep.
struct KeepSteps {
  uint64_t last = 0;  // number of ended steps to keep
  // Bytes. Once a device has more live bytes than this, keep the last steps before that point and everything after. 0:
  // never.
  uint64_t when = 0;
  // Ticks. Once a request has failed for lack of memory after this time, keep the last steps before the first such
  // request and everything after.
  uint64_t failed_after = UINT64_MAX;
};

// Removes the other ended steps from the spool. An unreadable spool, or a file system that cannot release space, is an
// error; the spool then keeps its content. Repeated calls are allowed, but not concurrent ones.
Result<RingState> leave_out_older_steps(const std::string& spool, KeepSteps keep);

// Tells the process to end its recording after this many steps, or at its next step if they are over.
Status stop_after_steps(const std::string& spool, uint64_t steps);

}  // namespace tapelens::trace
