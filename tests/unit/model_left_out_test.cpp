// Tables that contradict themselves or one another: loading leaves them out and reads the rest, and every report lists
// them.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "analyzer/advise/checks.h"
#include "analyzer/model/load.h"
#include "analyzer/report/advice_text.h"
#include "analyzer/report/formats.h"
#include "analyzer/report/report.h"
#include "analyzer/text/escape.h"
#include "testing/sealed_parts.h"
#include "testing/trace_builder.h"

namespace tapelens::report {

using text::cell;
using text::Style;

namespace {

using namespace trace;

// Two operators, each with two inputs. Every table that another one refers to has rows.
testing::SealedParts sound_recording() {
  SpoolBuilder b;
  const uint32_t stack = b.stack({b.frame("train.py", 3, "main")});
  const uint32_t layout = b.layout("float32", 4, {4, 4}, {4, 1}), other = b.layout("float32", 4, {16}, {1});
  b.information("torch_version", "2.15.0").enter("Net", "Net").alloc(0x10, 64, "cpu", stack).accumulate_grad(0xa, 0x10);
  b.op("aten::cat", {0x10, 0x10}, stack, 1).views({{layout, 0, 1}, {layout, 0, 2}});
  b.alloc(0x20, 128).node("CatBackward0", 0xb, {{0xa, 0}}, 1).save(0xb, "self", 0x10, 64, layout).end_op();
  b.op("aten::stack", {0x10, 0x20}, stack, 2).views({{other, 0, 3}, {other, 0, 4}});
  b.alloc(0x30, 256).node("StackBackward0", 0xc, {{0xb, 0}}, 2).save(0xc, "other", 0x20, 128, other).end_op().leave();
  b.backward().evaluate(0xc).end_evaluation().evaluate(0xb).end_evaluation().end_backward();
  b.range("r").end_range().optimizer("SGD").end_optimizer().role(Role::parameter, "weight", 0x10, 64);
  b.free(0x30).free(0x20);
  const Recording recording = b.seal();
  std::ifstream file(b.folder() / "run.tapelens", std::ios::binary);
  return *testing::SealedParts::of(std::string(std::istreambuf_iterator<char>(file), {}));
}

Recording opened(const testing::SealedParts& parts, const TestFolder& folder) {
  const std::string path = folder / "made.tapelens";
  const std::string bytes = parts.bytes();
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  auto recording = Recording::open(path);
  if (!recording) throw std::runtime_error(recording.error().message);
  return std::move(*recording);
}

std::vector<std::string> names(const std::vector<model::LeftOut>& left_out) {
  std::vector<std::string> all;
  for (const model::LeftOut& table : left_out) all.push_back(table.name);
  return all;
}

TEST(LeftOut, ASoundRecordingHasAllItsTables) {
  const TestFolder folder;
  const Recording recording = opened(sound_recording(), folder);
  const model::Text text = model::load_text(recording);
  EXPECT_TRUE(text.left_out.empty());
  EXPECT_TRUE(load_process(recording, text, {}).left_out.empty());
}

TEST(LeftOut, RowsOfViewsThatAnOlderVersionWroteInTheOrderOfTimeAreSorted) {
  const TestFolder folder;
  testing::SealedParts parts = sound_recording();
  parts.set(column<table::InputViews>.op, std::vector<uint32_t>{2, 1, 1, 2});
  parts.set(column<table::InputViews>.layout, std::vector<uint32_t>{2, 1, 1, 2});
  parts.set(column<table::InputViews>.offset, std::vector<uint64_t>{3, 1, 2, 4});
  const Recording recording = opened(parts, folder);
  const model::Text text = model::load_text(recording);
  const model::Process process = load_process(recording, text, {});
  EXPECT_TRUE(process.left_out.empty());
  EXPECT_EQ(process.input_views.op.raw, (std::vector<uint32_t>{0, 1, 1, 2, 2}));
  EXPECT_EQ(process.input_views.layout.raw, (std::vector<uint32_t>{0, 1, 1, 2, 2}));
  EXPECT_EQ(process.input_views.offset.raw, (std::vector<uint64_t>{0, 1, 2, 3, 4}));
}

using Change = std::function<void(testing::SealedParts&)>;
template <class T>
Change put(const Column<T>& key, const std::vector<T>& values) {
  return [key, values](testing::SealedParts& parts) { parts.set(key, values); };
}

TEST(LeftOut, OneTableThatIsWrongIsLeftOutAloneAndEveryReportSaysSo) {
  const std::vector<std::pair<std::string, Change>> cases = {
      {"input_views", put(column<table::InputViews>.op, {1, 2, 2, 2})},
      {"input_views", put(column<table::InputViews>.layout, {1, 1, 9, 1})},
      {"operators", put(column<table::Operators>.name, {1, 999})},
      {"operators", put(column<table::Operators>.begin, {50, 20})},
      {"operators", put(column<table::Operators>.parent, {0, 2})},
      {"operator_inputs", put(column<table::OperatorInputs>.allocation, {1, 1, 1, 9})},
      {"operator_inputs", put(column<table::Operators>.input_count, {2, 3})},
      {"operator_ends", put(column<table::OperatorEnds>.of, {1, 7})},
      {"operator_ends", put(column<table::OperatorEnds>.end, {1, 2})},
      {"nodes", put(column<table::Nodes>.op, {0, 1, 5})},
      {"node_edges", put(column<table::NodeEdges>.node, {1, 9})},
      {"saves", put(column<table::Saves>.allocation, {1, 9})},
      {"saves", put(column<table::Saves>.node, {2, 8})},
      {"evaluations", put(column<table::Evaluations>.node, {3, 9})},
      {"evaluation_ends", put(column<table::EvaluationEnds>.of, {1, 9})},
      {"module_calls", put(column<table::ModuleCalls>.module, {9})},
      {"ranges", put(column<table::Ranges>.name, {999})},
      {"optimizer_steps", put(column<table::OptimizerSteps>.name, {999})},
      {"roles", put(column<table::Roles>.allocation, {9})},
      {"information", put(column<table::Information>.value, {999})},
      {"frames", put(column<table::Frames>.file, {999})},
      {"modules", put(column<table::Modules>.path, {999})},
      {"devices", put(column<table::Devices>.name, {999})},
  };
  const TestFolder folder;
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto& [table, change] = cases[i];
    testing::SealedParts parts = sound_recording();
    change(parts);
    const run::Run run = opened(parts, folder);
    const Recording& recording = run.recording();
    const model::Text text = model::load_text(recording);
    std::vector<std::string> left_out = names(text.left_out);
    model::Process process = load_process(recording, text, {});
    for (const std::string& name : names(process.left_out)) left_out.push_back(name);
    EXPECT_EQ(left_out, std::vector<std::string>{table}) << "case " << i;
    process.each_table([&](const auto& columns) {
      EXPECT_TRUE(!lacks(process.left_out, columns.kTable) || columns.rows() == 0) << "case " << i;
    });

    advise::Checks checks;
    const Advising advising{checks, {}, {}};
    const auto built = build(run, {}, &advising);
    ASSERT_TRUE(built) << table << ": " << built.error().message;
    EXPECT_FALSE(built->recording.complete);
    const std::string said = "the file's table " + table;
    Style wide;
    wide.width = 1000;
    EXPECT_NE(report::text(*built, wide).find(said), std::string::npos) << "case " << i;
    EXPECT_NE(json(*built).find(said), std::string::npos) << "case " << i;
    EXPECT_NE(markdown(*built, 5).find(cell(said)), std::string::npos) << "case " << i;
    EXPECT_NE(advice_text(*built, wide).find(said), std::string::npos) << "case " << i;
    EXPECT_NE(sarif(*built, {}, check::SourceTree{}, "1").find(said), std::string::npos) << "case " << i;
    EXPECT_EQ(built->advice->refused.empty(), table == "input_views") << "no check may miss a use: case " << i;
    EXPECT_EQ(built->peak.bytes.value, 448) << "case " << i;
  }
}

TEST(LeftOut, WithoutTheTextThereAreNumbersStill) {
  const TestFolder folder;
  testing::SealedParts parts = sound_recording();
  std::erase_if(parts.chunks, [](auto& chunk) { return Table{chunk.entry.table} == Table::strings; });
  const auto built = build(opened(parts, folder), {});
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(built->peak.bytes.value, 448);
}

TEST(LeftOut, WithoutTheFreesNoPeakIsTold) {
  const TestFolder folder;
  testing::SealedParts parts = sound_recording();
  parts.set(column<table::Frees>.of, std::vector<uint32_t>{3, 9});
  const auto built = build(opened(parts, folder), {});
  EXPECT_FALSE(built);
  EXPECT_NE(built.error().message.find("allocations"), std::string::npos) << built.error().message;
}

TEST(LeftOut, AColumnThatCannotBeDecodedTakesItsTableWithIt) {
  const TestFolder folder;
  testing::SealedParts parts = sound_recording();
  for (auto& chunk : parts.chunks) {
    if (Table{chunk.entry.table} != Table::roles || chunk.entry.column != column<table::Roles>.time.number) continue;
    chunk.entry.planes = 1;  // one byte a row
    chunk.stored = "abc";
  }
  const Recording recording = opened(parts, folder);
  EXPECT_EQ(names(load_process(recording, model::load_text(recording), {}).left_out),
            std::vector<std::string>{"roles"});
}

TEST(LeftOut, AFileThatSaysItHasMoreRowsThanSuchAFileCanHoldIsRefused) {
  const TestFolder folder;
  testing::SealedParts parts = sound_recording();
  // A column with one constant value needs only its entry: 48 bytes for 65536 rows.
  testing::SealedParts::Chunk same;
  same.entry.table = static_cast<uint8_t>(Table::checksums);
  same.entry.width = 8;
  same.entry.rows = kChunkRows;
  parts.chunks.insert(parts.chunks.end(), 7000, same);
  const RowsItem rows{0, static_cast<uint32_t>(Table::checksums), 7000 * kChunkRows};
  std::string bytes(sizeof(rows), '\0');
  std::memcpy(bytes.data(), &rows, sizeof(rows));
  parts.items.push_back({static_cast<uint32_t>(ItemTag::rows), bytes});
  try {
    opened(parts, folder);
    ADD_FAILURE() << "it was opened";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string_view(error.what()).find("more than a file of this size can hold"), std::string_view::npos)
        << error.what();
  }
}

TEST(LeftOut, NamesThatNobodyWouldReadToTheEndAreCutBetweenTwoCharacters) {
  const TestFolder folder;
  SpoolBuilder b;
  std::string name;
  while (name.size() < 20'000) name += "\xc3\xa9";
  b.enter("Net", name).op("short").alloc(0x10, 64).end_op().leave();
  const Recording recording = b.seal();
  const model::Text text = model::load_text(recording);
  const std::string_view type = text.string(text.module_type[model::ModuleId{1}]);
  EXPECT_LE(type.size(), 4096U);
  EXPECT_GT(type.size(), 4090U);
  EXPECT_TRUE(type.ends_with("\xc3\xa9…"));
  EXPECT_EQ(text.string(load_process(recording, text, {}).operators.name[model::OperatorId{1}]), "short");
}

}  // namespace
}  // namespace tapelens::report
