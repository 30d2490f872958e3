// What makes a recording fit, in words and as commands to paste; the same in every format.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/report.h"

namespace tapelens::report {

// "PYTORCH_CUDA_ALLOC_CONF=...": as a shell takes it.
std::string allocator_environment(const std::string& settings);

// "PYTORCH_CUDA_ALLOC_CONF=... and --apply lossless", "findings 1, 4 and 5 fixed",
// "finding 3 fixed (a copy is kept)".
std::string way_text(const Report& report, const advise::Way& way);

// One a line; findings whose fixes are no patches have none: what to do is said with the finding.
std::vector<std::string> way_commands(const Report& report, const advise::Way& way);

// Of a run that was out of memory, where what it asks for later is not known: the whole run on a simulated GPU with
// more memory, and what makes that fit. Empty where the command is not known, or nothing failed.
std::vector<std::string> whole_run_commands(const Report& report, const advise::Fits& fits);

// What is not known of a run that was out of memory. Empty: it was not.
std::string unknown_rest_text(const advise::Fits& fits);

}  // namespace tapelens::report
