// What a recording says of one run with an activation memory budget.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/steps.h"
#include "trace/result.h"
#include "trace/types.h"

namespace tapelens::budget {

using trace::Bytes;

// What the graphs of torch.compile keep from forward to backward, by their nodes (CompiledFunctionBackward) of one
// step. Parameters and buffers are not among it: they stay without the graphs.
struct Kept {
  uint64_t graphs = 0;  // nodes
  uint64_t saves = 0;
  Bytes bytes;  // of distinct storages

  friend bool operator==(const Kept&, const Kept&) = default;
};

// Of the process with the highest peak on a device, a GPU before the host: what has no blocks counts only where nothing
// has.
struct Reading {
  std::string device;  // "cuda:0"
  Bytes peak;          // requested bytes
  model::Phase phase{};
  uint32_t peak_step = 0;  // the first with it
  Bytes later_peak;        // of the steps behind the first, which compiles; 0: there are none
  uint64_t steps = 0;      // that ended
  // Of these without the first, which compiles: the median, the shortest and the longest. 0: there are none, or the GPU
  // is simulated and its kernels take no time.
  int64_t step_ns = 0, least_step_ns = 0, most_step_ns = 0;
  Kept kept;  // in the last step that ended
  bool is_simulated = false;

  // Of all processes.
  bool is_compiled = false;       // a graph of torch.compile with a backward ran
  std::vector<double> in_effect;  // the budget of each graph that was partitioned, in the order of time
  bool is_set = false;            // the budget was, before torch.compile could ask for it
  std::string why_not_set;        // why it could not be: an error of Python's
  std::string full;               // the first request that found a device full: a phrase; empty: none did
  std::string left_out;           // tables that could not be read: a phrase; empty: none
};

trace::Result<Reading> read_recording(const std::string& path);

}  // namespace tapelens::budget
