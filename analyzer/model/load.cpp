// The tables of one process as columns.
#include "analyzer/model/load.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "analyzer/model/tables.h"

namespace tapelens::model {

namespace {

namespace column = trace::column;
using trace::ProcessIndex;
using trace::Recording;

Time end_or_never(uint64_t ns) {
  return ns >= static_cast<uint64_t>(kNever.ns) ? kNever : Time{static_cast<int64_t>(ns)};
}

// The ends of rows, from the table that tells of them. If that is left out, a row is known to have lasted no longer
// than its begin.
std::vector<uint64_t> join_ends(Tables& r, Table table, const std::vector<uint64_t>& begins_of,
                                trace::Column<uint32_t> of_key, trace::Column<uint64_t> end_key) {
  if (!r.is_sound(table)) return begins_of;
  const auto of = r.column(of_key);
  const auto times = r.column(end_key);
  std::vector<uint64_t> ends(begins_of.size(), static_cast<uint64_t>(kNever.ns));
  r.below(of_key, of, begins_of.size() - 1);
  for (size_t row = 1; row < of.size() && r.is_sound(of_key.table); ++row) {
    if (of[row] != 0 && times[row] < begins_of[of[row]]) r.fault(end_key, "is before the begin");
    ends[of[row]] = times[row];
  }
  if (!r.is_sound(of_key.table)) ends = begins_of;
  return ends;
}

void load_operators(Tables& r, Operators& t) {
  t.begin.raw = r.times(column::operator_begin);
  t.name.raw = r.column(column::operator_name);
  t.stack.raw = r.column(column::operator_stack);
  t.module_call.raw = r.column(column::operator_module);
  t.parent.raw = r.column(column::operator_parent);
  t.evaluation.raw = r.column(column::operator_evaluation);
  t.input_count.raw = r.column(column::operator_input_count);
  t.inputs = r.column(column::input_allocation);
  r.lengths(column::operator_input_count, t.input_count.raw, Table::operator_inputs, t.inputs.size() - 1);
  r.earlier(column::operator_parent, t.parent.raw);
  t.written.raw = r.column(column::operator_written);
  t.end.raw = join_ends(r, Table::operators, t.begin.raw, column::operator_end_of, column::operator_end);
}

// In the order of the operators: older recordings hold those of several threads in the order of time.
void load_views(Tables& r, InputViews& t) {
  t.op.raw = r.column(column::view_operator);
  t.layout.raw = r.column(column::view_layout);
  t.offset.raw = r.column(column::view_offset);
  if (!r.is_sound(Table::input_views) || std::ranges::is_sorted(t.op.raw)) return;
  std::vector<uint32_t> order(t.op.raw.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order.begin() + 1, order.end(), {}, [&](uint32_t row) { return t.op.raw[row]; });
  const auto sort = [&](auto& raw) {
    auto sorted = raw;
    for (size_t row = 1; row < order.size(); ++row) sorted[row] = raw[order[row]];
    raw = std::move(sorted);
  };
  sort(t.op.raw);
  sort(t.layout.raw);
  sort(t.offset.raw);
}

void load_allocations(Tables& r, Process& p) {
  Allocations& t = p.allocations;
  t.time.raw = r.times(column::allocation_time);
  t.bytes.raw = r.column(column::allocation_bytes);
  r.sums(column::allocation_bytes, t.bytes.raw);
  t.device.raw = r.column(column::allocation_device);
  t.origin.raw = r.column(column::allocation_origin);
  t.op.raw = r.column(column::allocation_operator);
  t.evaluation.raw = r.column(column::allocation_evaluation);
  t.stack.raw = r.column(column::allocation_stack);
  t.module_call.raw = r.column(column::allocation_module);
  p.frees.of.raw = r.column(column::free_of);
  p.frees.time.raw = r.times(column::free_time);
}

void load_graph(Tables& r, Process& p) {
  p.nodes.time.raw = r.times(column::node_time);
  p.nodes.type.raw = r.column(column::node_type);
  p.nodes.op.raw = r.column(column::node_operator);
  p.nodes.flags.raw = r.column(column::node_flags);
  p.nodes.parameter.raw = r.column(column::node_parameter);
  p.nodes.attributes.raw = r.column(column::node_attributes);
  const auto edge_counts = r.column(column::node_edge_count);
  p.nodes.edge_begin = begins<uint64_t>(edge_counts);
  p.nodes.edges = r.column(column::edge_node);
  p.nodes.edges.erase(p.nodes.edges.begin());  // row 0: there are no ids of edges
  r.lengths(column::node_edge_count, edge_counts, Table::node_edges, p.nodes.edges.size());
  p.saves.time.raw = r.times(column::save_time);
  p.saves.node.raw = r.column(column::save_node);
  p.saves.field.raw = r.column(column::save_field);
  p.saves.index.raw = r.column(column::save_index);
  p.saves.allocation.raw = r.column(column::save_allocation);
  p.saves.layout.raw = r.column(column::save_layout);
  p.saves.offset.raw = r.column(column::save_offset);
  p.saves.flags.raw = r.column(column::save_flags);
  p.releases.of.raw = r.column(column::release_of);
  p.releases.time.raw = r.times(column::release_time);
  p.releases.flags.raw = r.column(column::release_flags);
  Evaluations& t = p.evaluations;
  t.begin.raw = r.times(column::evaluation_begin);
  t.node.raw = r.column(column::evaluation_node);
  t.flags.raw = r.column(column::evaluation_flags);
  t.end.raw = join_ends(r, Table::evaluations, t.begin.raw, column::evaluation_end_of, column::evaluation_end);
}

void load_rewrites(Tables& r, Process& p) {
  Rewrites& t = p.rewrites;
  t.time.raw = r.times(column::rewrite_time);
  t.rewrite.raw = r.column(column::rewrite_id);
  t.flags.raw = r.column(column::rewrite_flags);
  t.node.raw = r.column(column::rewrite_node);
  t.field.raw = r.column(column::rewrite_field);
  t.index.raw = r.column(column::rewrite_index);
  t.reason.raw = r.column(column::rewrite_reason);
  t.bytes.raw = r.column(column::rewrite_bytes);
  t.kept.raw = r.column(column::rewrite_kept);
  r.sums(column::rewrite_bytes, t.bytes.raw);
  r.sums(column::rewrite_kept, t.kept.raw);
  t.op.raw = r.column(column::rewrite_operator);
  t.stack.raw = r.column(column::rewrite_stack);
  t.module_call.raw = r.column(column::rewrite_module);
  Checksums& c = p.checksums;
  c.time.raw = r.times(column::checksum_time);
  c.step.raw = r.column(column::checksum_step);
  c.of.raw = r.column(column::checksum_of);
  c.name.raw = r.column(column::checksum_name);
  c.value.raw = r.column(column::checksum_value);
  c.spent.raw = r.column(column::checksum_spent);
  r.sums(column::checksum_spent, c.spent.raw);
}

void load_program(Tables& r, Process& p) {
  p.roles.time.raw = r.times(column::role_time);
  p.roles.allocation.raw = r.column(column::role_allocation);
  p.roles.kind.raw = r.column(column::role_kind);
  p.roles.name.raw = r.column(column::role_name);
  p.roles.parameter.raw = r.column(column::role_parameter);
  ModuleCalls& t = p.module_calls;
  t.begin.raw = r.times(column::module_call_begin);
  t.module.raw = r.column(column::module_call_module);
  t.parent.raw = r.column(column::module_call_parent);
  r.earlier(column::module_call_parent, t.parent.raw);
  t.end.raw = join_ends(r, Table::module_calls, t.begin.raw, column::module_call_end_of, column::module_call_end);
}

// The tables that are few and long become plain rows in the order of their begins.
class Intervals {
 public:
  Intervals(Tables& r, trace::Column<uint64_t> begin, trace::Column<uint64_t> end)
      : begin_(r.column(begin)), end_(r.column(end)) {
    for (size_t row = 1; row < begin_.size() && r.is_sound(begin.table); ++row) {
      if (begin_[row] >= static_cast<uint64_t>(kNever.ns) || end_[row] < begin_[row])
        r.fault(end, "is before the begin");
    }
  }
  size_t size() const { return begin_.size(); }
  Interval operator[](size_t row) const { return {Time{static_cast<int64_t>(begin_[row])}, end_or_never(end_[row])}; }

