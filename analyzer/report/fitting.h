// Text and commands that make a recording fit; equal in every format.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/report.h"

namespace tapelens::report {

// Whether the recording fits: the request that finds no memory, and the introduction of Fits::ways. One or two
// sentences.
std::vector<std::string> fits_texts(const advise::Fits& fits);

// "PYTORCH_CUDA_ALLOC_CONF=...", quoted for a shell.
std::string allocator_environment(const std::string& settings);

// "PYTORCH_CUDA_ALLOC_CONF=... and --apply lossless", "findings 1, 4 and 5 fixed",
// "finding 3 fixed (a copy is kept)".
std::string way_text(const Report& report, const advise::Way& way);

// One command a line. Findings without a patch have no command; their own text says what to do.
std::vector<std::string> way_commands(const Report& report, const advise::Way& way);

// For a run that was out of memory, whose later requests are unknown. The commands record the whole run on a simulated
// GPU with more memory, and make that run fit. Empty if the command is unknown, or no request failed.
std::vector<std::string> whole_run_commands(const Report& report, const advise::Fits& fits);

// The unknown part of a run that was out of memory. Empty: no request failed.
std::string unknown_rest_text(const advise::Fits& fits);

// The command that chooses rewrites by runs, and runs the program in this memory. Empty if the recording fits, if the
// command is unknown, or if the memory is too small for the parameters, gradients and optimizer state at the peak.
std::string run_fit_command(const Report& report, const advise::Fits& fits);

}  // namespace tapelens::report
