// Compares two runs by their checksums.
//
// The order of arrival never pairs checksums. Within a process, the checksums of one parameter are a stream. Threads
// and tasks may interleave streams. Models may share a name ("weight", "weight#2"), and its number follows the order of
// creation, so streams of one name may be swapped. Processes pair by rank; without ranks, any two may pair.
#pragma once

#include <optional>

#include "analyzer/verify/run.h"

namespace tapelens::verify {

// The first difference, in the order of the steps; none if the runs are equal as far as both were recorded.
std::optional<Difference> compare(const Run& bare, const Run& other);

// Removes gradients that only one run has in a step, and counts them. A patch needs this: it may omit unneeded
// gradients. If processes cannot be paired (by rank or as the only one), all their gradients stay.
struct OnlyInOne {
  uint64_t bare = 0, other = 0;
};
OnlyInOne take_out_gradients_of_one(Run& bare, Run& other);

// The comparable checksums of the bare run.
Compared comparable(const Run& bare);

}  // namespace tapelens::verify
