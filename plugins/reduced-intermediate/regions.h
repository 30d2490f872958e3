// Finds regions of large intermediates. Operators made them from much smaller tensors, and reduced them to much smaller
// tensors.
#pragma once

#include <string_view>
#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check::reduced {

enum class Form : uint8_t {
  chunks,     // broadcasts, then reduces along a dimension
  transform,  // under torch.func: a row of a Jacobian, an example of a batch
  scatter,    // a table of zeros with few written entries
  distance,   // differences of all pairs, squared and summed
  gather,     // a log-softmax with few entries that the program reads
  embedding,  // a one-hot tensor, multiplied by a table
  picked,     // a one-hot tensor, multiplied elementwise to select one entry of each row
};

struct Region {
  Form form{};
  bool is_in_graph = false;
  std::vector<AllocationId> members;      // connected intermediates, in the order of time
  std::vector<AllocationId> results;      // reduced tensors, which outlive the operators that made them
  std::vector<AllocationId> temporaries;  // temporaries of the operators that read members
  AllocationId largest;                   // the largest member
  Bytes made_of;                          // inputs of the subtraction, for Form::distance
  Bytes kept;                             // size of the largest result
};

// Finds regions whose members are `ratio` times larger than their inputs, and whose largest member is `ratio` times
// larger than each result. Ignores intermediates smaller than `least`. A region with saved members must compute
// distances of pairs.
std::vector<Region> find_regions(const Context& context, Bytes least, int64_t ratio);

// A log-softmax without a graph. A gather, an index or a loss reads one entry of each row.
struct Gathered {
  AllocationId result;
  OperatorId op;
  uint64_t rows = 0;  // size of the first dimension; 0: not known
  std::vector<AllocationId> temporaries;
};
std::vector<Gathered> find_gathered(const Context& context, Bytes least);

// A tensor of aten::one_hot, or a cast of one, whose readers need the indices alone.
struct OneHot {
  Form form{};
  AllocationId allocation;
};
// In the order of time. Tensors of less than `least` are ignored.
std::vector<OneHot> find_one_hot(const Context& context, Bytes least);

// The outermost function transform of torch.func in a stack.
struct Transform {
  FrameId caller;         // the program's frame that calls it; none: no transform, or a library calls it
  std::string_view name;  // "jacrev"
};
Transform transform_of(const Text& text, StackId stack);

}  // namespace tapelens::check::reduced
