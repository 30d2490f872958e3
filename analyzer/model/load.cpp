#include "analyzer/model/load.h"

#include <algorithm>
#include <string>

#include "trace/schema.h"

namespace tapelens::model {

namespace {

namespace column = trace::column;
using trace::Error;
using trace::ProcessIndex;
using trace::Recording;
using trace::Result;

// Collects the first inconsistency instead of stopping at each: a load is one straight list of columns.
class Checks {
 public:
  template <class Raw>
  void below(const std::vector<Raw>& ids, uint64_t rows, const char* what) {
    if (!error_.empty()) return;
    Raw greatest = 0;
    for (const Raw id : ids) greatest = std::max(greatest, id);
    if (greatest > rows) {
      error_ = std::string("inconsistent recording: ") + what + " names row " + std::to_string(greatest) + " of " +
               std::to_string(rows) + ": record again";
    }
  }
  void earlier(const std::vector<uint32_t>& parents, const char* what) {
    if (!error_.empty()) return;
    for (uint32_t row = 1; row < parents.size(); ++row) {
      if (parents[row] >= row) {
        error_ = std::string("inconsistent recording: ") + what + " of row " + std::to_string(row) +
                 " is not before it: record again";
        return;
      }
    }
  }
  void equal(uint64_t a, uint64_t b, const char* what) {
    if (error_.empty() && a != b) {
      error_ = std::string("inconsistent recording: ") + what + " sum to " + std::to_string(a) + ", not to " +
               std::to_string(b) + ": record again";
    }
  }
  // Sums of bytes are signed 64-bit numbers everywhere: no sum of all the rows may be greater.
  template <class BytesOf>
  void sums(uint32_t rows, BytesOf bytes_of, const char* what) {
    int64_t total = 0;
    for (uint32_t row = 1; row <= rows && error_.empty(); ++row) {
      if (__builtin_add_overflow(total, bytes_of(row), &total)) {
        error_ = std::string("inconsistent recording: ") + what + " sum to more than 2^63: record again";
      }
    }
  }
  // In the order of the operators, and for each as many as it has inputs.
  void views(const std::vector<uint32_t>& operators, const std::vector<uint16_t>& input_counts) {
    if (!error_.empty()) return;
    for (size_t row = 1; row < operators.size();) {
      const uint32_t op = operators[row];
      size_t end = row;
      while (end < operators.size() && operators[end] == op) ++end;
      if (end - row != input_counts[op] || (end < operators.size() && operators[end] < op)) {
        error_ = "inconsistent recording: input_views of operator " + std::to_string(op) +
                 " are not those of its inputs: record again";
        return;
      }
      row = end;
    }
  }
  const std::string& error() const { return error_; }

