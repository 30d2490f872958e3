// Buffers that contain one tensor several times, or all slices of one tensor in order.
#pragma once

#include <vector>

#include "analyzer/check/content.h"

namespace tapelens::check {

class Repeats {
 public:
  Repeats(const Context& context, const Contents& contents, Bytes least, uint32_t most_parts)
      : context_(context), contents_(contents), least_(least), most_parts_(most_parts) {}

  struct Found {
    AllocationId buffer, source;
    OperatorId filler;  // the operator that made it, or filled it last
    uint32_t times = 0;
  };
  // Concatenations, and buffers that a loop fills part by part (scatter_, copy_, index_copy_), in order of time.
  std::vector<Found> all() const;

 private:
  bool add_joined(AllocationId buffer, std::vector<Found>& found) const;
  bool add_filled(AllocationId buffer, const NameSet& filling, std::vector<Found>& found) const;
  // The source of a filling operator's output; none if the output is not a copy.
  View written(OperatorId op) const;
  // Whether the parts are one view repeated, or all slices of a tensor in memory order.
  bool is_one_tensor(std::span<const View> parts) const;

  const Context& context_;
  const Contents& contents_;
  Bytes least_;
  uint32_t most_parts_;
};

}  // namespace tapelens::check
