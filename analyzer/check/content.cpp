#include "analyzer/check/content.h"

#include <algorithm>
#include <numeric>

#include "trace/record.h"

namespace tapelens::check {

NameSet::NameSet(const Text& text, std::initializer_list<std::string_view> names) : has_(text.string_begin.size()) {
  for (uint32_t id = 1; id + 1 < text.string_begin.size(); ++id) {
    has_[id] = std::ranges::find(names, text.string(StringId{id})) != names.end();
  }
}

std::vector<bool> held_besides_saves(const Process& p) {
  std::vector<bool> is_held(size_t{p.allocations.rows()} + 1);
  for (const uint32_t allocation : p.roles.allocation.raw) is_held[allocation] = true;
  for (const uint32_t allocation : p.held.allocation.raw) is_held[allocation] = true;
  return is_held;
}

Contents::Contents(const Context& context)
    : context_(context),
      copying_(context.text, {"aten::clone", "aten::_to_copy", "aten::repeat", "aten::_reshape_copy",
                              "aten::expand_copy", "aten::view_copy"}),
      concatenating_(context.text, {"aten::cat", "aten::_cat"}),
      copies_(context.text,
              {"aten::cat",        "aten::concat",     "aten::concatenate",  "aten::stack",     "aten::hstack",
               "aten::vstack",     "aten::dstack",     "aten::column_stack", "aten::row_stack", "aten::clone",
               "aten::contiguous", "aten::to",         "aten::_to_copy",     "aten::reshape",   "aten::flatten",
               "aten::repeat",     "aten::tile",       "aten::type_as",      "aten::float",     "aten::_cast_Float",
               "aten::unflatten",  "aten::expand_copy"}),
      strided_(context.text, {"aten::empty_strided"}),
      has_role_(size_t{context.process.allocations.rows()} + 1) {
  for (const uint32_t allocation : context.process.roles.allocation.raw) has_role_[allocation] = 1;
  for (const uint32_t allocation : context.process.nodes.parameter.raw) has_role_[allocation] = 1;
  for (const uint32_t allocation : context.process.held.allocation.raw) has_role_[allocation] = 1;
  has_role_[0] = 0;
}

Copied Contents::copied(AllocationId allocation, uint32_t most_parts) const {
  const Operators& o = context_.process.operators;
  const OperatorId outermost = context_.provenance.maker(allocation);
  for (OperatorId op = context_.process.allocations.op[allocation]; op; op = o.parent[op]) {
    const bool concatenates = concatenating_.has(o.name[op]);
    if (!concatenates && !copying_.has(o.name[op])) {
      if (op == outermost) break;
      continue;
    }
    Copied found{op, o.end[op], {}};
    // Scratch memory is freed before the operator ends.
    if (context_.process.freed(allocation) <= found.since) return {};
    const auto inputs = context_.provenance.inputs(op);
    const auto layouts = context_.provenance.input_layouts(op);
    const auto offsets = context_.provenance.input_offsets(op);
    if (inputs.empty() || layouts.size() != inputs.size()) return {};
    const size_t given = concatenates ? inputs.size() : 1;
    for (size_t i = 0; i < given; ++i) {
      const View part{AllocationId{inputs[i]}, LayoutId{layouts[i]}, offsets[i]};
      if (part.layout && elements(context_.text, part.layout) == 0) continue;
      if (!part.layout || !part.allocation || part.allocation == allocation) return {};
      if (found.parts.size() == most_parts) return {};
      found.parts.push_back(part);
    }
    return found;
  }
  return {};
}

bool Contents::has_source_layout(AllocationId copy, const Copied& copied) const {
  const Process& p = context_.process;
  if (copied.parts.size() != 1) return false;
  const LayoutId layout = copied.parts[0].layout;
  if (p.allocations.bytes[copy] != context_.text.layout_bytes[layout]) return false;
  const StringId op = p.operators.name[copied.op];
  if (concatenating_.has(op)) return is_row_major(context_.text, layout);
  // PyTorch allocates a requested format (channels_last) with aten::empty, and the source's own format with
  // empty_strided.
  if (strided_.has(p.operators.name[p.allocations.op[copy]])) return is_dense(context_.text, layout);
  const size_t rank = context_.text.sizes(layout).size();
  return is_row_major(context_.text, layout) && rank != 4 && rank != 5;
}

View Contents::origin(View view, Time until) const {
  constexpr int kMostCopies = 16;  // of copies
  for (int i = 0; i < kMostCopies; ++i) {
    if (view.offset != 0 ||
        context_.text.layout_bytes[view.layout] != context_.process.allocations.bytes[view.allocation])
      break;
    const Copied from = copied(view.allocation);
    if (from.parts.empty() ||
        context_.text.layout_dtype[from.parts[0].layout] != context_.text.layout_dtype[view.layout] ||
        !is_unchanged(view.allocation, from.since, until) ||
        !is_unchanged(from.parts[0].allocation, from.since, until)) {
      break;
    }
    const View source = from.parts[0];
    if (has_source_layout(view.allocation, from)) {
      view = {source.allocation, view.layout, source.offset};  // a transposed view of a copy is one of its source
    } else if (is_row_major(context_.text, view.layout) &&
               std::ranges::equal(context_.text.sizes(source.layout), context_.text.sizes(view.layout))) {
      view = source;
    } else {
      break;
    }
  }
  return view;
}

Time Contents::first_write(AllocationId allocation, Time since, Time until) const {
  const OperatorId writer = context_.provenance.first_writer(allocation, {since, until});
  return writer ? std::max(since, context_.process.operators.begin[writer]) : until;
}

bool Contents::is_of_backward(OperatorId op) const {
  const EvaluationId evaluation = context_.process.operators.evaluation[op];
  const NodeId node = context_.process.evaluations.node[evaluation];
  return evaluation && (context_.process.nodes.flags[node] & trace::kNodeIsCustom) == 0;
}

bool Contents::is_of_backward(AllocationId allocation) const {
  const EvaluationId evaluation = context_.process.allocations.evaluation[allocation];
  const NodeId node = context_.process.evaluations.node[evaluation];
  return evaluation && (context_.process.nodes.flags[node] & trace::kNodeIsCustom) == 0;
}

uint64_t elements(const Text& text, LayoutId layout) {
  uint64_t count = 1;
  for (const uint64_t size : text.sizes(layout)) count *= size;
  return count;
}

Bytes distinct_bytes(const Text& text, LayoutId layout) {
  const auto sizes = text.sizes(layout);
  const auto strides = text.strides(layout);
  int64_t bytes = text.layout_element_bytes[layout];
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (strides[i] != 0 || sizes[i] == 0) bytes *= static_cast<int64_t>(sizes[i]);
  }
  return Bytes{bytes};
}

