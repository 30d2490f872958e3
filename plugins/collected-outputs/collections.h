// Collections of outputs: tensors that one line makes again and again, that the program keeps, and that it reads again
// only when all of them exist.
#pragma once

#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check::collected {

struct CollectedOutput {
  AllocationId allocation;
  Time idle;  // end of its use in its own iteration
  Time read;  // begin of its first later use
};

struct Collection {
  std::vector<CollectedOutput> outputs;  // in the order of time
  std::vector<AllocationId> derived;     // tensors of similar size that the later operators make of the outputs
  Time freed;                            // the last free of an output
  OperatorId reader;                     // the last of the later operators
  Bytes kept;                            // the sum of the small results
  bool is_separable = false;             // each later operator can read one output at a time
};

// The collections whose outputs take at least `least` at the peak. A result is small if it is `ratio` times smaller
// than the outputs that its operator reads.
std::vector<Collection> find_collections(const Context& context, Bytes least, int64_t ratio);

}  // namespace tapelens::check::collected
