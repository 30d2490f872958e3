// Compares two runs by their checksums.
//
// The order of arrival never pairs checksums. Within a process, the checksums of one parameter are a stream. Threads
// and tasks may interleave streams. Models may share a name ("weight", "weight#2"), and its number follows the order of
// creation, so streams of one name may be swapped. Processes pair by rank; without ranks, any two may pair.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/verify/run.h"
#include "analyzer/verify/verdict.h"

namespace tapelens::verify {

// The first difference, in the order of the steps; none if the runs are equal as far as both were recorded.
std::optional<Difference> compare(const ProgramRun& bare, const ProgramRun& other);

// Removes gradients that only one run has in a step, and counts them. A patch needs this: it may omit unneeded
// gradients. If processes cannot be paired (by rank or as the only one), all their gradients stay.
struct OnlyInOne {
  uint64_t bare = 0, other = 0;
};
OnlyInOne take_out_gradients_of_one(ProgramRun& bare, ProgramRun& other);

// The comparable checksums of the bare run.
Compared comparable(const ProgramRun& bare);

// ---- the standard output of two runs, line by line: used for programs that compute no gradients

// Takes paths of files with the output; a missing file counts as empty.
uint64_t count_lines(const std::string& path);
// The first line that differs; none if the files are equal byte for byte.
std::optional<Difference> compare_output(const std::string& bare, const std::string& other);

// ---- gradients. Some rewrites add the same numbers in another order. This compares their effect with the rounding of
// the program itself

// Compares the first step's gradients of two runs of the same program (Run::values); those of the bare run also have
// float64 values. Rounding::unknown has the reason if a file is unreadable or the gradients do not match.
Rounding compare_values(const std::string& bare, const std::string& rewritten);

}  // namespace tapelens::verify
