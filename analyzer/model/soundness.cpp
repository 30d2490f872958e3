// Finds the tables of a process that contradict one another: see leave_out_unsound in tables.h.
#include <algorithm>
#include <functional>

#include "analyzer/model/tables.h"

namespace tapelens::model {

namespace {

namespace table = trace::table;
using trace::column;

// Calls visit(key, ids, table that the ids refer to) for each loaded column of ids.
template <template <template <class> class> class T, class Visit>
void each_reference_of(LoadedTable<T>& t, Visit& visit) {
  trace::for_each_column<T>(
      [&]<class Key, class Column>(const Key& key, Column& loaded) {
        if constexpr (trace::kIsId<typename Key::Value> && !std::is_same_v<Column, NotLoaded>)
          visit(key, loaded.raw, trace::table_of<typename Key::Value>());
      },
      column<T>, static_cast<typename LoadedTable<T>::Columns&>(t));
}
template <class Visit>
void each_reference(Process& p, Visit visit) {
  p.each_table([&](auto& t) { each_reference_of(t, visit); });
  visit(column<table::OperatorInputs>.allocation, p.operators.inputs, Table::allocations);
  visit(column<table::NodeEdges>.node, p.nodes.edges, Table::nodes);
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
      return 0;  // no ids refer to its rows
  }
}

// Empties the tables that are left out, and the columns that belong to them.
void clear(const Tables& t, Process& p) {
  const auto without = [&](Table table, auto& columns) {
    if (!t.is_sound(table)) columns = {};
  };
  p.each_table([&](auto& columns) { without(columns.kTable, columns); });
  if (!t.is_sound(Table::operator_inputs)) {
    p.operators.inputs.assign(1, 0);
    std::ranges::fill(p.operators.input_count.raw, uint16_t{0});
    std::ranges::fill(p.operators.written.raw, 0U);
  }
  without(Table::operators, p.input_views);
  without(Table::operator_inputs, p.input_views);
  without(Table::allocations, p.frees);
  without(Table::allocations, p.device_blocks);
  without(Table::allocations, p.free_requests);
  if (!t.is_sound(Table::node_edges)) {
    p.nodes.edges.clear();
    std::ranges::fill(p.nodes.edge_count.raw, uint16_t{0});
    p.nodes.edge_begin.assign(size_t{p.nodes.rows()} + 2, 0);
  }
}

// An operator has one view for each of its inputs, or none at all. Rows are in the order of the operators.
void check_views(Tables& t, const Process& p) {
  const std::vector<uint32_t>& operators = p.input_views.op.raw;
  for (size_t row = 1; row < operators.size();) {
    const uint32_t op = operators[row];
    size_t end = row;
    while (end < operators.size() && operators[end] == op) ++end;
    if (end - row != p.operators.input_count.raw[op])
      return t.fault(column<table::InputViews>.op, "has " + std::to_string(end - row) + " rows of operator " +
                                                       std::to_string(op) + ", which has " +
                                                       std::to_string(p.operators.input_count.raw[op]) + " inputs");
    row = end;
  }
}

// The peak cannot be computed without the frees.
void check_frees(Tables& t, const Process& p) {
  for (uint32_t row = 1; row <= p.frees.rows() && t.is_sound(Table::frees); ++row) {
    if (p.frees.time.raw[row] < p.allocations.time.raw[p.frees.of.raw[row]])
      t.fault(column<table::Frees>.time, "is before the allocation");
  }
  if (!t.is_sound(Table::frees)) t.fault(Table::allocations, "their frees are left out");
}

// An allocation has at most one block, in the order of allocations: lookups by allocation depend on that.
void check_blocks(Tables& t, const Process& p) {
  const std::vector<uint32_t>& of = p.device_blocks.allocation.raw;
  if (std::adjacent_find(of.begin(), of.end(), std::greater_equal<>()) != of.end())
    t.fault(column<table::DeviceBlocks>.allocation, "does not rise");
}

// A free is requested after the allocation and before the free.
void check_requests(Tables& t, const Process& p) {
  for (uint32_t row = 1; row <= p.free_requests.rows() && t.is_sound(Table::free_requests); ++row) {
    if (p.free_requests.time.raw[row] < p.allocations.time.raw[p.free_requests.of.raw[row]])
      t.fault(column<table::FreeRequests>.time, "is before the allocation");
  }
}

void check_saves(Tables& t, const Text& text, const Process& p) {
  std::vector<uint64_t> bytes;
  bytes.reserve(p.saves.layout.raw.size());
  for (const uint32_t layout : p.saves.layout.raw) bytes.push_back(text.layout_bytes.raw[layout]);
  t.sums(column<table::Saves>.layout, bytes);
}

}  // namespace

void leave_out_unsound(Tables& t, const Text& text, Process& p) {
  const auto is_left_out = [&](Table table) { return !t.is_sound(table) || lacks(text.left_out, table); };
  // A table that is left out may make others unsound.
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
    check_blocks(t, p);
    check_requests(t, p);
    check_saves(t, text, p);
  }
}

}  // namespace tapelens::model
