// Regions of large intermediates: allocations that operators made from far less, and that operators reduced to far
// less.
#pragma once

#include <string_view>
#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check::reduced {

enum class Form : uint8_t {
  chunks,     // broadcast, then reduced along a dimension
  transform,  // under torch.func: a row of a Jacobian, an example of a batch
  scatter,    // a table of zeros, of which the program writes few entries
  distance,   // differences of all pairs, squared and summed
  gather,     // a log-softmax, of which the program reads few entries
};

struct Region {
  Form form{};
  bool is_in_graph = false;
  std::vector<AllocationId> members;      // in the order of time; they are made from each other
  std::vector<AllocationId> results;      // what the program keeps instead; outlive the operators that made them
  std::vector<AllocationId> temporaries;  // of the operators that read members, while they run
  AllocationId largest;                   // of the members
  Bytes made_of;                          // what a broadcasting operator made the first of, for Form::distance
  Bytes kept;                             // the most that one reader made of it
};

// Those whose members outweigh what they are made of, and what is kept of them, `ratio` times. Intermediates of less
// than `least` are ignored, and those that autograd saved.
std::vector<Region> find_regions(const Context& context, Bytes least, int64_t ratio);

// A log-softmax without a graph, of which gather, an index or a loss read an entry of each row.
struct Gathered {
  AllocationId result;
  OperatorId op;
  uint64_t rows = 0;  // its first extent; 0: not known
  std::vector<AllocationId> temporaries;
};
std::vector<Gathered> find_gathered(const Context& context, Bytes least);

// The outermost function transform of torch.func that a stack is under.
struct Transform {
  FrameId caller;         // the program's frame that calls it; none: it is under none, or a library's
  std::string_view name;  // "jacrev"
};
Transform transform_of(const Text& text, StackId stack);

}  // namespace tapelens::check::reduced
