// The measurements of a run from its recording: whether it fitted.
#pragma once

#include <string>

#include "trace/result.h"
#include "trace/types.h"

namespace tapelens::fit {

using trace::Bytes;

struct Reading {
  uint64_t steps = 0;         // completed optimizer steps, of the process with the most
  bool uses_gpu = false;      // a process used an allocator that reports blocks
  uint64_t fewest_steps = 0;  // smallest count among processes with such an allocator
  Bytes allocated, reserved;  // largest of any device in any process, each
  bool grew = false;          // the last step has the largest peak, on the device and process that allocated most
  std::string full;           // the first request that found a device full, as a phrase; empty: none
  std::string left_out;       // unreadable tables, as a sentence; empty: none
  std::string value_reads;    // report::value_reads_text()
};

trace::Result<Reading> read_recording(const std::string& path);

}  // namespace tapelens::fit