bool is_row_major(const Text& text, LayoutId layout) {
  const auto sizes = text.sizes(layout);
  const auto strides = text.strides(layout);
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= static_cast<int64_t>(sizes[i]);
  }
  return true;
}

bool is_dense(const Text& text, LayoutId layout) {
  const auto sizes = text.sizes(layout);
  const auto strides = text.strides(layout);
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](size_t i) { return strides[i]; });
  int64_t expected = 1;
  for (const size_t i : order) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= static_cast<int64_t>(sizes[i]);
  }
  return true;
}

Bytes read_by(const Context& context, OperatorId op, AllocationId allocation) {
  const auto inputs = context.provenance.inputs(op), layouts = context.provenance.input_layouts(op);
  Bytes read;
  for (size_t i = 0; i < inputs.size() && i < layouts.size(); ++i) {
    if (AllocationId{inputs[i]} == allocation) read += distinct_bytes(context.text, LayoutId{layouts[i]});
  }
  return read;
}

std::vector<SaveId> saves_of(const Context& context, NodeId node) {
  const Saves& s = context.process.saves;
  const auto since = static_cast<uint64_t>(context.process.nodes.time[node].ns);
  // The recording has the nodes of one operator together before their saves, or each node before its own saves.
  constexpr uint32_t kMostBetween = 64;
  std::vector<SaveId> found;
  auto row =
      static_cast<uint32_t>(std::lower_bound(s.time.raw.begin() + 1, s.time.raw.end(), since) - s.time.raw.begin());
  for (const uint32_t first = row; row <= s.rows() && (row - first < kMostBetween || s.node[SaveId{row}] == node);
       ++row) {
    if (s.node[SaveId{row}] == node) found.push_back(SaveId{row});
  }
  return found;
}

std::vector<EvaluationId> last_evaluations(const Process& p) {
  std::vector<EvaluationId> of_node(size_t{p.nodes.rows()} + 1);
  for (uint32_t row = 1; row <= p.evaluations.rows(); ++row) {
    if (const NodeId node = p.evaluations.node[EvaluationId{row}]) of_node[node.value] = EvaluationId{row};
  }
  return of_node;
}

Time returned(const Context& context, AllocationId allocation) {
  const OperatorId maker = context.provenance.maker(allocation);
  const ModuleCallId call = outermost_call(context.process, maker);
  return call ? context.process.module_calls.end[call] : context.process.operators.end[maker];
}

Interval kept_by_saves(const Context& context, AllocationId allocation) {
  const Time end = context.lifetimes.program_end(allocation);
  if (!context.lifetimes.ends_with_save(allocation)) return {end, end};
  return {end, std::max(end, context.process.freed(allocation))};
}

}  // namespace tapelens::check
