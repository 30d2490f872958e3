// Which tables of a process contradict one another: see leave_out_unsound in tables.h.
#include <algorithm>

#include "analyzer/model/tables.h"

namespace tapelens::model {

namespace {

namespace column = trace::column;

// Every column of ids, and the table whose rows it names.
template <class Visit>
void each_reference(Process& p, Visit visit) {
  Operators& o = p.operators;
  visit(column::operator_name, o.name.raw, Table::strings);
  visit(column::operator_stack, o.stack.raw, Table::stacks);
  visit(column::operator_module, o.module_call.raw, Table::module_calls);
  visit(column::operator_evaluation, o.evaluation.raw, Table::evaluations);
  visit(column::input_allocation, o.inputs, Table::allocations);
  visit(column::view_operator, p.input_views.op.raw, Table::operators);
  visit(column::view_layout, p.input_views.layout.raw, Table::layouts);
  Allocations& a = p.allocations;
  visit(column::allocation_device, a.device.raw, Table::devices);
  visit(column::allocation_operator, a.op.raw, Table::operators);
  visit(column::allocation_evaluation, a.evaluation.raw, Table::evaluations);
  visit(column::allocation_stack, a.stack.raw, Table::stacks);
  visit(column::allocation_module, a.module_call.raw, Table::module_calls);
  visit(column::free_of, p.frees.of.raw, Table::allocations);
  visit(column::node_type, p.nodes.type.raw, Table::strings);
  visit(column::node_operator, p.nodes.op.raw, Table::operators);
  visit(column::node_parameter, p.nodes.parameter.raw, Table::allocations);
  visit(column::node_attributes, p.nodes.attributes.raw, Table::strings);
  // Of any row: the next node may be an AccumulateGrad that was recorded later.
  visit(column::edge_node, p.nodes.edges, Table::nodes);
  visit(column::save_node, p.saves.node.raw, Table::nodes);
  visit(column::save_field, p.saves.field.raw, Table::strings);
  visit(column::save_allocation, p.saves.allocation.raw, Table::allocations);
  visit(column::save_layout, p.saves.layout.raw, Table::layouts);
  visit(column::release_of, p.releases.of.raw, Table::nodes);
  visit(column::evaluation_node, p.evaluations.node.raw, Table::nodes);
  visit(column::role_allocation, p.roles.allocation.raw, Table::allocations);
  visit(column::role_name, p.roles.name.raw, Table::strings);
  visit(column::role_parameter, p.roles.parameter.raw, Table::allocations);
  Rewrites& w = p.rewrites;
  visit(column::rewrite_id, w.rewrite.raw, Table::strings);
  visit(column::rewrite_node, w.node.raw, Table::nodes);
  visit(column::rewrite_field, w.field.raw, Table::strings);
  visit(column::rewrite_reason, w.reason.raw, Table::strings);
  visit(column::rewrite_operator, w.op.raw, Table::operators);
  visit(column::rewrite_stack, w.stack.raw, Table::stacks);
  visit(column::rewrite_module, w.module_call.raw, Table::module_calls);
  visit(column::checksum_name, p.checksums.name.raw, Table::strings);
  visit(column::module_call_module, p.module_calls.module.raw, Table::modules);
}

uint64_t rows_of(Table table, const Text& text, const Process& p) {
  switch (table) {
    case Table::strings:
      return text.string_begin.size() - 2;
    case Table::stacks:
      return text.stack_begin.size() - 2;
    case Table::layouts:
      return text.layout_dtype.rows();
    case Table::modules:
      return text.module_path.rows();
    case Table::devices:
      return text.device_name.rows();
    case Table::operators:
      return p.operators.rows();
    case Table::allocations:
      return p.allocations.rows();
    case Table::nodes:
      return p.nodes.rows();
    case Table::evaluations:
      return p.evaluations.rows();
    case Table::module_calls:
      return p.module_calls.rows();
    default:
      return 0;  // nothing names its rows
  }
}

// Empties what is left out, and what belongs to it.
void clear(const Tables& t, Process& p) {
  const auto without = [&](Table table, auto& columns) {
    if (!t.is_sound(table)) columns = {};
  };
  without(Table::operators, p.operators);
  if (!t.is_sound(Table::operator_inputs)) {
    p.operators.inputs.assign(1, 0);
    std::ranges::fill(p.operators.input_count.raw, uint16_t{0});
    std::ranges::fill(p.operators.written.raw, 0U);
  }
  without(Table::input_views, p.input_views);
  without(Table::operators, p.input_views);
  without(Table::operator_inputs, p.input_views);
  without(Table::allocations, p.allocations);
  without(Table::allocations, p.frees);
  without(Table::nodes, p.nodes);
  if (!t.is_sound(Table::node_edges)) {
    p.nodes.edges.clear();
    p.nodes.edge_begin.assign(size_t{p.nodes.rows()} + 2, 0);
  }
  without(Table::node_releases, p.releases);
  without(Table::saves, p.saves);
  without(Table::evaluations, p.evaluations);
  without(Table::roles, p.roles);
  without(Table::rewrites, p.rewrites);
  without(Table::checksums, p.checksums);
  without(Table::module_calls, p.module_calls);
}

// For each operator that has any, as many as it has inputs. They are in the order of the operators.
void check_views(Tables& t, const Process& p) {
  const std::vector<uint32_t>& operators = p.input_views.op.raw;
  for (size_t row = 1; row < operators.size();) {
    const uint32_t op = operators[row];
    size_t end = row;
    while (end < operators.size() && operators[end] == op) ++end;
    if (end - row != p.operators.input_count.raw[op])
      return t.fault(column::view_operator, "has " + std::to_string(end - row) + " rows of operator " +
                                                std::to_string(op) + ", which has " +
                                                std::to_string(p.operators.input_count.raw[op]) + " inputs");
    row = end;
  }
}

// No peak can be told without the frees.
void check_frees(Tables& t, const Process& p) {
  for (uint32_t row = 1; row <= p.frees.rows() && t.is_sound(Table::frees); ++row) {
    if (p.frees.time.raw[row] < p.allocations.time.raw[p.frees.of.raw[row]])
      t.fault(column::free_time, "is before the allocation");
  }
  if (!t.is_sound(Table::frees)) t.fault(Table::allocations, "their frees are left out");
}

void check_saves(Tables& t, const Text& text, const Process& p) {
  std::vector<uint64_t> bytes;
  bytes.reserve(p.saves.layout.raw.size());
  for (const uint32_t layout : p.saves.layout.raw) bytes.push_back(text.layout_bytes.raw[layout]);
  t.sums(column::save_layout, bytes);
}

}  // namespace

void leave_out_unsound(Tables& t, const Text& text, Process& p) {
  const auto is_left_out = [&](Table table) { return !t.is_sound(table) || lacks(text.left_out, table); };
  // Each table that is left out may take others with it.
  for (size_t known = t.faults() + 1; known != t.faults();) {
    known = t.faults();
    clear(t, p);
    each_reference(p, [&](const trace::ColumnKey& key, auto& ids, Table table) {
      if (is_left_out(table)) std::ranges::fill(ids, typename std::decay_t<decltype(ids)>::value_type{0});
      t.below(key, ids, rows_of(table, text, p));
    });
    if (t.faults() != known) continue;
    check_views(t, p);
    check_frees(t, p);
    check_saves(t, text, p);
  }
}

}  // namespace tapelens::model
