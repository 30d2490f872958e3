// Seals a recording on the command line: with its summary, and with all ranks or only some.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "trace/output.h"
#include "trace/seal.h"

namespace tapelens::cli {

// CLOCK_MONOTONIC in nanoseconds: the start of a recording, and SealOptions::duration_ns since then.
uint64_t monotonic_now();

using RankList = std::set<int32_t>;
// Reads "0,7,16-31"; empty if it is not a valid list.
std::optional<RankList> parse_ranks(std::string_view text);

// Sets SealOptions::summarize. `ranks`: the ranks whose events are kept; the summary covers the others. None: all
// ranks. If the summary fails, all events are kept.
trace::Result<trace::SealSummary> seal_with_summary(trace::SealOptions options, const std::optional<RankList>& ranks);

// Seals into an output and finishes it. Writes nothing if no process ran an operator. `has_summary`: add the summary.
trace::Result<trace::SealSummary> seal_into(trace::OutputOptions output, trace::SealOptions options,
                                            const std::optional<RankList>& ranks, bool has_summary = true);

// The rank that a launcher assigned to this process (torchrun, Slurm, Open MPI and MPICH), or an empty text.
std::string rank_of_this_process();
// Expands "DIR/%h-%r.tapelens" with the name of this host, the rank and the pid of this process. "%%" is a percent
// sign; any other one stays. The error is of kind usage if the pattern uses the rank and `rank` is empty.
trace::Result<std::string> expand_output(const std::string& pattern, const std::string& rank);
// Whether the pattern uses the rank.
bool has_rank(std::string_view pattern);
// Whether the path contains any of these patterns.
bool has_pattern(std::string_view output);

// Computes the summary of a sealed file (analyzer/ranks/summary.h) in a separate process. If that fails, the recording
// is still sealed, without a summary. For SealOptions::summarize. Empty if the summary failed.
std::string summarize_apart(const std::string& file);

}  // namespace tapelens::cli
