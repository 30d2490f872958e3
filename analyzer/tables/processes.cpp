// Processes, their memory on each device, their steps and regions, their losses and out-of-memory requests.
#include "analyzer/peak/device_memory.h"
#include "analyzer/tables/table.h"

namespace tapelens::tables {

namespace {

std::string_view device_name(const Part& part, DeviceId device) {
  return part.text().string(part.text().device_name[device]);
}

Table processes() {
  using Row = uint64_t;
  Declare<Row> t(
      "processes", [](const Part&) { return uint64_t{1}; }, [](const Part&, uint64_t row) { return row; });
  t.column("pid", [](const Part& p, Row) { return p.process().summary.pid; });
  t.column("parent_pid", [](const Part& p, Row) { return p.process().summary.parent_pid; });
  t.column("rank", [](const Part& p, Row) {
    const int32_t rank = p.process().summary.rank;
    return rank < 0 ? std::nullopt : std::optional(rank);
  });
  t.column("finished", [](const Part& p, Row) { return p.process().summary.finished; });
  t.column("exit_code", [](const Part& p, Row) { return p.process().summary.exit_code; });
  t.column("wall_ns", [](const Part& p, Row) { return static_cast<int64_t>(p.process().summary.wall_ns); });
  t.column("torch_version", [](const Part& p, Row) { return p.analysis().information("torch_version"); });
  return t.table();
}

Table devices() {
  using Row = peak::DevicePeak;
  auto t = declare_rows<Row>(
      "devices", [](const Part& p) -> auto& { return p.analysis().devices(); });
  t.column("device", [](const Part& p, const Row& row) { return device_name(p, row.device); });
  t.column("peak_bytes", [](const Part&, const Row& row) { return row.peak; });
  t.column("peak_time_ns", [](const Part&, const Row& row) { return row.when.time; });
  t.column("allocations", [](const Part&, const Row& row) { return static_cast<int64_t>(row.allocations); });
  t.column("frees", [](const Part&, const Row& row) { return static_cast<int64_t>(row.frees); });
  t.column("live_at_end_bytes", [](const Part&, const Row& row) { return row.live_at_end; });
  // For devices whose allocators report blocks and segments.
  const auto of_blocks = [](Bytes peak::DeviceMemory::*bytes) {
    return [bytes](const Part& p, const Row& row) -> std::optional<Bytes> {
      if (!p.analysis().traits(row.device).has_blocks) return std::nullopt;
      return p.analysis().memory(row.device).*bytes;
    };
  };
  t.column("allocated_peak_bytes", of_blocks(&peak::DeviceMemory::allocated_peak));
  t.column("active_peak_bytes", of_blocks(&peak::DeviceMemory::active_peak));
  t.column("reserved_peak_bytes", [](const Part& p, const Row& row) -> std::optional<Bytes> {
    if (!p.analysis().traits(row.device).has_segments) return std::nullopt;
    return p.analysis().memory(row.device).reserved_peak;
  });
  return t.table();
}

Table steps() {
  using Row = OfDevice<report::Step>;
  auto t = declare_rows<Row>(
      "steps", [](const Part& p) -> auto& { return p.steps(); });
  t.column("device", [](const Part& p, const Row& row) { return device_name(p, row.device); });
  t.column("step", [](const Part&, const Row& row) { return row.row.index; });
  t.column("begin_ns", [](const Part&, const Row& row) { return row.row.begin; });
  t.column("end_ns", [](const Part&, const Row& row) { return row.row.end; });
  t.column("complete", [](const Part&, const Row& row) { return row.row.complete; });
  t.column("begin_live_bytes", [](const Part&, const Row& row) { return row.row.begin_live; });
  t.column("peak_bytes", [](const Part&, const Row& row) { return row.row.peak; });
  t.column("allocations", [](const Part&, const Row& row) { return static_cast<int64_t>(row.row.allocations); });
  t.column("allocated_bytes", [](const Part&, const Row& row) { return row.row.allocated; });
  t.column("backward_allocations",
           [](const Part&, const Row& row) { return static_cast<int64_t>(row.row.backward_allocations); });
  return t.table();
}

Table regions() {
  using Row = OfDevice<report::Range>;
  auto t = declare_rows<Row>(
      "regions", [](const Part& p) -> auto& { return p.ranges(); });
  t.column("device", [](const Part& p, const Row& row) { return device_name(p, row.device); });
  t.column("name", [](const Part&, const Row& row) { return std::string_view(row.row.name); });
  t.column("begin_ns", [](const Part&, const Row& row) { return row.row.begin; });
  t.column("end_ns", [](const Part&, const Row& row) { return row.row.end; });
  t.column("thread", [](const Part&, const Row& row) { return row.row.thread; });
  t.column("begin_live_bytes", [](const Part&, const Row& row) { return row.row.begin_live; });
  t.column("peak_bytes", [](const Part&, const Row& row) { return row.row.peak; });
  t.column("allocations", [](const Part&, const Row& row) { return static_cast<int64_t>(row.row.allocations); });
  t.column("allocated_bytes", [](const Part&, const Row& row) { return row.row.allocated; });
  return t.table();
}

Table out_of_memory() {
  using Row = report::OutOfMemory;
  auto t = declare_rows<Row>(
      "out_of_memory", [](const Part& p) -> auto& { return p.out_of_memory(); });
  t.column("device", [](const Part&, const Row& row) { return std::string_view(row.device); });
  t.column("time_ns", [](const Part&, const Row& row) { return row.time; });
  t.column("bytes", [](const Part&, const Row& row) { return row.bytes; });
  t.column("allocated_bytes", [](const Part&, const Row& row) { return row.allocated; });
  t.column("reserved_bytes", [](const Part&, const Row& row) { return row.reserved; });
  t.column("free_bytes", [](const Part&, const Row& row) { return row.free; });
  t.column("largest_unused_bytes", [](const Part&, const Row& row) { return row.largest_hole; });
  t.column("operator_name", [](const Part&, const Row& row) { return std::string_view(row.op); });
  t.column("module", [](const Part&, const Row& row) { return std::string_view(row.module); });
  t.column("source", [](const Part&, const Row& row) { return std::string_view(row.source); });
  return t.table();
}

Table losses() {
  using Row = run::Lost;
  auto t = declare_rows<Row>(
      "losses", [](const Part& p) -> auto& { return p.losses(); });
  t.column("kind", [](const Part&, const Row& row) { return std::string_view(row.kind); });
  t.column("count", [](const Part&, const Row& row) { return static_cast<int64_t>(row.count); });
  t.column("since_ns", [](const Part&, const Row& row) { return row.since; });
  t.column("is_data", [](const Part&, const Row& row) { return row.is_data; });
  t.text("message", [](const Part&, const Row& row) { return std::string_view(row.what); });
  return t.table();
}

}  // namespace

std::vector<Table> process_tables() {
  std::vector<Table> tables;
  for (auto* make : {processes, devices, steps, regions, out_of_memory, losses}) tables.push_back(make());
  return tables;
}

}  // namespace tapelens::tables
