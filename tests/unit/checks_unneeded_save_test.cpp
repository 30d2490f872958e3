// The check unneeded-save: selects the rows of the table of needs that hold for a node, and reports their saves.
#include <gtest/gtest.h>

#include <utility>

#include "analyzer/advise/advice.h"
#include "plugins/unneeded-save/rule.h"
#include "testing/model_builder.h"

extern "C" const tapelens::check::Plugin* tapelens_plugin_unneeded_save();

namespace tapelens::check {
namespace {

using namespace plugins::unneeded_save;

using advise::Advice;
using advise::Checks;
using advise::Finding;

using testing::kCpu;
using testing::ProcessBuilder;

constexpr uint64_t kFirst = 1, kSecond = 2;

TEST(Needs, ARowHoldsForItsWantedGradientsAndAttributesAlone) {
  const Need plain{"ABackward0", "x", kFirst | kSecond, "", false, 2, "a"};
  EXPECT_TRUE(holds(plain, kFirst | kSecond, ""));
  EXPECT_TRUE(holds(plain, kFirst | kSecond, "training=True"));
  EXPECT_FALSE(holds(plain, kFirst, ""));
  const Need when{"ABackward0", "x", kAnyWanted, "a=1,training=False", false, 2, "a"};
  EXPECT_TRUE(holds(when, kSecond, "a=1,b=None,training=False"));
  EXPECT_FALSE(holds(when, kSecond, "a=1,training=True"));
  EXPECT_FALSE(holds(when, kSecond, "a=11,training=False"));
  EXPECT_FALSE(holds(when, kSecond, "aa=1,training=False"));
  EXPECT_FALSE(holds(when, kSecond, "")) << "an older recording, which does not say";
}

TEST(Needs, OnlyAMeasuredMinorHasATable) {
  EXPECT_TRUE(needs_of("2.15.0+cu132"));
  EXPECT_TRUE(needs_of("2.11.1"));
  EXPECT_FALSE(needs_of("2.1.0")) << "no prefix of 2.11 or 2.15";
  EXPECT_TRUE(needs_of("2.8.0"));
  EXPECT_FALSE(needs_of("2.7.1"));
  EXPECT_FALSE(needs_of("2.150.0"));
  EXPECT_FALSE(needs_of(""));
}

TEST(Needs, TheRowsOfAFieldAreFound) {
  const auto rows = *needs_of("2.15.0");
  EXPECT_FALSE(needs_of(rows, "ConvolutionBackward0", "input").empty());
  for (const Need& need : needs_of(rows, "ConvolutionBackward0", "input")) EXPECT_EQ(need.field, "input");
  EXPECT_TRUE(needs_of(rows, "ReluBackward0", "result").empty());
  EXPECT_TRUE(needs_of(rows, "", "").empty());
}

// Two convolutions. The first one makes the input of the second, and the program requests the first one's gradient. The
// input is freed with the second one's save.
struct Convolution : ProcessBuilder {
  struct Case {
    bool weight_wanted = false;
    std::string_view type = "ConvolutionBackward0", attributes = "";
    bool bias_wanted = false;
    uint8_t save_flags = 0, node_flags = 0;
    bool program_holds = false;
    std::string_view other_save = "";
    std::string_view torch = "2.15.0+cpu";
  };
  explicit Convolution(const Case& c) {
    process.information.push_back({string("torch_version"), string(c.torch)});
    const NodeId leaf = node(1, "AccumulateGrad", {}, allocate(1, 64));
    const OperatorId relu = op(10, 20, "aten::sin"), conv = op(30, 40, "aten::conv2d");
    const AllocationId x = allocate(11, 1 << 20, relu);
    const NodeId before = node(15, "SinBackward0", relu, {}, {leaf});
    const NodeId wanted_weight = c.weight_wanted ? leaf : NodeId{}, wanted_bias = c.bias_wanted ? leaf : NodeId{};
    const NodeId made = node(35, c.type, conv, {}, {before, wanted_weight, wanted_bias}, c.attributes);
    process.nodes.flags.raw[made.value] |= c.node_flags;
    save(36, made, "input", x, layout("float32", 4, {1 << 18}), c.save_flags);
    if (!c.other_save.empty()) save(37, made, c.other_save, x);
    allocate(50, 1 << 20);
    evaluate(100, 110, made, true);
    if (c.program_holds) op(150, 160, "aten::sum", {}, {}, {x});
    free(c.program_holds ? 170 : 111, x);
    backward(90, 120);
    done();
  }
  Advice advise() const {
    Checks checks;
    EXPECT_TRUE(checks.add(tapelens_plugin_unneeded_save(), "test"));
    return advise::advise(peak::DeviceAnalysis(peak::Analysis(process, text), kCpu), checks, {});
  }
};

TEST(UnneededSave, TheInputOfAConvolutionWhoseWeightWantsNoGradientIsFound) {
  const Advice advice = Convolution({}).advise();
  ASSERT_EQ(advice.findings.size(), 1U);
  const Finding& finding = advice.findings[0];
  EXPECT_EQ(finding.node + "." + finding.field, "ConvolutionBackward0.input");
  EXPECT_EQ(finding.bytes, Bytes{1 << 20});
  EXPECT_EQ(finding.severity, Severity::warning);
  EXPECT_EQ(advice.peak_before - advice.peak_after_all, Bytes{1 << 20});
  EXPECT_TRUE(finding.is_proved);
  EXPECT_NE(finding.message.find("only 1 of 3 is computed"), std::string::npos) << finding.message;
}

TEST(UnneededSave, AnAttributeOfTheNodeDecides) {
  const Advice advice =
      Convolution({.type = "NativeBatchNormBackward0", .attributes = "training=False", .bias_wanted = true}).advise();
  ASSERT_EQ(advice.findings.size(), 1U);
  EXPECT_NE(advice.findings[0].message.find("only 1, 3 of 3 are computed"), std::string::npos)
      << advice.findings[0].message;
}

TEST(UnneededSave, NothingIsSaidWhereSomethingNeedsItOrWhereItIsNotKnown) {
  const std::pair<const char*, Convolution::Case> cases[] = {
      {"the weight is wanted", {.weight_wanted = true}},
      {"it depends on an attribute that is not told", {.type = "NativeBatchNormBackward0", .bias_wanted = true}},
      {"it depends on an attribute, and that is another",
       {.type = "NativeBatchNormBackward0", .attributes = "training=True", .bias_wanted = true}},
      {"packed", {.save_flags = trace::kSaveIsPacked}},
      {"an edge was not seen", {.node_flags = trace::kNodeHasUnseenEdges}},
      {"a custom node", {.node_flags = trace::kNodeIsCustom}},
      {"the program holds it", {.program_holds = true}},
      {"saved again, by a field that is needed", {.other_save = "result"}},
  };
  for (const auto& [what, c] : cases) EXPECT_TRUE(Convolution(c).advise().findings.empty()) << what;
}

TEST(UnneededSave, AMinorWithoutATableIsSaid) {
  const Advice advice = Convolution({.torch = "2.7.1"}).advise();
  EXPECT_TRUE(advice.findings.empty());
  ASSERT_EQ(advice.refused.size(), 1U);
  EXPECT_NE(advice.refused[0].find("2.7.1"), std::string::npos) << advice.refused[0];
}

}  // namespace
}  // namespace tapelens::check
