// The kinds of files that commands write, and how to distinguish each from a user's own file (trace/output.h).
#pragma once

#include <string>
#include <string_view>

#include "trace/output.h"

namespace tapelens::cli {

// The output of `command` in `format`: "report", "html".
trace::OutputKind result_kind(std::string_view command, std::string_view format);
trace::OutputKind baseline_kind();                        // check --write-baseline
trace::OutputKind plan_kind();                            // advise --write-plan
trace::OutputKind manual_kind(const std::string& title);  // man --all
// The log of a run that --keep keeps. The recording is beside it; otherwise the log says that the run left none.
trace::OutputKind log_kind(const std::string& log, const std::string& recording);
inline constexpr std::string_view kNoRecording = "\ntapelens: this run left no recording\n";

}  // namespace tapelens::cli
