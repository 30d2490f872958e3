#include "analyzer/model/provenance.h"

#include <algorithm>
#include <array>

#include "analyzer/model/attribution.h"
#include "trace/record.h"

namespace tapelens::model {

namespace {

// The kind of an operator, by its name.
enum Kind : uint8_t {
  kPlain = 0,
  kTransparent = 1,  // a call of the engine or a custom function: the program calls the operators inside it
  kCopies = 2,       // the output has the values of the only input, in other memory
  kConcatenates = 3  // the same, if only one non-empty tensor is given
};

constexpr std::array<std::string_view, 10> kCopying = {
    "aten::clone",     "aten::_to_copy",    "aten::repeat",     "aten::_reshape_copy", "aten::expand_copy",
    "aten::view_copy", "aten::_lazy_clone", "aten::contiguous", "aten::resolve_conj",  "aten::resolve_neg"};
constexpr std::array<std::string_view, 5> kConcatenating = {"aten::cat", "aten::stack", "aten::_cat", "aten::_stack",
                                                            "aten::concat"};

Kind kind_of(const Text& text, StringId id) {
  const std::string_view name = text.string(id);
  if (std::ranges::find(kCopying, name) != kCopying.end()) return kCopies;
  if (std::ranges::find(kConcatenating, name) != kConcatenating.end()) return kConcatenates;
  return is_transparent(text, id) ? kTransparent : kPlain;
}

bool is_written_at(uint32_t written, uint32_t input) { return (written >> std::min(input, 31U) & 1) != 0; }

// Groups rows by key: one pass counts, the next one fills. `each(emit)` calls emit(key, row) in the same order both
// times.
template <class Row, class Each>
void group_by(uint32_t keys, std::vector<uint32_t>& begin, std::vector<Row>& rows, Each each) {
  begin.assign(size_t{keys} + 2, 0);
  each([&](uint32_t key, Row) { ++begin[key + 1]; });
  for (size_t key = 1; key < begin.size(); ++key) begin[key] += begin[key - 1];
  rows.resize(begin.back());
  std::vector<uint32_t> next(begin.begin(), begin.end() - 1);
  each([&](uint32_t key, Row row) { rows[next[key]++] = row; });
}

}  // namespace

std::vector<bool> parameters_of(const Process& p) {
  std::vector<bool> is_parameter(size_t{p.allocations.rows()} + 1);
  for (uint32_t row = 1; row <= p.roles.rows(); ++row) {
    const RoleId role{row};
    if (p.roles.kind[role] == Role::parameter) is_parameter[p.roles.allocation[role].value] = true;
  }
  return is_parameter;
}

Provenance::Provenance(const Process& process, const Text& text) : process_(process), text_(text) {
  const Operators& o = process.operators;
  kind_.resize(text.string_begin.size());
  for (uint32_t id = 1; id + 1 < text.string_begin.size(); ++id) kind_[id] = kind_of(text, StringId{id});

  input_begin_.resize(size_t{o.rows()} + 2);
  input_begin_[1] = 1;
  for (uint32_t row = 1; row <= o.rows(); ++row) input_begin_[row + 1] = input_begin_[row] + o.input_count.raw[row];
  input_begin_[0] = 1;

  called_.raw.resize(size_t{o.rows()} + 1);
  for (uint32_t row = 1; row <= o.rows(); ++row) {
    const uint32_t parent = o.parent.raw[row];
    const bool is_called =
        parent == 0 || o.evaluation.raw[parent] != o.evaluation.raw[row] || kind_[o.name.raw[parent]] == kTransparent;
    called_.raw[row] = is_called ? row : called_.raw[parent];
  }

  const auto is_given = [&](uint32_t op, uint32_t allocation) {
    const auto all = inputs(OperatorId{op});
    return std::ranges::find(all, allocation) != all.end();
  };
  group_by<OperatorId>(process.allocations.rows(), use_begin_, uses_, [&](auto emit) {
    for (uint32_t row = 1; row <= o.rows(); ++row) {
      const uint32_t parent = o.parent.raw[row];
      const bool inner = parent != 0 && called_.raw[row] != row;
      for (uint32_t i = input_begin_[row]; i < input_begin_[row + 1]; ++i) {
        const uint32_t allocation = o.inputs[i];
        if (allocation == 0 || (inner && is_given(parent, allocation))) continue;
        const auto first = o.inputs.begin() + input_begin_[row];
        if (std::find(first, o.inputs.begin() + i, allocation) != o.inputs.begin() + i) continue;  // mul(x, x)
        emit(allocation, OperatorId{row});
      }
    }
  });
  group_by<OperatorId>(process.allocations.rows(), write_begin_, writers_, [&](auto emit) {
    for (uint32_t row = 1; row <= o.rows(); ++row) {
      if (o.written.raw[row] == 0) continue;
      const auto all = inputs(OperatorId{row});
      for (uint32_t i = 0; i < all.size(); ++i) {
        if (all[i] != 0 && is_written_at(o.written.raw[row], i)) emit(all[i], OperatorId{row});
      }
    }
  });
  group_by<SaveId>(process.allocations.rows(), save_begin_, saves_, [&](auto emit) {
    for (uint32_t row = 1; row <= process.saves.rows(); ++row) {
      const uint32_t allocation = process.saves.allocation.raw[row];
      if (allocation != 0 && (process.saves.flags.raw[row] & trace::kSaveIsPacked) == 0) emit(allocation, SaveId{row});
    }
  });
  group_by<NodeId>(o.rows(), node_begin_, nodes_, [&](auto emit) {
    for (uint32_t row = 1; row <= process.nodes.rows(); ++row) {
      if (const uint32_t op = process.nodes.op.raw[row]) emit(op, NodeId{row});
    }
  });
}

namespace {

std::pair<uint32_t, uint32_t> view_rows(const InputViews& views, OperatorId op) {
  const auto range = std::equal_range(views.op.raw.begin() + 1, views.op.raw.end(), op.value);
  return {static_cast<uint32_t>(range.first - views.op.raw.begin()), static_cast<uint32_t>(range.second - range.first)};
}

}  // namespace

std::span<const uint32_t> Provenance::input_layouts(OperatorId op) const {
  const auto [first, count] = view_rows(process_.input_views, op);
  return std::span(process_.input_views.layout.raw).subspan(first, count);
}

std::span<const uint64_t> Provenance::input_offsets(OperatorId op) const {
  const auto [first, count] = view_rows(process_.input_views, op);
  return std::span(process_.input_views.offset.raw).subspan(first, count);
}

std::span<const OperatorId> Provenance::uses(AllocationId allocation) const {
  return slice(uses_, use_begin_, allocation);
}
std::span<const SaveId> Provenance::saves(AllocationId allocation) const {
  return slice(saves_, save_begin_, allocation);
}
std::span<const NodeId> Provenance::nodes(OperatorId op) const { return slice(nodes_, node_begin_, op); }

Copy Provenance::copy_of(AllocationId allocation) const {
  const Operators& o = process_.operators;
  const OperatorId outermost = maker(allocation);
  // Takes the innermost operator that copies. Operators around it may do more: a reshape to a matmul.
  for (OperatorId op = process_.allocations.op[allocation]; op; op = o.parent[op]) {
    const uint8_t kind = kind_[o.name[op].value];
    if (kind == kCopies || kind == kConcatenates) {
      const auto given = inputs(op);
      if (given.empty() || (kind == kConcatenates && given.size() != 1)) return {};
      const AllocationId source{given[0]};
      if (!source || source == allocation) return {};
      const auto layouts = input_layouts(op);
      if (layouts.empty()) return {op, source, {}, {}};
      const LayoutId layout{layouts[0]};
      const auto offset = static_cast<int64_t>(input_offsets(op)[0]) * text_.layout_element_bytes[layout];
      return {op, source, layout, Bytes{offset}};
    }
    if (op == outermost) break;
  }
  return {};
}

bool Provenance::writes(OperatorId op, AllocationId allocation) const {
  const uint32_t written = process_.operators.written[op];
  if (written == 0) return false;
  const auto all = inputs(op);
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (all[i] == allocation.value && is_written_at(written, i)) return true;
  }
  return false;
}

std::span<const OperatorId> Provenance::writers(AllocationId allocation) const {
  return slice(writers_, write_begin_, allocation);
}

OperatorId Provenance::first_writer(AllocationId allocation, Interval when) const {
  const auto all = writers(allocation);
  const auto begin_of = [this](OperatorId op) { return process_.operators.begin[op]; };
  const auto first = std::ranges::lower_bound(all, when.begin, {}, begin_of);
  // An operator that is open at `when.begin` is the previous writer or is around it.
  for (OperatorId op = first != all.begin() ? *(first - 1) : OperatorId{}; op; op = process_.operators.parent[op]) {
    if (process_.operators.end[op] > when.begin && writes(op, allocation)) return op;
  }
  return first != all.end() && begin_of(*first) < when.end ? *first : OperatorId{};
}

std::string_view Provenance::name(OperatorId op) const {
  const std::string_view name = text_.string(process_.operators.name[op]);
  return name.starts_with("aten::") ? name.substr(6) : name;
}

}  // namespace tapelens::model
