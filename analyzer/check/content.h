// The origin and the holders of an allocation's content: common functions of the checks of copies and of saves.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "analyzer/check/check.h"

namespace tapelens::check {

// Names of operators, node types or fields, looked up once and then compared as ids.
class NameSet {
 public:
  NameSet(const Text& text, std::initializer_list<std::string_view> names);
  bool has(StringId id) const { return has_[id.value] != 0; }

 private:
  std::vector<uint8_t> has_;  // by StringId
};

// By allocation: whether it has a role, or a holder besides saves (packed, on ctx, kept by checkpointing).
std::vector<bool> held_besides_saves(const Process& process);

// One view of a storage.
struct View {
  AllocationId allocation;
  LayoutId layout;
  uint64_t offset = 0;  // into the storage, in elements

  friend bool operator==(const View&, const View&) = default;
};

// A copy of other content without arithmetic. A concatenation has one part for each input.
struct Copied {
  OperatorId op;            // the innermost operator that copies: aten::clone, aten::_to_copy, aten::cat, ...
  Time since;               // its end: from here on copy and source have the same content until one is written
  std::vector<View> parts;  // without inputs of 0 elements; empty: not a copy, or its source is unknown
};

class Contents {
 public:
  explicit Contents(const Context& context);

  // Only for the output of the copying operator, not for its scratch memory. A concatenation of more than `most_parts`
  // parts does not count as a copy.
  Copied copied(AllocationId allocation, uint32_t most_parts = 1) const;

  // Whether a copy has the very strides of its source, so that the source itself, or a view of it, could stand for it.
  bool has_source_layout(AllocationId copy, const Copied& copied) const;

  // The first source of a view. Follows copies that the view reads as a whole to their sources, while neither copy nor
  // source is written before `until`.
  View origin(View view, Time until) const;

  // A parameter, a buffer, a gradient or optimizer state: its lifetime and its writes do not depend on the copy.
  bool has_role(AllocationId allocation) const { return has_role_[allocation.value] != 0; }

  // Made by a backward itself. The backward of a custom function belongs to the program.
  bool is_of_backward(AllocationId allocation) const;
  bool is_of_backward(OperatorId op) const;

  // Whether the operator that the program called only copies.
  bool is_called_copy(OperatorId called) const { return copies_.has(context_.process.operators.name[called]); }

  // The begin of the first operator in [since, until) that writes the allocation; `since` if such an operator runs at
  // that time; `until` if no operator writes.
  Time first_write(AllocationId allocation, Time since, Time until) const;
  bool is_unchanged(AllocationId allocation, Time since, Time until) const {
    return first_write(allocation, since, until) == until;
  }

 private:
  const Context& context_;
  NameSet copying_, concatenating_, copies_, strided_;
  std::vector<uint8_t> has_role_;  // by allocation
};

// Every element of the view counted once, however often strides of 0 repeat it.
Bytes distinct_bytes(const Text& text, LayoutId layout);
// The bytes of an allocation that an operator reads; 0: not recorded.
Bytes read_by(const Context& context, OperatorId op, AllocationId allocation);
// Its elements lie in memory without a gap or an overlap; row-major: in the order of their indices.
bool is_dense(const Text& text, LayoutId layout);
bool is_row_major(const Text& text, LayoutId layout);
uint64_t elements(const Text& text, LayoutId layout);

// The saves of a node. They follow one another in their table, shortly after the node.
std::vector<SaveId> saves_of(const Context& context, NodeId node);

// By NodeId: the node's last evaluation, if it was evaluated.
std::vector<EvaluationId> last_evaluations(const Process& process);

// The time at which the program gets an operator's result: the end of the outermost module call around the operator
// that made it, or of the operator.
Time returned(const Context& context, AllocationId allocation);

// The last release of a save before the allocation was freed; none: kNever if it is saved to the end, birth if never.
inline Time last_release(const Context& context, AllocationId allocation) {
  return context.lifetimes.last_release(allocation);
}
// [released by the program, released by the saves); empty if the program holds it longer than they do.
Interval kept_by_saves(const Context& context, AllocationId allocation);

}  // namespace tapelens::check