 private:
  std::vector<uint64_t> begin_, end_;
};

// Of names in `strings`, or of none.
std::vector<uint32_t> load_names(Tables& r, const Text& text, trace::Column<uint32_t> key) {
  auto names = r.column(key);
  if (lacks(text.left_out, Table::strings)) names.assign(names.size(), 0);
  r.below(key, names, text.string_begin.size() - 2);
  return names;
}

void load_intervals(Tables& r, const Text& text, Process& p) {
  const auto by_begin = [](const auto& a, const auto& b) { return a.when.begin < b.when.begin; };
  const Intervals backwards(r, column::backward_begin, column::backward_end);
  const auto flags = r.column(column::backward_flags);
  for (size_t row = 1; row < backwards.size() && r.is_sound(Table::backwards); ++row)
    p.backwards.push_back({backwards[row], flags[row]});
  std::ranges::stable_sort(p.backwards, {}, &Interval::begin);

  const Intervals steps(r, column::optimizer_begin, column::optimizer_end);
  const auto optimizers = load_names(r, text, column::optimizer_name);
  for (size_t row = 1; row < steps.size() && r.is_sound(Table::optimizer_steps); ++row)
    p.optimizer_steps.push_back({steps[row], StringId{optimizers[row]}});
  std::ranges::stable_sort(p.optimizer_steps, by_begin);

  const Intervals ranges(r, column::range_begin, column::range_end);
  const auto names = load_names(r, text, column::range_name);
  const auto thread = r.column(column::range_thread);
  const auto os_id = r.column(column::thread_os_id);
  for (size_t row = 1; row < ranges.size() && r.is_sound(Table::ranges); ++row) {
    const uint32_t os_thread = thread[row] < os_id.size() ? os_id[thread[row]] : 0;
    p.ranges.push_back({ranges[row], StringId{names[row]}, os_thread});
  }
  std::ranges::stable_sort(p.ranges, by_begin);
}

void load_facts(Tables& r, const Text& text, Process& p) {
  const auto keys = load_names(r, text, column::information_key);
  const auto values = load_names(r, text, column::information_value);
  for (size_t row = 1; row < keys.size() && r.is_sound(Table::information); ++row)
    p.information.push_back({StringId{keys[row]}, StringId{values[row]}});
  const auto kind = r.column(column::loss_kind);
  const auto count = r.column(column::loss_count), since = r.column(column::loss_time);
  for (size_t row = 1; row < kind.size() && r.is_sound(Table::losses); ++row)
    p.lost.push_back({static_cast<Loss>(kind[row]), count[row], Time{static_cast<int64_t>(since[row])}});
}

}  // namespace

bool lacks(std::span<const LeftOut> left_out, Table table) {
  return std::ranges::find(left_out, table, &LeftOut::table) != left_out.end();
}

Process load_process(const Recording& recording, const Text& text, ProcessIndex index) {
  Process p;
  Tables r = Tables::of_process(recording, index);
  p.summary = recording.processes()[index.value];
  p.duration = recording.duration();
  load_operators(r, p.operators);
  load_views(r, p.input_views);
  load_allocations(r, p);
  load_graph(r, p);
  load_rewrites(r, p);
  load_program(r, p);
  load_intervals(r, text, p);
  load_facts(r, text, p);
  leave_out_unsound(r, text, p);
  p.left_out = r.left_out();
  join(p);
  return p;
}

}  // namespace tapelens::model
