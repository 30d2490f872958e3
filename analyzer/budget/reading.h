// The measurements of one run with an activation memory budget, from its recording.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/steps.h"
#include "trace/result.h"
#include "trace/types.h"

namespace tapelens::budget {

using trace::Bytes;

// The tensors that compiled graphs keep from forward to backward, from their nodes (CompiledFunctionBackward) of one
// step. Excludes parameters and buffers, which stay alive without the graphs.
struct Kept {
  uint64_t graphs = 0;  // number of nodes
  uint64_t saves = 0;
  Bytes bytes;  // of distinct storages

  friend bool operator==(const Kept&, const Kept&) = default;
};

// From the process with the highest peak on a device. A GPU takes precedence over the host: a device without blocks is
// used only if no device has blocks.
struct Reading {
  std::string device;  // "cuda:0"
  Bytes peak;          // requested bytes
  model::Phase phase{};
  uint32_t peak_step = 0;  // the first step with it
  Bytes later_peak;        // without the first step, which compiles; 0: no such step
  uint64_t steps = 0;      // completed ones
  // Median, shortest and longest step, without the first, which compiles. 0 without such steps, and on a simulated GPU,
  // whose kernels take no time.
  int64_t step_ns = 0, least_step_ns = 0, most_step_ns = 0;
  Kept kept;  // in the last completed step
  bool is_simulated = false;

  // From all processes:
  bool is_compiled = false;       // a compiled graph with a backward ran
  std::vector<double> in_effect;  // the budget of each partitioned graph, in the order of time
  bool is_set = false;            // the budget was set before torch.compile read it
  std::string why_not_set;        // why it could not be set: a Python error
  std::string full;               // the first request that found a device full, as a phrase; empty: none
  std::string left_out;           // unreadable tables, as a phrase; empty: none
};

trace::Result<Reading> read_recording(const std::string& path);

}  // namespace tapelens::budget
