// Two runs, checksum by checksum.
//
// Nothing is paired by when it came. Of a process the checksums of one parameter are a stream; threads and tasks may
// interleave streams, and names that several models have ("weight", "weight#2") go by who came first, so streams of one
// name may be in another's place. Processes are paired by their rank; without one, each of them may be any other.
#pragma once

#include <optional>

#include "analyzer/verify/run.h"

namespace tapelens::verify {

// The first that differs, in the order of the steps; none: the runs are the same as far as both were recorded.
std::optional<Difference> compare(const Run& bare, const Run& other);

// Takes the gradients out of both that only one of them has in a step, and counts them: of a patch, which may leave out
// what nobody needs. Of processes that cannot be paired, by rank or as the only one, all stay.
struct OnlyInOne {
  uint64_t bare = 0, other = 0;
};
OnlyInOne take_out_gradients_of_one(Run& bare, Run& other);

// What there is to compare in the bare run.
Compared comparable(const Run& bare);

}  // namespace tapelens::verify
