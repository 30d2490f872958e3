// The peak set of each device, one row an allocation, and all holders of each.
#include "analyzer/model/attribution.h"
#include "analyzer/tables/sources.h"
#include "analyzer/tables/table.h"

namespace tapelens::tables {

namespace {

using Row = OfDevice<PeakRow>;

const peak::Member& member(const Part& p, const Row& row) { return p.peak_set(row.device).members[row.row.member]; }
AllocationId allocation(const Part& p, const Row& row) { return member(p, row).allocation; }
const peak::Holder& holder(const Part& p, const Row& row) { return p.peak_set(row.device).holders[row.row.holder]; }

void add_allocation(Declare<const Row&>& t) {
  t.column("device", [](const Part& p, const Row& row) { return p.text().device_name[row.device]; });
  t.column("allocation", allocation);
  t.column("bytes", [](const Part& p, const Row& row) { return member(p, row).bytes; });
}

void add_holder(Declare<const Row&>& t) {
  t.column("node_type", [](const Part& p, const Row& row) { return p.process().nodes.type[holder(p, row).node]; });
  t.column("field", [](const Part& p, const Row& row) { return holder(p, row).field; });
  t.column("name", [](const Part& p, const Row& row) { return name_of(p.text(), holder(p, row)); });
  t.column("parameter", [](const Part& p, const Row& row) -> StringId {
    const RoleId role = p.roles()[holder(p, row).parameter.value];
    return role && p.process().roles.kind[role] == Role::parameter ? p.process().roles.name[role] : StringId{};
  });
  t.column("saves", [](const Part& p, const Row& row) {
    const peak::Holder& of = holder(p, row);
    return of.kind == peak::HolderKind::save ? of.count : 0U;
  });
}

Table peak_set() {
  auto t = declare_rows<Row>(
      "peak", [](const Part& p) -> auto& { return p.peak(); });
  add_allocation(t);
  t.column("category",
           [](const Part& p, const Row& row) { return std::string_view(peak::category_name(holder(p, row).kind)); });
  add_holder(t);
  t.column("time_ns", [](const Part& p, const Row& row) { return p.process().allocations.time[allocation(p, row)]; });
  t.column("step", [](const Part& p, const Row& row) {
    return step_index_at(p.analysis().steps(), p.process().allocations.time[allocation(p, row)]);
  });
  t.column("operator_name",
           [](const Part& p, const Row& row) { return called_name_of(p.process(), p.text(), allocation(p, row)); });
  t.column("module", [](const Part& p, const Row& row) {
    return p.text().module_path[module_of(p.process(), allocation(p, row))];
  });
  // The module that owns a parameter, its gradient and its optimizer state.
  t.column("owner", [](const Part& p, const Row& row) {
    return p.text().module_path[p.parameter_modules().of(allocation(p, row))];
  });
  // The layout of the first save.
  t.named(
      "layout",
      [](const Part& p, const Row& row) { return p.peak_set(row.device).holders_of(member(p, row)).front().layout; },
      [](const Part& p, LayoutId layout) { return layout_text(p.text(), layout); });
  add_source(t, [](const Part& p, const Row& row) { return stack_of(p.process(), p.text(), allocation(p, row)); });
  return t.table();
}

Table peak_holders() {
  auto t = declare_rows<Row>(
      "peak_holders", [](const Part& p) -> auto& { return p.peak_holders(); });
  add_allocation(t);
  t.column("kind",
           [](const Part& p, const Row& row) { return std::string_view(peak::kind_name(holder(p, row).kind)); });
  add_holder(t);
  return t.table();
}

}  // namespace

std::vector<Table> peak_tables() {
  std::vector<Table> tables;
  for (auto* make : {peak_set, peak_holders}) tables.push_back(make());
  return tables;
}

}  // namespace tapelens::tables
