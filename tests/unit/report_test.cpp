// Reports of small recordings, as readable texts in tests/golden, and as JSON that follows docs/report.schema.json.
#include "analyzer/report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analyzer/report/sentences.h"
#include "analyzer/text/format.h"
#include "testing/trace_builder.h"
#include "tests/unit/support/golden.h"
#include "tests/unit/support/sample_advice.h"
#include "tests/unit/support/schema.h"

namespace tapelens::report {

using text::bar;
using text::bytes_text;
using text::columns;
using text::fit;
using text::pad_left;
using text::sparkline;
using text::Style;

namespace {

using nlohmann::json;
using testing::expect_golden;
using testing::file_text;
using trace::Role;
using trace::SpoolBuilder;
using trace::TestFolder;

constexpr uint64_t kMiB = 1 << 20;

// One step of a linear layer and an exponential: the saves of the forward are alive until the backward.
void train_step(SpoolBuilder& b, uint64_t base) {
  const uint32_t main = b.frame("/home/me/train.py", 31, "main");
  const uint32_t forward =
      b.stack({b.frame("/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py", 134, "forward"),
               b.frame("/home/me/train.py", 12, "Net.forward"), main});
  const uint32_t activation = b.stack({b.frame("/home/me/train.py", 13, "Net.forward"), main});
  const uint32_t layout = b.layout("float32", 4, {512, 1024}, {1024, 1});
  const uint32_t weights = b.layout("float32", 4, {1024, 256}, {256, 1});
  b.enter("Net", "Net").enter("Net.up", "Linear");
  b.op("aten::addmm", {0x1000}, forward).alloc(base + 1, 2 * kMiB).node("AddmmBackward0", base + 10);
  b.save(base + 10, "mat2", 0x1000, kMiB, weights).end_op().leave();
  b.op("aten::exp", {base + 1}, activation).alloc(base + 2, 2 * kMiB).node("ExpBackward0", base + 11);
  b.save(base + 11, "result", base + 2, 2 * kMiB, layout).end_op().leave();
  b.op("aten::sum", {base + 2}, b.stack({main})).alloc(base + 3, 4).node("SumBackward0", base + 12).end_op();
  b.backward().evaluate(base + 11);
  b.op("aten::mul", {base + 2}).alloc(base + 4, 2 * kMiB).end_op().free(base + 2).end_evaluation();
  b.evaluate(base + 10).op("aten::mm", {base + 4}).alloc(base + 5, kMiB).end_op().end_evaluation();
  b.free(base + 4).role(Role::gradient, "up.weight", base + 5, kMiB, 0x1000).end_backward();
  b.optimizer("SGD#1").op("aten::add_", {0x1000, base + 5}).end_op().end_optimizer();
  b.free(base + 5).free(base + 3).free(base + 1);
}

void begin_training(SpoolBuilder& b) {
  b.information("torch_version", "2.15.0");
  b.op("aten::empty", {}, b.stack({b.frame("/home/me/train.py", 5, "Net.__init__")})).alloc(0x1000, kMiB).end_op();
  b.role(Role::parameter, "up.weight", 0x1000, kMiB);
}

Report make(const run::Run& run, const Options& options = {}) {
  auto built = build(run, options);
  if (!built) throw std::runtime_error(built.error().message);
  Report& r = *built;
  r.advice = testing::sample_advice();
  // Replaces values that differ from run to run.
  r.recording.file = "run.tapelens";
  r.recording.file_bytes = 4096;
  r.peak.pid = 101;
  for (Lost& lost : r.recording.lost) lost.pid = 101;
  for (size_t i = 0; i < r.processes.size(); ++i) {
    r.processes[i].pid = static_cast<uint32_t>(101 + i);
    r.processes[i].parent_pid = 100;
  }
  return r;
}

run::Run two_steps() {
  SpoolBuilder b;
  begin_training(b);
  b.range("epoch 0");
  train_step(b, 0x10000);
  train_step(b, 0x20000);
  b.end_range();
  return b.seal();
}

TEST(Report, TextOfATrainingRun) { expect_golden("report.txt", text(make(two_steps()), {})); }

TEST(Report, TextOfAStepByModuleInANarrowTerminal) {
  Options options;
  options.at = *parse_at("step:1");
  options.by = peak::By::module;
  Style style;
  style.width = 60;
  style.rows = 2;
  options.top = 2;
  expect_golden("report_narrow.txt", text(make(two_steps(), options), style));
}

TEST(Report, MarkdownOfATrainingRun) { expect_golden("report.md", markdown(make(two_steps()), 10)); }

TEST(Report, JsonOfATrainingRun) { expect_golden("report.json", report::json(make(two_steps()))); }

// Two ranks, of which one was killed, and a DataLoader.
TEST(Report, TextOfTwoRanksOfWhichOneWasKilled) {
  TestFolder folder;
  {
    SpoolBuilder first(folder, "1.spool");
    first.information("rank", "0");
    begin_training(first);
    train_step(first, 0x10000);
    first.loss(trace::Loss::forked_child, 2).finish();
    SpoolBuilder second(folder, "2.spool");
    second.information("rank", "1");
    begin_training(second);
    second.op("aten::exp").alloc(0x2000, kMiB);
    second.kill();
  }
  trace::Sealed sealed = seal_folder(folder, "torchrun --nproc-per-node 2 train.py");
  Report r = make(std::move(sealed.recording));
  ASSERT_EQ(r.processes.size(), 2u);
  ASSERT_EQ(r.recording.lost.size(), 2u);
  r.recording.lost[1].pid = 102;  // both are spools of this process
  EXPECT_FALSE(r.recording.complete);
  expect_golden("report_ranks.txt", text(r, {}));
}

TEST(Report, JsonFollowsItsSchema) {
  const json schema = json::parse(file_text(std::string(TAPELENS_GOLDEN_DIR) + "/../../docs/report.schema.json"));
  for (const char* by : {"field", "node", "module", "source", "operator", "category", "step"}) {
    Options options;
    options.by = *peak::parse_by(by);
    if (options.by == peak::By::step) options.top = 1;
    const json value = json::parse(report::json(make(two_steps(), options)));
    EXPECT_EQ(testing::against_schema(schema, schema, value, "$"), "") << by;
  }
  // The check itself must be able to fail.
  json broken = json::parse(report::json(make(two_steps())));
  broken["peak"]["bytes"] = "many";
  EXPECT_NE(testing::against_schema(schema, schema, broken, "$"), "");
  broken["peak"].erase("bytes");
  EXPECT_NE(testing::against_schema(schema, schema, broken, "$"), "");
}

TEST(Report, EveryBreakdownSumsToThePeak) {
  for (const char* at : {"peak", "step:0", "step:1", "100ns", "0.2us"}) {
    Options options;
    options.at = *parse_at(at);
    options.top = 1;
    const json peak = json::parse(report::json(make(two_steps(), options)))["peak"];
    const auto sum = [&](const char* list) {
      int64_t total = 0;
      for (const json& entry : peak[list]) total += entry["bytes"].get<int64_t>();
      return total;
    };
    EXPECT_EQ(sum("by_category"), peak["bytes"]) << at;
    EXPECT_EQ(sum("groups") + peak["groups_left_out"]["bytes"].get<int64_t>(), peak["bytes"]) << at;
    EXPECT_EQ(sum("allocations") + peak["allocations_left_out"]["bytes"].get<int64_t>(), peak["bytes"]) << at;
  }
}

TEST(Report, ThePeakIsTheOneThatSealingCounted) {
  SpoolBuilder b;
  begin_training(b);
  train_step(b, 0x10000);
  b.alloc(0x900, 77, "cuda:0");
  trace::Sealed sealed = b.seal_all();
  const Report r = make(std::move(sealed.recording));
  ASSERT_EQ(r.processes[0].devices.size(), sealed.summary.processes[0].devices.size());
  for (size_t i = 0; i < r.processes[0].devices.size(); ++i) {
    EXPECT_EQ(r.processes[0].devices[i].device, sealed.summary.processes[0].devices[i].device);
    EXPECT_EQ(r.processes[0].devices[i].peak, sealed.summary.processes[0].devices[i].peak);
  }
  EXPECT_EQ(r.peak.device, "cpu");
}

TEST(Report, WhenOnlySomeStepsWereRecordedThePeakIsOneOfThem) {
  SpoolBuilder b;
  b.information("steps", "1:2");
  begin_training(b);
  b.alloc(0x900, 99 * kMiB).free(0x900);
  b.optimizer("SGD#1").end_optimizer();
  train_step(b, 0x10000);
  const Report r = make(b.seal());
  EXPECT_EQ(r.peak.step, 1u);
  EXPECT_LT(r.peak.bytes, r.processes[0].devices[0].peak);
  EXPECT_TRUE(text(r, {}).starts_with("Peak of steps 1:2: ")) << text(r, {});
}

TEST(Report, ThatTheGpuWasSimulatedIsSaidFirst) {
  for (const bool is_simulated : {false, true}) {
    SpoolBuilder b;
    if (is_simulated) b.information("simulated_gpu", "8 x NVIDIA L4");
    begin_training(b);
    train_step(b, 0x10000);
    const Report r = make(b.seal());
    const std::string words = text(r, {}), page = markdown(r, 5), value = report::json(r);
    const size_t said = words.find("On 8 x NVIDIA L4, simulated: no values, no times (--verbose: more)");
    EXPECT_EQ(said < words.find("What held it"), is_simulated) << words;
    EXPECT_EQ(page.find("> **Simulated:** On 8 x NVIDIA L4") < page.find("| held as |"), is_simulated) << page;
    EXPECT_EQ(value.find("\"simulated_gpu\": \"8 x NVIDIA L4\"") != std::string::npos, is_simulated) << value;
    EXPECT_EQ(value.find("\"simulated_gpu\": null") != std::string::npos, !is_simulated) << value;
  }
}

// A process with `bytes` of a GPU of 80 GiB with 132 multiprocessors.
void use_gpu(SpoolBuilder& b, uint64_t bytes) {
  b.information("simulated_gpu", "1 x NVIDIA H100").information("simulated_gpu_processors", "132");
  b.information("simulated_gpu_bytes", std::to_string(80ULL << 30));
  begin_training(b);
  b.segment(trace::SegmentChange::allocated, 0x10, bytes).block(0x10, bytes, bytes);
  train_step(b, 0x10000);
}

TEST(Report, WhatIsOutsideOfPyTorchOnASimulatedGpuIsEstimatedByName) {
  Report r;
  for (const bool has_communicators : {false, true}) {
    SpoolBuilder b;
    for (const char* ranks : {"cuda:0 2", "cuda:0 8", "cuda:0 1", "cuda:0 2"}) {
      if (has_communicators) b.information("nccl_communicator", ranks);
    }
    use_gpu(b, kMiB);
    r = make(b.seal());
    const std::string nccl =
        has_communicators ? "; NCCL, 1.9 GiB to 6.6 GiB for 1 communicator of 8 ranks, 2 of 2 ranks, 1 of 1 rank."
                          : ".";
    EXPECT_EQ(
        estimates_text(r),
        "Outside of PyTorch, estimated and not in these figures: CUDA's context, about 528.0 MiB and the kernels that "
        "are loaded" +
            nccl);
    const auto gpu = std::ranges::find(r.processes[0].devices, "cuda:0", &DeviceFacts::device);
    EXPECT_EQ(gpu->blocks->segments->reserved_peak.value, kMiB) << "in no figure";
  }
  EXPECT_EQ(r.processes[0].external_estimate->communicators, (std::vector<uint64_t>{8, 2, 2, 1}));
  EXPECT_EQ(text(r, {}).find("Outside of PyTorch"), std::string::npos) << text(r, {});
  r.options.is_verbose = true;
  EXPECT_NE(text(r, {}).find("Outside of PyTorch"), std::string::npos) << text(r, {});
  EXPECT_NE(markdown(r, 5).find("> Outside of PyTorch"), std::string::npos) << markdown(r, 5);
  EXPECT_NE(report::json(r).find("\"cuda_context_bytes\": 553648128"), std::string::npos) << report::json(r);
}

TEST(Report, AGpuThatHasNoRoomForItIsNamed) {
  for (const uint64_t free : {527ULL << 20, 528ULL << 20}) {
    SpoolBuilder b;
    use_gpu(b, (80ULL << 30) - free);
    const Report r = make(b.seal());
    const std::string said = estimates_text(r), conditions = condition_texts(r).front();
    EXPECT_EQ(said.ends_with(" With these the GPU's 80.0 GiB would not be enough."), free < 528ULL << 20) << said;
    EXPECT_EQ(conditions.find("; too small with the memory outside of PyTorch (") != std::string::npos,
              free < 528ULL << 20)
        << conditions;
  }
}

TEST(Report, OfARealGpuNothingIsEstimated) {
  SpoolBuilder b;
  begin_training(b);
  b.segment(trace::SegmentChange::allocated, 0x10, kMiB).block(0x10, kMiB, kMiB);
  train_step(b, 0x10000);
  const Report r = make(b.seal());
  EXPECT_EQ(estimates_text(r), "");
  EXPECT_NE(report::json(r).find("\"outside_estimate\": null"), std::string::npos);
}

TEST(Report, OfWhatWasImportedItSaysWhatIsNotKnown) {
  SpoolBuilder b;
  b.information("imported_from", "a memory snapshot of PyTorch").information("imported_older_allocations", "2");
  b.op("aten::mm").end_op().alloc(0x1000, 64);
  const Report r = make(b.seal());
  const std::string words = text(r, {}), page = markdown(r, 5), value = report::json(r);
  EXPECT_NE(words.find("Imported from a memory snapshot of PyTorch"), std::string::npos) << words;
  EXPECT_NE(imported_text(r.recording).find("2 allocations are older than the history: when they were made"),
            std::string::npos);
  EXPECT_NE(page.find("> Imported from a memory snapshot of PyTorch"), std::string::npos) << page;
  EXPECT_NE(value.find("\"older_allocations\": 2"), std::string::npos) << value;
  ASSERT_EQ(r.peak.by_category.size(), 1U);
  EXPECT_EQ(r.peak.by_category[0].kind, peak::HolderKind::unknown) << "no guess";
  EXPECT_EQ(r.options.by, peak::By::source) << "of fields nothing is known";
}

TEST(Report, PlacesWhereUnknownValuesAreReadAreNamedOnceEach) {
  SpoolBuilder b;
  b.information("simulated_gpu", "1 x NVIDIA L4");
  begin_training(b);
  const auto at = [&](uint32_t line) { return b.stack({b.frame("/code/train.py", line, "train")}); };
  for (const uint32_t line : {7U, 8U, 9U, 10U, 11U, 12U, 7U}) b.value_read("aten::item", at(line));
  b.value_read("aten::to", at(7)).value_read("cudaMemcpy");
  train_step(b, 0x10000);
  const Report r = make(b.seal());
  const auto& reads = r.processes[0].value_reads;
  ASSERT_EQ(reads.size(), 8U);
  EXPECT_EQ(reads[0].count, 2U);
  EXPECT_EQ(reads[0].frame.line, 7U);
  EXPECT_EQ(reads[6].op, "aten::to");
  EXPECT_EQ(reads[7].source, "") << "no stack";
  const std::string said =
      "The peak may depend on values that were not computed, read at train.py:7 train (item), train.py:8 train (item), "
      "train.py:9 train (item), train.py:10 train (item) and 4 places more (all: --format json).";
  EXPECT_EQ(value_reads_text(r), said);
  EXPECT_EQ(condition_texts(r), (std::vector<std::string>{"On 1 x NVIDIA L4, simulated: no values, no times; the peak "
                                                          "may depend on values (--verbose: more)"}));
  EXPECT_NE(markdown(r, 5).find("> The peak may depend on values"), std::string::npos) << markdown(r, 5);
  EXPECT_NE(report::json(r).find("\"operator\": \"cudaMemcpy\""), std::string::npos);
}

TEST(Report, ADeviceCanBeChosen) {
  SpoolBuilder b;
  begin_training(b);
  b.alloc(0x900, 77, "cuda:0");
  const run::Run recording = b.seal();
  Options options;
  options.device = "cuda:0";
  EXPECT_EQ(make(recording, options).peak.bytes, Bytes{77});
  options.device = "cuda:1";
  const auto built = build(recording, options);
  EXPECT_FALSE(built);
  EXPECT_EQ(built.error().kind, trace::ErrorKind::usage);
  EXPECT_NE(built.error().message.find("cpu, cuda:0"), std::string::npos) << built.error().message;
}

TEST(Report, AProcessStepOrMomentThatIsNotThereIsAUsageError) {
  const run::Run recording = two_steps();
  Options process, step, time;
  process.process = 1;
  step.at = *parse_at("step:9");
  time.at = *parse_at("1000s");
  for (const Options& options : {process, step, time}) {
    const auto built = build(recording, options);
    EXPECT_FALSE(built);
    EXPECT_EQ(built.error().kind, trace::ErrorKind::usage);
    EXPECT_NE(built.error().message.find("the recording"), std::string::npos) << built.error().message;
  }
}

TEST(Report, OfARecordingWithoutAnyAllocationSaysSo) {
  SpoolBuilder b;
  b.op("aten::size").end_op();
  const run::Run recording = b.seal();
  const auto built = build(recording, {});
  EXPECT_FALSE(built);
  EXPECT_EQ(built.error().kind, trace::ErrorKind::nothing_recorded);
}

TEST(Report, ForkedChildrenAreSaidAndDoNotMakeARecordingIncomplete) {
  SpoolBuilder b;
  begin_training(b);
  b.loss(trace::Loss::forked_child, 2);
  const Report r = make(b.seal());
  EXPECT_TRUE(r.recording.complete);
  ASSERT_EQ(r.recording.lost.size(), 1u);
  EXPECT_EQ(r.recording.lost[0].kind, "forked_child");
}

TEST(Report, LossOfDataMakesARecordingIncomplete) {
  SpoolBuilder b;
  begin_training(b);
  b.loss(trace::Loss::disk_full, 5);
  EXPECT_FALSE(make(b.seal()).recording.complete);
}

TEST(Report, NoLineOfTextIsWiderThanTheTerminalButTheCommandsToCopy) {
  const Report r = make(two_steps());
  for (const unsigned width : {60U, 80U, 100U, 160U}) {
    Style style;
    style.width = width;
    std::istringstream lines(text(r, style));
    for (std::string line; std::getline(lines, line) && line != "Next";) EXPECT_LE(columns(line), width) << line;
  }
}

TEST(Report, ColorAddsNothingButColor) {
  const Report r = make(two_steps());
  Style style;
  const std::string plain = text(r, style);
  EXPECT_EQ(plain.find('\033'), std::string::npos);
  style.color = true;
  std::string colored = text(r, style), stripped;
  ASSERT_NE(colored.find('\033'), std::string::npos);
  for (size_t i = 0; i < colored.size(); ++i) {
    if (colored[i] == '\033') {
      i = colored.find('m', i);
    } else {
      stripped += colored[i];
    }
  }
  EXPECT_EQ(stripped, plain);
}

TEST(Report, NamesThatWouldActInMarkdownOrBreakJsonAreMadeHarmless) {
  SpoolBuilder b;
  b.op("a`b|c\n").alloc(0x1000, 64).end_op();
  b.op("\xff\xfe").alloc(0x2000, 32).end_op();
  const Report r = make(b.seal());
  EXPECT_NE(markdown(r, 10).find("`a'b\\|c\\n`"), std::string::npos) << markdown(r, 10);
  EXPECT_NO_THROW({ EXPECT_TRUE(json::parse(report::json(r)).is_object()); });
}

TEST(At, IsThePeakAStepOrATime) {
  EXPECT_EQ(parse_at("peak")->kind, At::Kind::peak);
  EXPECT_EQ(parse_at("step:12")->step, 12u);
  EXPECT_EQ(parse_at("1.5s")->time, Time{1'500'000'000});
  EXPECT_EQ(parse_at("250ms")->time, Time{250'000'000});
  EXPECT_EQ(parse_at("40us")->time, Time{40'000});
  EXPECT_EQ(parse_at("1234ns")->time, Time{1234});
  EXPECT_EQ(parse_at("1234")->time, Time{1234});
  EXPECT_EQ(parse_at("9007199254740993ns")->time, Time{9007199254740993});
  for (const char* bad :
       {"", "step:", "step:x", "step:-1", "1.5", "s", "-1s", "1e3s", "nan", "1 s", "99999999999999s"}) {
    EXPECT_FALSE(parse_at(bad)) << bad;
  }
}

TEST(Format, BytesHaveOneDecimalAndABinaryUnit) {
  EXPECT_EQ(bytes_text(Bytes{0}), "0 B");
  EXPECT_EQ(bytes_text(Bytes{1023}), "1023 B");
  EXPECT_EQ(bytes_text(Bytes{1024}), "1.0 KiB");
  EXPECT_EQ(bytes_text(Bytes{1024 * 1024 - 1}), "1.0 MiB");
  EXPECT_EQ(bytes_text(Bytes{1'300'000'000}), "1.2 GiB");
}

TEST(Format, BarsShowASliverOfWhatIsNotNothing) {
  EXPECT_EQ(bar(0, 10), "");
  EXPECT_EQ(bar(0.0001, 10), "▏");
  EXPECT_EQ(bar(0.5, 4), "██");
  EXPECT_EQ(bar(2.0, 3), "███");
}

TEST(Format, SparklinesKeepTheHighestOfWhatTheyFold) {
  EXPECT_EQ(sparkline({1, 2, 3, 4, 5, 6, 7, 8}, 8), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({5, 5, 5}, 8), "▅▅▅");
  EXPECT_EQ(sparkline({0, 9, 0, 0, 0, 0}, 3), "█▁▁");
  EXPECT_EQ(sparkline({}, 3), "");
}

TEST(Format, LongTextIsCutInTheMiddleByCharacters) {
  EXPECT_EQ(fit("abcdefgh", 5), "ab…gh");
  EXPECT_EQ(fit("ääääää", 3), "ä…ä");
  EXPECT_EQ(fit("abc", 3), "abc");
  EXPECT_EQ(pad_left("…", 3), "  …");
}

}  // namespace
}  // namespace tapelens::report
