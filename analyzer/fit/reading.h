// What a recording of a run says of whether it fitted.
#pragma once

#include <string>

#include "trace/result.h"
#include "trace/types.h"

namespace tapelens::fit {

using trace::Bytes;

struct Reading {
  uint64_t steps = 0;         // of the optimizer that ended, the most of a process
  bool uses_gpu = false;      // a process asked an allocator of a device that tells of its blocks
  uint64_t fewest_steps = 0;  // of a process that does
  Bytes allocated, reserved;  // the largest of a device of a process, each
  bool grew = false;          // of the process and device with the most allocated: the last step's peak is the largest
  std::string full;           // the first request that found a device full: a phrase; empty: none did
  std::string left_out;       // tables that could not be read: a sentence; empty: none
  std::string value_reads;    // report::value_reads_text()
};

trace::Result<Reading> read_recording(const std::string& path);

}  // namespace tapelens::fit