 private:
  std::string error_;
};

// Begins of rows that follow one another, from their lengths: begin[i] to begin[i + 1] is row i.
template <class Out, class Length>
std::vector<Out> begins(const std::vector<Length>& lengths) {
  std::vector<Out> begin(lengths.size() + 1, 0);
  for (size_t row = 1; row < lengths.size(); ++row) begin[row + 1] = begin[row] + static_cast<Out>(lengths[row]);
  return begin;
}

template <class Length>
uint64_t sum(const std::vector<Length>& lengths) {
  uint64_t total = 0;
  for (const Length length : lengths) total += length;
  return total;
}

std::vector<uint64_t> join_ends(size_t rows, const std::vector<uint32_t>& of, const std::vector<uint64_t>& times) {
  std::vector<uint64_t> ends(rows + 1, static_cast<uint64_t>(kNever.ns));
  for (size_t row = 1; row < of.size(); ++row) {
    if (of[row] <= rows) ends[of[row]] = times[row];
  }
  return ends;
}

Time end_or_never(uint64_t ns) {
  return ns >= static_cast<uint64_t>(kNever.ns) ? kNever : Time{static_cast<int64_t>(ns)};
}

}  // namespace

Result<Text> load_text(const Recording& r) {
  Text text;
  Checks checks;
  const auto bytes = r.column(column::string_byte);
  text.bytes.assign(bytes.begin() + 1, bytes.end());
  const auto lengths = r.column(column::string_length);
  checks.equal(sum(lengths), text.bytes.size(), "lengths of strings");
  text.string_begin = begins<uint64_t>(lengths);
  const size_t strings = lengths.size() - 1;

  text.frame_file.raw = r.column(column::frame_file);
  text.frame_function.raw = r.column(column::frame_function);
  text.frame_line.raw = r.column(column::frame_line);
  checks.below(text.frame_file.raw, strings, "frames.file");
  checks.below(text.frame_function.raw, strings, "frames.function");

  const auto depths = r.column(column::stack_depth);
  const auto frames = r.column(column::stack_frame);
  checks.equal(sum(depths), frames.size() - 1, "depths of stacks");
  checks.below(frames, text.frame_file.rows(), "stack_frames.frame");
  text.stack_begin = begins<uint32_t>(depths);
  text.stack_frames.reserve(frames.size() - 1);
  for (size_t row = 1; row < frames.size(); ++row) text.stack_frames.push_back(FrameId{frames[row]});

  text.layout_dtype.raw = r.column(column::layout_dtype);
  checks.below(text.layout_dtype.raw, strings, "layouts.dtype");
  text.layout_element_bytes.raw = r.column(column::layout_element_bytes);
  const auto& element_bytes = text.layout_element_bytes.raw;
  const auto ranks = r.column(column::layout_rank);
  const auto sizes = r.column(column::layout_size);
  checks.equal(sum(ranks), sizes.size() - 1, "ranks of layouts");
  if (!checks.error().empty()) return Error{checks.error()};
  text.layout_begin = begins<uint32_t>(ranks);
  text.layout_sizes.assign(sizes.begin() + 1, sizes.end());
  const auto strides = r.column(column::layout_stride);
  checks.equal(strides.size(), sizes.size(), "strides of layouts");
  if (!checks.error().empty()) return Error{checks.error()};
  for (size_t row = 1; row < strides.size(); ++row) text.layout_strides.push_back(static_cast<int64_t>(strides[row]));
  text.layout_bytes.raw.assign(ranks.size(), 0);
  for (uint32_t row = 1; row < ranks.size(); ++row) {
    uint64_t total = element_bytes[row];
    for (const uint64_t size : text.sizes(LayoutId{row})) {
      if (__builtin_mul_overflow(total, size, &total)) {
        return Error{"inconsistent recording: layout " + std::to_string(row) +
                     " has more than 2^64 bytes: record again"};
      }
    }
    text.layout_bytes.raw[row] = total;
  }

  text.module_path.raw = r.column(column::module_path);
  text.module_type.raw = r.column(column::module_type);
  text.device_name.raw = r.column(column::device_name);
  checks.below(text.module_path.raw, strings, "modules.path");
  checks.below(text.module_type.raw, strings, "modules.type");
  checks.below(text.device_name.raw, strings, "devices.name");
  text.sources = load_source_files(r, strings);
  if (!checks.error().empty()) return Error{checks.error()};
  return text;
}

namespace {

void load_operators(const Recording& r, ProcessIndex index, Operators& t) {
  t.begin.raw = r.column(column::operator_begin, index);
  t.name.raw = r.column(column::operator_name, index);
  t.stack.raw = r.column(column::operator_stack, index);
  t.module_call.raw = r.column(column::operator_module, index);
  t.parent.raw = r.column(column::operator_parent, index);
  t.evaluation.raw = r.column(column::operator_evaluation, index);
  t.input_count.raw = r.column(column::operator_input_count, index);
  t.inputs = r.column(column::input_allocation, index);
  t.written.raw = r.column(column::operator_written, index);
  t.written.raw.resize(t.begin.raw.size());  // older recordings do not say
  t.end.raw = join_ends(t.rows(), r.column(column::operator_end_of, index), r.column(column::operator_end, index));
}

void load_views(const Recording& r, ProcessIndex index, InputViews& t) {
  t.op.raw = r.column(column::view_operator, index);
  t.layout.raw = r.column(column::view_layout, index);
  t.offset.raw = r.column(column::view_offset, index);
}

void load_allocations(const Recording& r, ProcessIndex index, Process& p) {
  Allocations& t = p.allocations;
  t.time.raw = r.column(column::allocation_time, index);
  t.bytes.raw = r.column(column::allocation_bytes, index);
  t.device.raw = r.column(column::allocation_device, index);
  t.origin.raw = r.column(column::allocation_origin, index);
  t.op.raw = r.column(column::allocation_operator, index);
  t.evaluation.raw = r.column(column::allocation_evaluation, index);
  t.stack.raw = r.column(column::allocation_stack, index);
  t.module_call.raw = r.column(column::allocation_module, index);
  p.frees.of.raw = r.column(column::free_of, index);
  p.frees.time.raw = r.column(column::free_time, index);
}

void load_graph(const Recording& r, ProcessIndex index, Process& p) {
  p.nodes.time.raw = r.column(column::node_time, index);
  p.nodes.type.raw = r.column(column::node_type, index);
  p.nodes.op.raw = r.column(column::node_operator, index);
  p.nodes.flags.raw = r.column(column::node_flags, index);
  p.nodes.parameter.raw = r.column(column::node_parameter, index);
  p.nodes.attributes.raw = r.column(column::node_attributes, index);
  const auto edge_counts = r.column(column::node_edge_count, index);
  p.nodes.edge_begin = begins<uint64_t>(edge_counts);
  p.nodes.edges = r.column(column::edge_node, index);
  p.nodes.edges.erase(p.nodes.edges.begin());  // row 0: there are no ids of edges
  p.saves.time.raw = r.column(column::save_time, index);
  p.saves.node.raw = r.column(column::save_node, index);
  p.saves.field.raw = r.column(column::save_field, index);
  p.saves.index.raw = r.column(column::save_index, index);
  p.saves.allocation.raw = r.column(column::save_allocation, index);
  p.saves.layout.raw = r.column(column::save_layout, index);
  p.saves.offset.raw = r.column(column::save_offset, index);
  p.saves.flags.raw = r.column(column::save_flags, index);
  p.releases.of.raw = r.column(column::release_of, index);
  p.releases.time.raw = r.column(column::release_time, index);
  p.releases.flags.raw = r.column(column::release_flags, index);
  Evaluations& t = p.evaluations;
  t.begin.raw = r.column(column::evaluation_begin, index);
  t.node.raw = r.column(column::evaluation_node, index);
  t.flags.raw = r.column(column::evaluation_flags, index);
  t.end.raw = join_ends(t.rows(), r.column(column::evaluation_end_of, index), r.column(column::evaluation_end, index));
}

void load_rewrites(const Recording& r, ProcessIndex index, Process& p) {
  Rewrites& t = p.rewrites;
  t.time.raw = r.column(column::rewrite_time, index);
  t.rewrite.raw = r.column(column::rewrite_id, index);
  t.flags.raw = r.column(column::rewrite_flags, index);
  t.node.raw = r.column(column::rewrite_node, index);
  t.field.raw = r.column(column::rewrite_field, index);
  t.index.raw = r.column(column::rewrite_index, index);
  t.reason.raw = r.column(column::rewrite_reason, index);
  t.bytes.raw = r.column(column::rewrite_bytes, index);
  t.kept.raw = r.column(column::rewrite_kept, index);
  t.op.raw = r.column(column::rewrite_operator, index);
  t.stack.raw = r.column(column::rewrite_stack, index);
  t.module_call.raw = r.column(column::rewrite_module, index);
  Checksums& c = p.checksums;
  c.time.raw = r.column(column::checksum_time, index);
  c.step.raw = r.column(column::checksum_step, index);
  c.of.raw = r.column(column::checksum_of, index);
  c.name.raw = r.column(column::checksum_name, index);
  c.value.raw = r.column(column::checksum_value, index);
  c.spent.raw = r.column(column::checksum_spent, index);
}

void load_program(const Recording& r, ProcessIndex index, Process& p) {
  p.roles.time.raw = r.column(column::role_time, index);
  p.roles.allocation.raw = r.column(column::role_allocation, index);
  p.roles.kind.raw = r.column(column::role_kind, index);
  p.roles.name.raw = r.column(column::role_name, index);
  p.roles.parameter.raw = r.column(column::role_parameter, index);
  ModuleCalls& t = p.module_calls;
  t.begin.raw = r.column(column::module_call_begin, index);
  t.module.raw = r.column(column::module_call_module, index);
  t.parent.raw = r.column(column::module_call_parent, index);
  t.end.raw =
      join_ends(t.rows(), r.column(column::module_call_end_of, index), r.column(column::module_call_end, index));
}

// The tables that are few and long become plain rows in the order of their begins.
void load_intervals(const Recording& r, ProcessIndex index, size_t strings, Process& p, Checks& checks) {
  const auto by_begin = [](const auto& a, const auto& b) { return a.when.begin < b.when.begin; };
  const auto interval = [](uint64_t begin, uint64_t end) {
    return Interval{Time{static_cast<int64_t>(begin)}, end_or_never(end)};
  };
  {
    const auto begin = r.column(column::backward_begin, index), end = r.column(column::backward_end, index);
    const auto flags = r.column(column::backward_flags, index);
    for (size_t row = 1; row < begin.size(); ++row) p.backwards.push_back({interval(begin[row], end[row]), flags[row]});
    std::ranges::stable_sort(p.backwards, {}, &Interval::begin);
  }
  {
    const auto begin = r.column(column::optimizer_begin, index), end = r.column(column::optimizer_end, index);
    const auto name = r.column(column::optimizer_name, index);
    checks.below(name, strings, "optimizer_steps.name");
    for (size_t row = 1; row < begin.size(); ++row) {
      p.optimizer_steps.push_back({interval(begin[row], end[row]), StringId{name[row]}});
    }
    std::ranges::stable_sort(p.optimizer_steps, by_begin);
  }
  {
    const auto begin = r.column(column::range_begin, index), end = r.column(column::range_end, index);
    const auto name = r.column(column::range_name, index);
    const auto thread = r.column(column::range_thread, index);
    const auto os_id = r.column(column::thread_os_id, index);
    checks.below(name, strings, "ranges.name");
    for (size_t row = 1; row < begin.size(); ++row) {
      const uint32_t os_thread = thread[row] < os_id.size() ? os_id[thread[row]] : 0;
      p.ranges.push_back({interval(begin[row], end[row]), StringId{name[row]}, os_thread});
    }
    std::ranges::stable_sort(p.ranges, by_begin);
  }
}

void load_facts(const Recording& r, ProcessIndex index, size_t strings, Process& p, Checks& checks) {
  const auto key = r.column(column::information_key, index), value = r.column(column::information_value, index);
  checks.below(key, strings, "information.key");
  checks.below(value, strings, "information.value");
  for (size_t row = 1; row < key.size(); ++row) p.information.push_back({StringId{key[row]}, StringId{value[row]}});
  const auto kind = r.column(column::loss_kind, index);
  const auto count = r.column(column::loss_count, index), since = r.column(column::loss_time, index);
  for (size_t row = 1; row < kind.size(); ++row) {
    p.lost.push_back({static_cast<Loss>(kind[row]), count[row], Time{static_cast<int64_t>(since[row])}});
  }
}

void check_ids(const Process& p, const Text& text, Checks& checks) {
  const size_t strings = text.string_begin.size() - 2, stacks = text.stack_begin.size() - 2;
  const Operators& o = p.operators;
  checks.below(o.name.raw, strings, "operators.name");
  checks.below(o.stack.raw, stacks, "operators.stack");
  checks.below(o.module_call.raw, p.module_calls.rows(), "operators.module_call");
  checks.below(o.evaluation.raw, p.evaluations.rows(), "operators.evaluation");
  checks.earlier(o.parent.raw, "operators.parent");
  checks.equal(sum(o.input_count.raw), o.inputs.size() - 1, "inputs of operators");
  checks.below(o.inputs, p.allocations.rows(), "operator_inputs.allocation");
  checks.below(p.input_views.op.raw, o.rows(), "input_views.operator");
  checks.below(p.input_views.layout.raw, text.layout_dtype.rows(), "input_views.layout");
  checks.views(p.input_views.op.raw, o.input_count.raw);
  const Allocations& a = p.allocations;
  checks.below(a.device.raw, text.device_name.rows(), "allocations.device");
  checks.below(a.op.raw, o.rows(), "allocations.operator");
  checks.below(a.evaluation.raw, p.evaluations.rows(), "allocations.evaluation");
  checks.below(a.stack.raw, stacks, "allocations.stack");
  checks.below(a.module_call.raw, p.module_calls.rows(), "allocations.module_call");
  checks.below(p.frees.of.raw, a.rows(), "frees.allocation");
  checks.below(p.nodes.type.raw, strings, "nodes.type");
  checks.below(p.nodes.op.raw, o.rows(), "nodes.operator");
  checks.below(p.nodes.parameter.raw, a.rows(), "nodes.parameter");
  checks.below(p.nodes.attributes.raw, strings, "nodes.attributes");
  checks.equal(p.nodes.edge_begin.back(), p.nodes.edges.size(), "edges of nodes");
  // Of any row: the next node may be an AccumulateGrad that was recorded later.
  checks.below(p.nodes.edges, p.nodes.rows(), "node_edges.node");
  checks.below(p.saves.node.raw, p.nodes.rows(), "saves.node");
  checks.below(p.saves.field.raw, strings, "saves.field");
  checks.below(p.saves.allocation.raw, a.rows(), "saves.allocation");
  checks.below(p.saves.layout.raw, text.layout_dtype.rows(), "saves.layout");
  checks.below(p.releases.of.raw, p.nodes.rows(), "node_releases.node");
  checks.below(p.evaluations.node.raw, p.nodes.rows(), "evaluations.node");
  checks.below(p.roles.allocation.raw, a.rows(), "roles.allocation");
  checks.below(p.roles.name.raw, strings, "roles.name");
  checks.below(p.roles.parameter.raw, a.rows(), "roles.parameter");
  const Rewrites& w = p.rewrites;
  checks.below(w.rewrite.raw, strings, "rewrites.rewrite");
  checks.below(w.node.raw, p.nodes.rows(), "rewrites.node");
  checks.below(w.field.raw, strings, "rewrites.field");
  checks.below(w.reason.raw, strings, "rewrites.reason");
  checks.below(w.op.raw, o.rows(), "rewrites.operator");
  checks.below(w.stack.raw, stacks, "rewrites.stack");
  checks.below(w.module_call.raw, p.module_calls.rows(), "rewrites.module_call");
  checks.sums(
      w.rows(), [&](uint32_t row) { return w.bytes.raw[row]; }, "rewrites.bytes");
  checks.sums(
      w.rows(), [&](uint32_t row) { return w.kept.raw[row]; }, "rewrites.kept");
  checks.below(p.checksums.name.raw, strings, "checksums.name");
  checks.sums(
      p.checksums.rows(), [&](uint32_t row) { return p.checksums.spent.raw[row]; }, "checksums.spent");
  checks.below(p.module_calls.module.raw, text.module_path.rows(), "module_calls.module");
  checks.earlier(p.module_calls.parent.raw, "module_calls.parent");
  checks.sums(
      a.rows(), [&](uint32_t row) { return a.bytes.raw[row]; }, "allocations.bytes");
  checks.sums(
      p.saves.rows(), [&](uint32_t row) { return text.layout_bytes.raw[p.saves.layout.raw[row]]; }, "bytes of saves");
}

}  // namespace

Result<Process> load_process(const Recording& r, const Text& text, ProcessIndex index) {
  Process p;
  Checks checks;
  p.summary = r.processes()[index.value];
  p.duration = r.duration();
  load_operators(r, index, p.operators);
  load_views(r, index, p.input_views);
  load_allocations(r, index, p);
  load_graph(r, index, p);
  load_rewrites(r, index, p);
  load_program(r, index, p);
  const size_t strings = text.string_begin.size() - 2;
  load_intervals(r, index, strings, p, checks);
  load_facts(r, index, strings, p, checks);
  check_ids(p, text, checks);
  if (!checks.error().empty()) return Error{checks.error()};
  join(p);
  return p;
}

}  // namespace tapelens::model
