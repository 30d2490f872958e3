// The measurements of one run from its recording, for every search: memory, steps, compiled graphs, and the
// data that was lost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/model/steps.h"
#include "trace/result.h"
#include "trace/types.h"

namespace tapelens::experiment {

using trace::Bytes;

// The tensors that compiled graphs keep from forward to backward, from their nodes (CompiledFunctionBackward) of one
// step. Excludes parameters and buffers, which stay alive without the graphs.
struct Kept {
  uint64_t graphs = 0;  // number of nodes
  uint64_t saves = 0;
  Bytes bytes;  // of distinct storages

  friend bool operator==(const Kept&, const Kept&) = default;
};

// A file with code of the program or its libraries, as it was when the program was loaded.
struct CodeFile {
  std::string path;              // absolute
  uint64_t bytes = 0, hash = 0;  // trace::checksum_of the content
  bool is_own = false;           // the user's; false: PyTorch's, the language's, or an installed package's

  friend bool operator==(const CodeFile&, const CodeFile&) = default;
};

struct Measurement {
  // From the device of run::PeakDevice and its process:
  std::string device;  // "cuda:0"
  Bytes peak;          // requested bytes
  model::Phase phase{};
  uint32_t peak_step = 0;  // the first step with it
  Bytes state;             // parameters, buffers, gradients and the optimizer's state at the peak
  Bytes later_peak;        // without the first step, which may compile; 0: no such step
  uint64_t steps = 0;      // completed ones
  // Median, shortest and longest step, without the first. 0 without such steps, and on a simulated GPU, whose kernels
  // take no time.
  int64_t step_ns = 0, least_step_ns = 0, most_step_ns = 0;
  Kept kept;  // in the last completed step
  bool is_simulated = false;
  std::string torch_version;  // "2.15.0+cu130"

  // From all GPUs of all processes:
  bool uses_gpu = false;
  Bytes allocated, reserved;     // the largest of any GPU in any process, each, as its allocator counts them
  bool grew = false;             // the last step has the largest peak, on the GPU and process that allocated most
  uint64_t optimizer_steps = 0;  // completed ones, of the process with the most
  uint64_t fewest_optimizer_steps = 0;  // the same of the process with the fewest, among those that use a GPU

  // From all processes:
  bool is_compiled = false;       // a compiled graph with a backward ran
  std::vector<double> in_effect;  // the activation memory budget of each partitioned graph, in the order of time
  bool is_set = false;            // the budget was set before torch.compile read it, in each process with such a graph
  std::string why_not_set;        // why it could not be set: a Python error
  std::string full;               // the first request that found a device full, as a phrase; empty: none
  std::string left_out;           // unreadable tables, as a phrase; empty: none
  std::vector<CodeFile> sources;  // the files on the stacks; without files that changed while the program ran
  std::string value_reads;        // value reads that may affect the peak, as a sentence; empty: none known
};

trace::Result<Measurement> read_recording(const std::string& path);

}  // namespace tapelens::experiment
