// One run of the program that is verified, as its recording tells it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/peak/rewritten.h"
#include "analyzer/verify/verdict.h"
#include "trace/record.h"
#include "trace/result.h"

namespace tapelens::verify {

struct Checksum {
  uint64_t step = 0;
  trace::ChecksumOf of{};  // loss, gradient, parameter or returned gradient
  std::string name;        // of the parameter, or of the input of torch.autograd.grad; empty: a loss
  uint64_t value = 0;      // of a loss the bits of a double
};

struct Run {
  Figures figures;
  bool was_recorded = false;   // some process of it
  bool incomplete = false;     // data was lost
  bool was_simulated = false;  // on a GPU that was not there
  bool is_cut = false;         // only some of its steps were recorded
  // Why a process was not recorded, or not rewritten, although it was asked for; empty: none says so.
  std::string why_not_recorded, why_not_rewritten;
  struct Process {
    int32_t rank = -1;                                         // in the default process group, or RANK
    std::vector<Checksum> checksums;                           // in the order of time
    bool has_threads = false;                                  // they come from several
    uint64_t gradients_left_out = 0, parameters_left_out = 0;  // no ordinary tensors on the CPU
  };
  std::vector<Process> processes;             // those with checksums, in the order of their ranks
  peak::Rewritten rewritten;                  // of the process with the largest peak
  std::vector<rewrites::Site> applied;        // the sites of all processes, as a plan names them
  std::vector<peak::RewrittenTotal> skipped;  // of all processes
  std::vector<std::string> files;  // that its stacks name, each once; relative ones as the program named them
  // The file in which its one process of Python left the gradients of the first step (rounding.h); empty: there is
  // none, or there are several, or they were not asked for.
  std::string values;
  std::string output;  // the file with its standard output (output.h); empty: not kept
};

// All of it but the exit code, `is_cut`, the reasons, `values` and `output`: the recording does not have those.
trace::Result<Run> read_run(const std::string& path);

}  // namespace tapelens::verify
