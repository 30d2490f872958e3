// Where the content of an allocation came from and who read it: the model's tables, joined the other way round.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/model/text.h"

namespace tapelens::model {

// One made of another's content alone: a clone, a cast, a contiguous or expanded copy, a concatenation of one tensor.
struct Copy {
  OperatorId op;           // the copying operator: aten::clone, aten::_to_copy, aten::cat, ...
  AllocationId source;     // none: it is no copy
  LayoutId source_layout;  // what was read of the source, if it was recorded
  Bytes source_offset;     // where that begins
};

class Provenance {
 public:
  Provenance(const Process& process, const Text& text);

  // The storages that an operator was given, in the order of its arguments (lists flattened; none: a tensor without
  // storage is left out).
  std::span<const uint32_t> inputs(OperatorId op) const { return slice(process_.operators.inputs, input_begin_, op); }

  // What was seen of each of them, at the same place; only for operators that copy (see trace/record.h), else empty.
  std::span<const uint32_t> input_layouts(OperatorId op) const;  // LayoutId
  std::span<const uint64_t> input_offsets(OperatorId op) const;  // elements

  // The operators that were given an allocation, in the order of time. Where the operator around one was given it too,
  // only that one. Operators of a backward are among them.
  std::span<const OperatorId> uses(AllocationId allocation) const;
  std::span<const SaveId> saves(AllocationId allocation) const;  // in the order of time, packed ones left out
  std::span<const NodeId> nodes(OperatorId op) const;            // that an operator made, itself, not those inside it

  // The operator that the program called: the outermost around it that does not begin before the evaluation it is in,
  // custom functions and engine operators not counted as around. An allocation's is the one that made its content.
  OperatorId called(OperatorId op) const { return called_[op]; }
  OperatorId maker(AllocationId allocation) const { return called_[process_.allocations.op[allocation]]; }

  Copy copy_of(AllocationId allocation) const;

  // Whether an operator changes the content of an input: in-place operators, out= arguments, copy_.
  bool writes(OperatorId op, AllocationId allocation) const;
  // All that do, in the order of time, those inside others too.
  std::span<const OperatorId> writers(AllocationId allocation) const;
  // The first that begins in [begin, end), or that has begun before and not ended then; none: it is not written.
  OperatorId first_writer(AllocationId allocation, Interval when) const;
  bool is_written(AllocationId allocation, Interval when) const { return bool{first_writer(allocation, when)}; }

  // "cat" of "aten::cat"; the whole name for operators that are not ATen's.
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
  std::vector<uint8_t> kind_;  // by StringId: what an operator of that name does
};

}  // namespace tapelens::model
