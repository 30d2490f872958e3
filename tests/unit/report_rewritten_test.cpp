// The section about rewrites in a report.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analyzer/peak/replay.h"
#include "analyzer/peak/rewritten.h"
#include "analyzer/report/report.h"
#include "testing/model_builder.h"
#include "testing/trace_builder.h"
#include "tests/unit/support/golden.h"
#include "tests/unit/support/sample_advice.h"
#include "tests/unit/support/schema.h"

namespace tapelens::report {
namespace {

using testing::ProcessBuilder;
using namespace model;

// Two steps: a rewrite changes the saves of relu in both, at one line. Another operator's gradient is not rewritten.
run::Run two_steps() {
  trace::SpoolBuilder b;
  const uint32_t line = b.stack({b.frame("/home/me/train.py", 12, "Net.forward")});
  for (uint64_t step = 0; step < 2; ++step) {
    const uint64_t base = 0x10000 * (step + 1);
    b.enter("Net.act", "ReLU").op("aten::relu", {}, line).alloc(base, 1 << 20).node("ReluBackward0", base + 1);
    b.save(base + 1, "result", base, 1 << 20).rewrite("wide-save", 1, base + 1, "result", 1 << 20, 32768).end_op();
    b.leave().free(base).backward().evaluate(base + 1).end_evaluation().end_backward();
    b.optimizer("SGD").rewrite("late-gradient", 0, 0, "", 4096, 0, "the gradients are clipped").end_optimizer();
  }
  return b.seal();
}

Report make() {
  auto built = build(two_steps(), {});
  if (!built) throw std::runtime_error(built.error().message);
  built->recording.file = "run.tapelens";
  return std::move(*built);
}

Bytes saved(const ProcessBuilder& b, DeviceId device = testing::kCpu) {
  const peak::Analysis analysis(b.process, b.text);
  const peak::DeviceAnalysis on(analysis, device);
  return saved_for_backward(analysis.lifetimes(), on.timeline(), Time{0});
}

TEST(Rewritten, SitesAreCountedOnceAndBytesAreTheMostAtOneMoment) {
  const peak::Rewritten r = make().rewritten;
  ASSERT_EQ(r.applied.size(), 1U);
  EXPECT_EQ(r.applied[0].rewrite, "wide-save");
  EXPECT_EQ(r.applied[0].sites, 1U);
  EXPECT_EQ(r.applied[0].times, 2U);
  EXPECT_EQ(r.applied[0].bytes.value, 1 << 20);
  EXPECT_EQ(r.applied[0].kept.value, 32768);
  ASSERT_EQ(r.skipped.size(), 1U);
  EXPECT_EQ(r.skipped[0].reason, "the gradients are clipped");
  EXPECT_EQ(r.skipped[0].times, 2U);
  ASSERT_EQ(r.sites.size(), 2U);
  EXPECT_EQ(r.sites[0].node, "ReluBackward0");
  EXPECT_EQ(r.sites[0].op, "aten::relu");
  EXPECT_EQ(r.sites[0].module, "Net.act");
  EXPECT_EQ(r.sites[0].file, "/home/me/train.py");
  EXPECT_EQ(r.sites[0].line, 12U);
}

TEST(Rewritten, OutsideOfOperatorsItIsInTheModuleThatWasOpen) {
  trace::SpoolBuilder b;
  b.op("aten::empty").alloc(0x1000, 1 << 20).end_op();
  b.enter("Net.scan", "Scan").rewrite("scan-save", 4, 0, "", 4096, 64).leave();
  const auto built = build(b.seal(), {});
  ASSERT_TRUE(built) << built.error().message;
  ASSERT_EQ(built->rewritten.sites.size(), 1U);
  EXPECT_EQ(built->rewritten.sites[0].module, "Net.scan");
}

TEST(Rewritten, TwoSavesOfOneStorageAreItsBytesOnce) {
  ProcessBuilder b;
  const NodeId node = b.node(1, "MulBackward0");
  const AllocationId a = b.allocate(2, 100);
  b.save(3, node, "self", a);
  b.save(4, node, "other", a);
  b.rewrite(5, "unneeded-save", 0, node, "self", 100);
  b.rewrite(6, "unneeded-save", 0, node, "other", 100);
  b.release(20, node);
  const peak::Rewritten r = rewritten(peak::Analysis(b.done(), b.text));
  ASSERT_EQ(r.applied.size(), 1U);
  EXPECT_EQ(r.applied[0].sites, 2U);
  EXPECT_EQ(r.applied[0].bytes.value, 100);
}

TEST(SavedPeak, IsWhatSavesHoldWithoutParametersAndWithWhatRewritesKeep) {
  ProcessBuilder b;
  const NodeId node = b.node(1, "MulBackward0");
  const AllocationId weight = b.allocate(2, 1000), a = b.allocate(3, 100), c = b.allocate(4, 50);
  b.role(2, weight, Role::parameter, "weight");
  b.save(5, node, "self", weight);
  b.save(6, node, "other", a);
  b.save(7, node, "result", c);
  b.rewrite(8, "wide-save", 1, node, "other", 100, 3);
  const AllocationId more = b.allocate(8, 60);
  b.save(9, node, "more", more);
  b.save(9, node, "batch", b.allocate(9, 700));
  b.free(8, a);
  b.release(20, node);
  b.free(20, c);
  b.free(20, more);
  b.done();
  EXPECT_EQ(saved(b).value, 150) << "before the rewrite";
  b.backward(15, 20);
  EXPECT_EQ(saved(b).value, 113) << "the program has the batch, and the rewrite 3 of the other";
}

TEST(SavedPeak, IsTakenWhenABackwardBegins) {
  ProcessBuilder b;
  const NodeId node = b.node(1, "MulBackward0");
  const AllocationId early = b.allocate(2, 100);
  b.save(2, node, "self", early);
  b.release(10, node);
  b.free(10, early);
  const NodeId other = b.node(11, "MulBackward0");
  const AllocationId kept = b.allocate(12, 30);
  b.save(12, other, "self", kept);
  b.backward(20, 30);
  b.release(25, other);
  b.free(25, kept);
  const NodeId last = b.node(26, "ExpBackward0");
  const AllocationId result = b.allocate(26, 400);
  b.save(26, last, "result", result);
  b.release(50, last);
  b.free(50, result);
  b.done();
  EXPECT_EQ(saved(b).value, 30);
  b.backward(40, 41);
  EXPECT_EQ(saved(b).value, 400);
}

TEST(Rewritten, TextSaysWhatItIsKeptAsAndWhyOthersWereLeft) {
  const std::string shown = text(make(), {});
  EXPECT_NE(shown.find("Rewritten"), std::string::npos) << shown;
  EXPECT_NE(shown.find("1.0 MiB kept as   32.0 KiB  encoded, at 1 site, 2 times"), std::string::npos) << shown;
  EXPECT_NE(shown.find("the gradients are clipped"), std::string::npos) << shown;
}

TEST(Rewritten, MarkdownHasATableOfThem) {
  const std::string shown = markdown(make(), 5);
  EXPECT_NE(shown.find("| `wide-save` | 1.0 MiB | 32.0 KiB | 1 | encoded |"), std::string::npos) << shown;
}

TEST(Rewritten, JsonFollowsTheSchema) {
  Report report = make();
  report.advice = testing::sample_advice();
  const auto schema =
      nlohmann::json::parse(testing::file_text(std::string(TAPELENS_GOLDEN_DIR) + "/../../docs/report.schema.json"));
  const auto value = nlohmann::json::parse(json(report));
  EXPECT_EQ(testing::against_schema(schema, schema, value, "report"), "");
  EXPECT_EQ(value["rewritten"]["kept_bytes"], 32768);
}

TEST(Rewritten, ARecordingWithoutRewritesSaysNothingOfThem) {
  trace::SpoolBuilder b;
  b.op("aten::relu").alloc(0x10, 64).end_op();
  const run::Run recording = b.seal();
  const auto built = build(recording, {});
  ASSERT_TRUE(built);
  EXPECT_EQ(json(*built).find("rewritten"), std::string::npos);
  EXPECT_EQ(text(*built, {}).find("Rewritten"), std::string::npos);
}

}  // namespace
}  // namespace tapelens::report
