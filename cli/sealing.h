// How a recording is sealed on the command line: with its summary, and whole or of some ranks alone.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "trace/output.h"
#include "trace/seal.h"

namespace tapelens::cli {

using RankList = std::set<int32_t>;
// "0,7,16-31". Nothing if it is no such list.
std::optional<RankList> parse_ranks(std::string_view text);

// Fills in SealOptions::summarize. `ranks`: those whose events are kept; of the rest the summary has what it says.
// None: all are kept. Where the summary cannot be made, so are all.
trace::Result<trace::SealSummary> seal_with_summary(trace::SealOptions options, const std::optional<RankList>& ranks);

// The same into an output, which is finished then. Where no process ran an operator nothing is written. `has_summary`:
// the file carries one.
trace::Result<trace::SealSummary> seal_into(trace::OutputOptions output, trace::SealOptions options,
                                            const std::optional<RankList>& ranks, bool has_summary = true);

// "DIR/%h-%r.tapelens" with the name of this host, the rank of this process and its pid; "%%" is a percent sign, and
// any other one stays. An error of kind usage if it asks for a rank and the environment has none (torchrun, Slurm,
// Open MPI and MPICH set one).
trace::Result<std::string> expand_output(const std::string& pattern);
// Whether it has any of these.
bool has_pattern(std::string_view output);

}  // namespace tapelens::cli
