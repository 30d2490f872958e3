// The origin of an allocation's values, and the operators that read them: the tables of the model, indexed by
// allocation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ranges>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/model/text.h"

namespace tapelens::model {

// The rows of the allocations that begin at or after `begin` and before `end`, or also at `end`, in the order of time.
inline auto allocations_between(const Process& process, Time begin, Time end, bool with_end) {
  const auto& times = process.allocations.time.raw;
  const auto first = std::lower_bound(times.begin() + 1, times.end(), static_cast<uint64_t>(begin.ns));
  const auto last = with_end ? std::upper_bound(first, times.end(), static_cast<uint64_t>(end.ns))
                             : std::lower_bound(first, times.end(), static_cast<uint64_t>(end.ns));
  return std::views::iota(static_cast<uint32_t>(first - times.begin()), static_cast<uint32_t>(last - times.begin())) |
         std::views::transform([](uint32_t row) { return AllocationId{row}; });
}
inline auto allocations_in(const Process& process, Interval when) {
  return allocations_between(process, when.begin, when.end, false);
}
inline auto allocations_in(const Process& process, EvaluationId evaluation) {
  return allocations_in(process, {process.evaluations.begin[evaluation], process.evaluations.end[evaluation]});
}
// All threads' allocations while an operator runs.
inline auto allocations_during(const Process& process, OperatorId op) {
  return allocations_between(process, process.operators.begin[op], process.operators.end[op], true);
}

// By allocation: whether it is a parameter.
std::vector<bool> parameters_of(const Process& process);

// An allocation with the values of one other: a clone, a cast, a contiguous or expanded copy, a concatenation of one
// tensor.
struct Copy {
  OperatorId op;           // the copying operator: aten::clone, aten::_to_copy, aten::cat, ...
  AllocationId source;     // none: not a copy
  LayoutId source_layout;  // the part of the source that was read, if recorded
  Bytes source_offset;     // begin of that part
};

class Provenance {
 public:
  Provenance(const Process& process, const Text& text);

  // The storages of an operator's inputs, in the order of its arguments. Lists are flattened; tensors without storage
  // are left out.
  std::span<const uint32_t> inputs(OperatorId op) const { return slice(process_.operators.inputs, input_begin_, op); }

  // The layout and the offset of each input, at the same index; empty unless the operator copies (see trace/record.h).
  std::span<const uint32_t> input_layouts(OperatorId op) const;  // LayoutId
  std::span<const uint64_t> input_offsets(OperatorId op) const;  // elements

  // The operators with an allocation among their inputs, in the order of time. If an operator passes the allocation on
  // to an inner one, only the outer one is listed. Operators of a backward are included.
  std::span<const OperatorId> uses(AllocationId allocation) const;
  std::span<const SaveId> saves(AllocationId allocation) const;  // in the order of time, without packed saves
  std::span<const NodeId> nodes(OperatorId op) const;            // made by the operator itself, not by inner ones

  // The operator that the program called: the outermost one around `op` that begins no earlier than the evaluation
  // that `op` is in. Custom functions and engine operators do not count as outer operators. maker() is the called
  // operator that made an allocation's values.
  OperatorId called(OperatorId op) const { return called_[op]; }
  OperatorId maker(AllocationId allocation) const { return called_[process_.allocations.op[allocation]]; }

  Copy copy_of(AllocationId allocation) const;

  // Whether an operator changes the content of an input: in-place operators, out= arguments, copy_.
  bool writes(OperatorId op, AllocationId allocation) const;
  // All operators that write to the allocation, in the order of time, inner ones included.
  std::span<const OperatorId> writers(AllocationId allocation) const;
  // The first writer that begins in [begin, end) or is still running at its begin; none if no operator writes.
  OperatorId first_writer(AllocationId allocation, Interval when) const;
  bool is_written(AllocationId allocation, Interval when) const { return bool{first_writer(allocation, when)}; }

  // "cat" of "aten::cat"; the whole name of an operator outside of ATen.
  std::string_view name(OperatorId op) const;

 private:
  template <class T>
  static std::span<const T> slice(const std::vector<T>& all, const std::vector<uint32_t>& begin, auto id) {
    return std::span(all).subspan(begin[id.value], begin[id.value + 1] - begin[id.value]);
  }

  const Process& process_;
  const Text& text_;
  std::vector<uint32_t> input_begin_;                           // by operator, into operators.inputs
  std::vector<uint32_t> use_begin_, save_begin_, write_begin_;  // by allocation
  std::vector<uint32_t> node_begin_;                            // by operator
  std::vector<OperatorId> uses_, writers_;
  std::vector<SaveId> saves_;
  std::vector<NodeId> nodes_;
  IdColumn<OperatorId, OperatorId> called_;
  std::vector<uint8_t> kind_;  // kind of an operator, by StringId of its name
};

}  // namespace tapelens::model
