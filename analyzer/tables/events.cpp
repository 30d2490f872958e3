// Allocations, the timeline of each device, and operators.
#include "analyzer/model/attribution.h"
#include "analyzer/tables/sources.h"
#include "analyzer/tables/table.h"

namespace tapelens::tables {

namespace {

Table allocations() {
  using Id = AllocationId;
  auto t = declare_ids<Id>("allocations", [](const Part& p) { return uint64_t{p.process().allocations.rows()}; });
  t.column("allocation", [](const Part&, Id id) { return id; });
  t.raw(
      "time_ns", [](const Part& p) -> auto& { return p.process().allocations.time.raw; });
  t.column("freed_ns", [](const Part& p, Id id) { return p.process().freed(id); });
  t.raw(
      "bytes", [](const Part& p) -> auto& { return p.process().allocations.bytes.raw; });
  t.column("device", [](const Part& p, Id id) { return p.text().device_name[p.process().allocations.device[id]]; });
  t.column("is_foreign", [](const Part& p, Id id) { return p.process().allocations.origin[id] == Origin::foreign; });
  t.column("step",
           [](const Part& p, Id id) { return step_index_at(p.analysis().steps(), p.process().allocations.time[id]); });
  t.column("phase", [](const Part& p, Id id) {
    return std::string_view(phase_name(p.analysis().phases().at(p.process().allocations.time[id])));
  });
  t.column("role", [](const Part& p, Id id) {
    const RoleId role = p.roles()[id.value];
    return std::string_view(role ? role_name(p.process().roles.kind[role]) : "");
  });
  // A gradient has the name of its parameter.
  t.column("name", [](const Part& p, Id id) {
    const Roles& roles = p.process().roles;
    const RoleId role = p.roles()[id.value];
    return roles.name[roles.kind[role] == Role::gradient ? p.roles()[roles.parameter[role].value] : role];
  });
  t.raw(
      "operator", [](const Part& p) -> auto& { return p.process().allocations.op.raw; });
  t.column("operator_name", [](const Part& p, Id id) { return called_name_of(p.process(), p.text(), id); });
  t.column("module", [](const Part& p, Id id) { return p.text().module_path[module_of(p.process(), id)]; });
  add_source(t, [](const Part& p, Id id) { return stack_of(p.process(), p.text(), id); });
  const auto of_block = [](auto column) {
    return [column](const Part& p, Id id) {
      const model::DeviceBlocks& blocks = p.process().device_blocks;
      const DeviceBlockId row = blocks.of(id);
      using Value = std::remove_cvref_t<decltype((blocks.*column)[row])>;
      return row ? std::optional<Value>((blocks.*column)[row]) : std::nullopt;
    };
  };
  t.column("block_bytes", of_block(&model::DeviceBlocks::rounded));
  t.column("block_address", of_block(&model::DeviceBlocks::address));
  t.column("stream", of_block(&model::DeviceBlocks::stream));
  return t.table();
}

Table timeline() {
  using Row = OfDevice<uint32_t>;
  auto t = declare_rows<Row>(
      "timeline", [](const Part& p) -> auto& { return p.events(); });
  t.column("device", [](const Part& p, const Row& row) { return p.text().device_name[row.device]; });
  t.column("time_ns", [](const Part& p, const Row& row) { return p.timeline(row.device).time_of(row.row); });
  t.column("allocation", [](const Part& p, const Row& row) { return p.timeline(row.device).allocation_of(row.row); });
  t.column("change_bytes", [](const Part& p, const Row& row) {
    const peak::Timeline& timeline = p.timeline(row.device);
    return timeline.live_after(row.row) - timeline.live_after_first(row.row);
  });
  t.column("live_bytes", [](const Part& p, const Row& row) { return p.timeline(row.device).live_after(row.row); });
  return t.table();
}

Table operators() {
  using Id = OperatorId;
  auto t = declare_ids<Id>("operators", [](const Part& p) { return uint64_t{p.process().operators.rows()}; });
  t.column("operator", [](const Part&, Id id) { return id; });
  t.raw(
      "begin_ns", [](const Part& p) -> auto& { return p.process().operators.begin.raw; });
  t.column("end_ns", [](const Part& p, Id id) { return p.process().operators.end[id]; });
  t.column("name", [](const Part& p, Id id) { return p.process().operators.name[id]; });
  t.raw(
      "parent", [](const Part& p) -> auto& { return p.process().operators.parent.raw; });
  // The node under evaluation, in a backward.
  t.column("backward_node",
           [](const Part& p, Id id) { return p.process().evaluations.node[p.process().operators.evaluation[id]]; });
  t.column("module", [](const Part& p, Id id) { return p.text().module_path[module_of(p.process(), id)]; });
  add_source(t, [](const Part& p, Id id) { return stack_of(p.process(), p.text(), id); });
  return t.table();
}

}  // namespace

std::vector<Table> event_tables() {
  std::vector<Table> tables;
  for (auto* make : {allocations, timeline, operators}) tables.push_back(make());
  return tables;
}

}  // namespace tapelens::tables
