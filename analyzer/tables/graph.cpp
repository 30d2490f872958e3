// The autograd graph: nodes, edges and saves.
#include <algorithm>

#include "analyzer/model/attribution.h"
#include "analyzer/peak/groups.h"
#include "analyzer/tables/table.h"
#include "trace/record.h"

namespace tapelens::tables {

namespace {

Table nodes() {
  using Id = NodeId;
  auto t = declare_ids<Id>("nodes", [](const Part& p) { return uint64_t{p.process().nodes.rows()}; });
  t.column("node", [](const Part&, Id id) { return id; });
  t.raw(
      "time_ns", [](const Part& p) -> auto& { return p.process().nodes.time.raw; });
  t.column("type", [](const Part& p, Id id) { return p.process().nodes.type[id]; });
  t.raw(
      "operator", [](const Part& p) -> auto& { return p.process().nodes.op.raw; });
  t.column("operator_name", [](const Part& p, Id id) { return p.process().operators.name[p.process().nodes.op[id]]; });
  t.column("module",
           [](const Part& p, Id id) { return p.text().module_path[module_of(p.process(), p.process().nodes.op[id])]; });
  t.raw(
      "parameter", [](const Part& p) -> auto& { return p.process().nodes.parameter.raw; });
  t.column("is_custom", [](const Part& p, Id id) { return (p.process().nodes.flags[id] & trace::kNodeIsCustom) != 0; });
  t.column("attributes", [](const Part& p, Id id) { return p.process().nodes.attributes[id]; });
  return t.table();
}

Table edges() {
  using Row = uint64_t;
  Declare<Row> t(
      "edges", [](const Part& p) { return uint64_t{p.process().nodes.edges.size()}; },
      [](const Part&, uint64_t row) { return row; });
  const auto node_of = [](const Part& p, Row row) {
    const std::vector<uint64_t>& begin = p.process().nodes.edge_begin;  // [0] belongs to no node
    const auto behind = std::upper_bound(begin.begin() + 1, begin.end(), row);
    return NodeId{static_cast<uint32_t>(behind - begin.begin() - 1)};
  };
  t.column("node", node_of);
  t.column("input", [node_of](const Part& p, Row row) {
    return static_cast<uint32_t>(row - p.process().nodes.edge_begin[node_of(p, row).value]);
  });
  t.column("next_node", [](const Part& p, Row row) { return NodeId{p.process().nodes.edges[row]}; });
  return t.table();
}

Table saves() {
  using Id = SaveId;
  auto t = declare_ids<Id>("saves", [](const Part& p) { return uint64_t{p.process().saves.rows()}; });
  const auto is = [](uint8_t flag) {
    return [flag](const Part& p, Id id) { return (p.process().saves.flags[id] & flag) != 0; };
  };
  t.column("save", [](const Part&, Id id) { return id; });
  t.raw(
      "time_ns", [](const Part& p) -> auto& { return p.process().saves.time.raw; });
  t.column("released_ns", [](const Part& p, Id id) { return p.process().saves.released[id]; });
  t.raw(
      "node", [](const Part& p) -> auto& { return p.process().saves.node.raw; });
  t.column("node_type", [](const Part& p, Id id) { return p.process().nodes.type[p.process().saves.node[id]]; });
  t.column("field", [](const Part& p, Id id) { return p.process().saves.field[id]; });
  t.raw(
      "index", [](const Part& p) -> auto& { return p.process().saves.index.raw; });
  t.raw(
      "allocation", [](const Part& p) -> auto& { return p.process().saves.allocation.raw; });
  t.named(
      "layout", [](const Part& p, Id id) { return p.process().saves.layout[id]; },
      [](const Part& p, LayoutId layout) { return layout_text(p.text(), layout); });
  t.column("dtype", [](const Part& p, Id id) { return p.text().layout_dtype[p.process().saves.layout[id]]; });
  t.raw(
      "storage_offset", [](const Part& p) -> auto& { return p.process().saves.offset.raw; });
  t.column("logical_bytes", [](const Part& p, Id id) { return p.text().layout_bytes[p.process().saves.layout[id]]; });
  t.column("storage_bytes",
           [](const Part& p, Id id) { return p.process().allocations.bytes[p.process().saves.allocation[id]]; });
  t.column("is_output", is(trace::kSaveIsOutput));
  t.column("is_wrapped_number", is(trace::kSaveIsWrappedNumber));
  t.column("is_packed", is(trace::kSaveIsPacked));
  return t.table();
}

}  // namespace

std::vector<Table> graph_tables() {
  std::vector<Table> tables;
  for (auto* make : {nodes, edges, saves}) tables.push_back(make());
  return tables;
}

}  // namespace tapelens::tables
