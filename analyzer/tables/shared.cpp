// The tables that all processes share: frames, stacks, modules.
#include <algorithm>

#include "analyzer/tables/table.h"

namespace tapelens::tables {

namespace {

template <class Id, class RowsOf>
Declare<Id> shared_ids(std::string name, RowsOf rows) {
  return Declare<Id>(
      std::move(name), rows, [](const Part&, uint64_t row) { return Id{static_cast<uint32_t>(row + 1)}; }, true);
}

Table frames() {
  using Id = FrameId;
  auto t = shared_ids<Id>("frames", [](const Part& p) { return uint64_t{p.text().frame_line.rows()}; });
  t.column("frame", [](const Part&, Id id) { return id; });
  t.column("file", [](const Part& p, Id id) { return p.text().frame_file[id]; });
  t.column("line", [](const Part& p, Id id) {
    const uint32_t line = p.text().frame_line[id];
    return line == 0 ? std::nullopt : std::optional(line);
  });
  t.column("function", [](const Part& p, Id id) { return p.text().frame_function[id]; });
  // Whether the frame is in the user's own files: not PyTorch's, the language's or an installed package's.
  t.column("is_own", [](const Part& p, Id id) { return is_own_frame(p.text(), id); });
  return t.table();
}

Table stacks() {
  using Row = uint64_t;
  Declare<Row> t(
      "stacks", [](const Part& p) { return uint64_t{p.text().stack_frames.size()}; },
      [](const Part&, uint64_t row) { return row; }, true);
  const auto stack_of = [](const Part& p, Row row) {
    const std::vector<uint32_t>& begin = p.text().stack_begin;  // [0] belongs to no stack
    const auto behind = std::upper_bound(begin.begin() + 1, begin.end(), row);
    return StackId{static_cast<uint32_t>(behind - begin.begin() - 1)};
  };
  t.column("stack", stack_of);
  // 0 is innermost.
  t.column("depth", [stack_of](const Part& p, Row row) {
    return static_cast<uint32_t>(row - p.text().stack_begin[stack_of(p, row).value]);
  });
  t.column("frame", [](const Part& p, Row row) { return p.text().stack_frames[row]; });
  return t.table();
}

Table modules() {
  using Id = ModuleId;
  auto t = shared_ids<Id>("modules", [](const Part& p) { return uint64_t{p.text().module_path.rows()}; });
  t.column("module", [](const Part&, Id id) { return id; });
  t.column("path", [](const Part& p, Id id) { return p.text().module_path[id]; });
  t.column("type", [](const Part& p, Id id) { return p.text().module_type[id]; });
  return t.table();
}

}  // namespace

std::vector<Table> shared_tables() {
  std::vector<Table> tables;
  for (auto* make : {frames, stacks, modules}) tables.push_back(make());
  return tables;
}

}  // namespace tapelens::tables
