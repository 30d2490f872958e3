// See tables.h.
#include "analyzer/model/tables.h"

#include "trace/sealed_format.h"

namespace tapelens::model {

namespace {

std::string name_of(Table table) {
  switch (table) {
    case Table::string_bytes:
      return "string_bytes";
    case Table::strings:
      return "strings";
    case Table::frames:
      return "frames";
    case Table::stacks:
      return "stacks";
    case Table::stack_frames:
      return "stack_frames";
    case Table::layouts:
      return "layouts";
    case Table::layout_extents:
      return "layout_extents";
    case Table::modules:
      return "modules";
    case Table::devices:
      return "devices";
    case Table::information:
      return "information";
    case Table::threads:
      return "threads";
    case Table::operators:
      return "operators";
    case Table::operator_inputs:
      return "operator_inputs";
    case Table::operator_ends:
      return "operator_ends";
    case Table::allocations:
      return "allocations";
    case Table::frees:
      return "frees";
    case Table::nodes:
      return "nodes";
    case Table::node_edges:
      return "node_edges";
    case Table::node_releases:
      return "node_releases";
    case Table::saves:
      return "saves";
    case Table::evaluations:
      return "evaluations";
    case Table::evaluation_ends:
      return "evaluation_ends";
    case Table::backwards:
      return "backwards";
    case Table::roles:
      return "roles";
    case Table::module_calls:
      return "module_calls";
    case Table::module_call_ends:
      return "module_call_ends";
    case Table::optimizer_steps:
      return "optimizer_steps";
    case Table::ranges:
      return "ranges";
    case Table::losses:
      return "losses";
    case Table::curve:
      return "curve";
    case Table::input_views:
      return "input_views";
    case Table::rewrites:
      return "rewrites";
    case Table::checksums:
      return "checksums";
    case Table::sources:
      return "sources";
  }
  return "number " + std::to_string(static_cast<unsigned>(table));
}

}  // namespace

Tables::Tables(const trace::Recording& recording, trace::ProcessIndex process)
    : recording_(&recording), process_(process) {}

Tables Tables::shared(const trace::Recording& recording) {
  Tables tables(recording, {});
  for (const trace::LeftOutTable& table : recording.left_out()) {
    if (static_cast<uint8_t>(table.table) < trace::kFirstTableOfProcess) tables.take(table);
  }
  return tables;
}

Tables Tables::of_process(const trace::Recording& recording, trace::ProcessIndex process) {
  Tables tables(recording, process);
  for (const trace::LeftOutTable& table : recording.left_out()) {
    if (static_cast<uint8_t>(table.table) >= trace::kFirstTableOfProcess && table.process == process)
      tables.take(table);
  }
  return tables;
}

void Tables::fault(Table table, std::string why) {
  std::string& first = whys_[static_cast<uint8_t>(table)];
  if (first.empty()) first = std::move(why);
}

std::vector<uint64_t> Tables::times(trace::Column<uint64_t> key) {
  std::vector<uint64_t> times = column(key);
  const auto falls = std::is_sorted_until(times.begin(), times.end());
  if (falls != times.end()) fault(key, "falls at row " + std::to_string(falls - times.begin()));
  if (times.back() >= static_cast<uint64_t>(kNever.ns)) fault(key, "is past all time");
  return times;
}

void Tables::sums(const trace::ColumnKey& key, const std::vector<uint64_t>& values) {
  int64_t total = 0;
  for (size_t row = 1; row < values.size() && is_sound(key.table); ++row) {
    if (__builtin_add_overflow(total, values[row], &total)) fault(key, "sums to more than 2^63");
  }
}

void Tables::earlier(const trace::ColumnKey& key, const std::vector<uint32_t>& parents) {
  for (uint32_t row = 1; row < parents.size(); ++row) {
    if (parents[row] >= row) return fault(key, "of row " + std::to_string(row) + " is not before it");
  }
}

void Tables::differ(const trace::ColumnKey& key, uint64_t total, Table table, uint64_t rows) {
  fault(table, "has " + std::to_string(rows) + " rows, where " + key.name + " of " + name_of(key.table) + " sums to " +
                   std::to_string(total));
}

std::vector<LeftOut> Tables::left_out() const {
  std::vector<LeftOut> all;
  for (size_t number = 0; number < whys_.size(); ++number) {
    const Table table{static_cast<uint8_t>(number)};
    if (!is_sound(table)) all.push_back({table, name_of(table), whys_[number]});
  }
  return all;
}

}  // namespace tapelens::model
