// The tables of modules: memory of each module at the peak of each phase.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analyzer/report/modules.h"
#include "analyzer/report/report.h"
#include "testing/trace_builder.h"
#include "tests/unit/support/golden.h"
#include "tests/unit/support/schema.h"

namespace tapelens::report {

using text::Style;

namespace {

using nlohmann::json;
using peak::HolderKind;
using trace::Role;
using trace::SpoolBuilder;

constexpr uint64_t kMiB = 1 << 20;

// Two layers of one block: the forward keeps 2 MiB of each, the backward makes gradients of 1 MiB, the optimizer its
// state.
run::Run trained() {
  SpoolBuilder b;
  b.op("aten::empty").alloc(0x1000, kMiB).end_op().role(Role::parameter, "block.up.weight", 0x1000, kMiB);
  b.op("aten::empty").alloc(0x2000, kMiB).end_op().role(Role::parameter, "block.down.weight", 0x2000, kMiB);
  const uint32_t layout = b.layout("float32", 4, {512, 1024}, {1024, 1});
  b.enter("Net", "Net").enter("Net.block", "Block");
  uint64_t at = 0x10000;
  for (const char* layer : {"Net.block.up", "Net.block.down"}) {
    b.enter(layer, "Linear").op("aten::addmm", {0x1000}).alloc(at, 2 * kMiB).node("AddmmBackward0", at + 1);
    b.save(at + 1, "mat1", at, 2 * kMiB, layout).end_op().leave();
    at += 0x1000;
  }
  b.leave().leave().backward();
  b.evaluate(0x11001).op("aten::mm", {0x11000}).alloc(0x20000, kMiB).end_op().end_evaluation();
  b.role(Role::gradient, "block.down.weight", 0x20000, kMiB, 0x2000);
  b.evaluate(0x10001).op("aten::mm", {0x10000}).alloc(0x21000, kMiB).end_op().end_evaluation();
  b.role(Role::gradient, "block.up.weight", 0x21000, kMiB, 0x1000).end_backward();
  b.free(0x10000).free(0x11000);
  b.optimizer("Adam#1").op("aten::zeros").alloc(0x30000, kMiB).end_op();
  b.role(Role::optimizer_state, "exp_avg", 0x30000, kMiB, 0x1000).end_optimizer();
  return b.seal();
}

Report by_module(std::optional<unsigned> depth = {}, std::optional<size_t> top = {}) {
  static const run::Run recording = trained();
  Options options;
  options.by = peak::By::module;
  options.depth = depth;
  options.top = top;
  auto built = build(recording, options);
  if (!built) throw std::runtime_error(built.error().message);
  return std::move(*built);
}

int64_t mib(const ModuleRow& row, HolderKind kind) {
  return row.by_kind[static_cast<size_t>(kind)].value / static_cast<int64_t>(kMiB);
}

const ModuleRow& row_of(const ModuleTable& table, const std::string& module) {
  for (const ModuleRow& row : table.rows) {
    if (row.module == module) return row;
  }
  throw std::runtime_error("no row of " + module);
}

TEST(Modules, EachPhaseHasItsPeakAndEachRowItsColumns) {
  const Report r = by_module();
  ASSERT_EQ(r.modules.size(), 3u);
  std::map<model::Phase, const ModuleTable*> tables;
  for (const ModuleTable& table : r.modules) tables[table.phase] = &table;
  const ModuleTable& forward = *tables.at(model::Phase::forward);
  EXPECT_EQ(forward.bytes.value, 6 * int64_t{kMiB});
  EXPECT_EQ(mib(row_of(forward, "Net.block.up"), HolderKind::parameter), 1);
  EXPECT_EQ(mib(row_of(forward, "Net.block.up"), HolderKind::save), 2);
  const ModuleTable& backward = *tables.at(model::Phase::backward);
  EXPECT_TRUE(backward.is_chosen);
  EXPECT_EQ(backward.bytes, r.peak.bytes);
  EXPECT_EQ(mib(row_of(backward, "Net.block.down"), HolderKind::gradient), 1);
  const ModuleTable& optimizer = *tables.at(model::Phase::optimizer);
  EXPECT_EQ(mib(row_of(optimizer, "Net.block.up"), HolderKind::optimizer_state), 1);
  EXPECT_EQ(mib(row_of(optimizer, "Net.block.up"), HolderKind::save), 0);
}

// At any depth and with any number of rows, each byte counts exactly once.
TEST(Modules, RowsAndColumnsSumToWhatWasAlive) {
  for (const std::optional<unsigned> depth : {std::optional<unsigned>(), {0U}, {1U}, {2U}, {9U}}) {
    for (const std::optional<size_t> top : {std::optional<size_t>(), {size_t{0}}, {size_t{1}}}) {
      const Report r = by_module(depth, top);
      for (const ModuleTable& table : r.modules) {
        model::Bytes sum = table.rest.bytes;
        for (const ModuleRow& row : table.rows) {
          model::Bytes columns;
          for (const model::Bytes bytes : row.by_kind) columns += bytes;
          EXPECT_EQ(columns, row.bytes) << row.module;
          sum += row.bytes;
        }
        EXPECT_EQ(sum, table.bytes);
      }
      model::Bytes groups = r.peak.groups_left_out.bytes;
      for (const AllocationGroup& group : r.peak.groups) groups += group.bytes;
      EXPECT_EQ(groups, r.peak.bytes);
    }
  }
}

TEST(Modules, DepthFoldsTheTree) {
  const Report r = by_module(1);
  for (const ModuleTable& table : r.modules) {
    for (const ModuleRow& row : table.rows)
      EXPECT_TRUE(row.module == "Net.block" || row.module[0] == '(') << row.module;
  }
  EXPECT_EQ(r.peak.groups.front().key, "Net.block");
  EXPECT_EQ(module_at("GPT.blocks.3.attention.query", {2U}), "GPT.blocks.3");
  EXPECT_EQ(module_at("GPT.blocks.3", {0U}), "GPT");
  EXPECT_EQ(module_at("GPT.blocks.3", {7U}), "GPT.blocks.3");
  EXPECT_EQ(module_at("GPT.blocks.3", {}), "GPT.blocks.3");
  EXPECT_EQ(module_at("(outside of modules)", {0U}), "(outside of modules)");
}

TEST(Modules, AMomentThatIsAskedForIsOneTable) {
  const run::Run recording = trained();
  Options options;
  options.by = peak::By::module;
  options.at = *parse_at("100ns");
  const auto r = build(recording, options);
  ASSERT_TRUE(r);
  ASSERT_EQ(r->modules.size(), 1u);
  EXPECT_TRUE(r->modules[0].is_chosen);
  EXPECT_EQ(r->modules[0].bytes, r->peak.bytes);
  options.by = peak::By::field;
  EXPECT_TRUE(build(recording, options)->modules.empty());
}

TEST(Modules, TextMarkdownAndJson) {
  const Report r = by_module();
  const std::string shown = text(r, {});
  for (const char* part : {"Forward: at most 6.0 MiB, in step 0", "Backward: 8.0 MiB, in step 0", "Optimizer: at most",
                           "parameters", "gradients", "saved", "Net.block.up"}) {
    EXPECT_NE(shown.find(part), std::string::npos) << part << "\n" << shown;
  }
  EXPECT_EQ(shown.find("Largest by module"), std::string::npos);
  EXPECT_NE(markdown(r, 1).find("| and 1 more |"), std::string::npos) << markdown(r, 1);
  const json schema =
      json::parse(testing::file_text(std::string(TAPELENS_GOLDEN_DIR) + "/../../docs/report.schema.json"));
  json value = json::parse(report::json(r));
  ASSERT_EQ(value["modules"].size(), 3u);
  EXPECT_EQ(testing::against_schema(schema, schema["properties"]["modules"], value["modules"], "$"), "");
  value["modules"][0]["rows"][0]["bytes"] = "many";
  EXPECT_NE(testing::against_schema(schema, schema["properties"]["modules"], value["modules"], "$"), "");
}

ModuleRow row_with(const char* module, int64_t saved, int64_t parameters) {
  ModuleRow row;
  row.module = module;
  row.by_kind[static_cast<size_t>(HolderKind::save)] = {saved};
  row.by_kind[static_cast<size_t>(HolderKind::parameter)] = {parameters};
  row.bytes = {saved + parameters};
  row.allocations = 1;
  return row;
}

TEST(Modules, EqualLayersAreOneLineWithTheirSum) {
  ModuleTable table;
  table.rows = {row_with("BertForClassification.encoder.layer.10.self", 30, 10),
                row_with("BertForClassification.encoder.layer.2.self", 30, 10),
                row_with("BertForClassification.encoder.layer.3.self", 30, 10),
                row_with("BertForClassification.encoder.layer.4.self", 20, 20),
                row_with("BertForClassification", 5, 0),
                row_with("(outside of modules)", 0, 4)};
  table.rest = row_with("", 3, 0);
  table.rows_left_out = 2;
  const ModuleLines lines = lines_of(table, 3);
  EXPECT_EQ(module_heading(lines), "module below BertForClassification");
  std::vector<std::string> shown;
  for (const auto& line : lines.lines)
    shown.push_back(name_text(line, 80) + " " + std::to_string(line.row.bytes.value));
  EXPECT_EQ(shown,
            (std::vector<std::string>{"encoder.layer.{2,3,10}.self  x3 120", "encoder.layer.4.self 40", "(itself) 5"}));
  EXPECT_EQ(lines.rest.modules, 3u) << "one more than the table leaves out";
  EXPECT_EQ(lines.rest.row.bytes.value, 7);
  EXPECT_EQ(lines.all.bytes.value, 172);
}

// With 60 columns of text, the largest kinds have their own column, and the others share one.
TEST(Modules, ANarrowTerminalHasTheRestInOneColumn) {
  Style narrow;
  narrow.width = 60;
  const std::string shown = text(by_module(), narrow);
  EXPECT_NE(shown.find("the rest"), std::string::npos) << shown;
  std::istringstream lines(shown);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  Net")) {
      EXPECT_LE(line.size(), 60u) << line;
    }
  }
}

}  // namespace
}  // namespace tapelens::report
