// One run of the verified program, as read from its recording.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/peak/rewritten.h"
#include "analyzer/verify/verdict.h"
#include "trace/record.h"
#include "trace/result.h"

namespace tapelens::verify {

struct RecordedChecksum {
  uint64_t step = 0;
  trace::ChecksumOf of{};  // loss, gradient, parameter or returned gradient
  std::string name;        // name of the parameter or of the input of torch.autograd.grad; empty for a loss
  uint64_t value = 0;      // for a loss: the bits of a double
};

struct ProgramRun {
  Figures figures;
  bool was_recorded = false;   // at least one process was recorded
  bool incomplete = false;     // data was lost
  bool was_simulated = false;  // on a simulated GPU
  bool is_cut = false;         // only some of its steps were recorded
  // Why a process was not recorded or rewritten although this was requested; empty: no reason is known.
  std::string why_not_recorded, why_not_rewritten;
  struct Process {
    int32_t rank = -1;                                         // in the default process group, or RANK
    std::vector<RecordedChecksum> checksums;                   // in the order of time
    bool has_threads = false;                                  // checksums come from several threads
    uint64_t gradients_left_out = 0, parameters_left_out = 0;  // not ordinary CPU tensors
  };
  std::vector<Process> processes;             // those with checksums, by rank
  peak::Rewritten rewritten;                  // from the process of run::PeakDevice
  std::vector<policy::Site> applied;          // sites of all processes, named as in a plan
  std::vector<peak::RewrittenTotal> skipped;  // from all processes
  std::vector<std::string> files;             // in its stacks, each once; relative ones as the program named them
  // The file with the first step's gradients of its only Python process (compare.h). Empty if there are several such
  // processes or none, or if the file was not requested.
  std::string values;
  std::string output;  // file with its standard output (compare.h); empty: not kept
};

// Reads everything but the exit code, `is_cut`, the reasons, `values` and `output`, which the recording does not have.
trace::Result<ProgramRun> read_run(const std::string& path);

}  // namespace tapelens::verify
