// The runner of checks: groups, fingerprints, scores, order, refused arguments.
#include <gtest/gtest.h>

#include <stdexcept>

#include "analyzer/advise/advice.h"
#include "analyzer/advise/fingerprint.h"
#include "analyzer/advise/groups.h"
#include "testing/model_builder.h"

namespace tapelens::advise {
namespace {

using namespace check;

using testing::kCpu;
using testing::ProcessBuilder;

// Finds every save of one field ("*" matches any field) and replaces each by a few bytes. Tests set the behaviour from
// outside.
struct Behaviour {
  std::string field = "result";
  Severity severity = Severity::warning;
  const char* throws_in = "";
  uint32_t precedence = 10;
  bool is_alternative = false;
  Bytes instead{};
};
Behaviour g_first, g_second;

template <Behaviour& behaviour, char letter>
class FieldCheck final : public Check {
 public:
  CheckInfo info() const override {
    static constexpr Option kOptions[] = {{"min-bytes", "0", "the least bytes of a save"}};
    static constexpr char kId[] = {'t', 'e', 's', 't', '-', letter, 0};
    return {kId, 3, "saves of a field", "help", kOptions, behaviour.is_alternative, behaviour.precedence};
  }
  void run(const Context& context, const Options& options, Sink& sink) override {
    fail_in("run");
    if (ran_) throw std::runtime_error("run twice");
    ran_ = true;
    const Saves& saves = context.process.saves;
    for (uint32_t row = 1; row <= saves.rows(); ++row) {
      const SaveId save{row};
      const Bytes bytes = context.process.allocations.bytes[saves.allocation[save]];
      if ((behaviour.field != "*" && context.text.string(saves.field[save]) != behaviour.field) ||
          bytes < options.bytes("min-bytes"))
        continue;
      const Interval when{saves.time[save], saves.released[save]};
      peak::WhatIf change{{save}, {}, {}, {}};
      if (behaviour.instead.value > 0) {
        const Interval until_backward{saves.time[save], context.phases.backwards().front().begin};
        change.extras.push_back({saves.allocation[save], until_backward, behaviour.instead});
      }
      sink.add({place_of(context, save), saves.allocation[save], bytes, when, save}, change);
    }
  }
  Description describe(const Context&, const Group& group) const override {
    fail_in("describe");
    Description description;
    description.severity = behaviour.severity;
    description.title = "title";
    description.message = std::to_string(group.bytes.value) + " bytes";
    return description;
  }

 private:
  static void fail_in(std::string_view where) {
    if (where == behaviour.throws_in) throw std::runtime_error("no\nluck");
  }
  bool ran_ = false;
};
using First = FieldCheck<g_first, 'a'>;
using Second = FieldCheck<g_second, 'b'>;

// Two layers of one line, each with a relu whose result is kept by itself and by the next conv.
struct Layers : ProcessBuilder {
  Layers() {
    const StackId stack = this->stack({frame("/home/me/train.py", 12, "forward")});
    const LayoutId shape = layout("float32", 4, {250});
    for (const int i : {0, 1}) {
      const int64_t t = 100 * i;
      const ModuleCallId call = this->call(t + 1, t + 90, module("Net.layers." + std::to_string(i), "Layer"));
      const OperatorId relu = op(t + 10, t + 20, "aten::relu", {}, stack);
      const AllocationId y = allocate(t + 11, 1000, relu);
      const OperatorId conv = op(t + 30, t + 50, "aten::conv2d", {}, stack, {y});
      for (const OperatorId of : {relu, conv}) process.operators.module_call.raw[of.value] = call.value;
      const NodeId relu_node = node(t + 15, "ReluBackward0", relu);
      const NodeId conv_node = node(t + 35, "ConvolutionBackward0", conv);
      save(t + 15, relu_node, "result", y, shape);
      save(t + 35, conv_node, "input", y, shape);
      nodes_.push_back(relu_node);
      nodes_.push_back(conv_node);
      made_.push_back(y);
    }
    const AllocationId small = allocate(250, 10);
    int64_t t = 300;
    for (size_t i = nodes_.size(); i-- > 0; t += 10) {
      evaluate(t, t + 5, nodes_[i], true);
      if (i == 2) free(t + 2, small);
      if (i % 2 == 0) free(t + 6, made_[i / 2]);
    }
    backward(290, 400);
    optimizer_step(410, 420);
    done();
  }
  Advice advise(Checks& checks, const AdviceOptions& wanted = {}) const {
    return advise::advise(peak::DeviceAnalysis(peak::Analysis(process, text), kCpu), checks, wanted);
  }

 private:
  std::vector<NodeId> nodes_;
  std::vector<AllocationId> made_;
};

// The advice for a recording, with the changes that the replay needs to remove any part of the advice.
class Replayed {
 public:
  Replayed(const ProcessBuilder& of, Checks& checks, const AdviceOptions& wanted = {})
      : analysis_(of.process, of.text),
        device_(analysis_, kCpu),
        advice(advise::advise(device_, checks, wanted, {}, &changes)) {}
  // The peak without the findings of these checks.
  Bytes peak_without(const std::vector<std::string>& checks) const {
    std::vector<const TimelineChange*> ticked;
    for (const std::string& check : checks) {
      for (size_t i = 0; i < changes.size(); ++i) {
        if (advice.findings[i].check == check) ticked.push_back(&changes[i]);
      }
    }
    return without(analysis_.process(), device_.replay(), ticked).peak;
  }

 private:
  peak::Analysis analysis_;
  peak::DeviceAnalysis device_;

 public:
  std::vector<TimelineChange> changes;
  Advice advice;
};

class Advise : public ::testing::Test {
 protected:
  void SetUp() override {
    g_first = Behaviour{};
    g_second = Behaviour{"input"};
    EXPECT_TRUE(checks.add(policy::registration_of<CheckInterface, First, Second>(), "test"));
  }
  Layers layers;
  Checks checks;
};

TEST_F(Advise, RepeatedLayersAreOneFinding) {
  const Advice advice = layers.advise(checks, {{"test-a"}, {}, {}});
  ASSERT_EQ(advice.findings.size(), 1U);
  const Finding& finding = advice.findings[0];
  EXPECT_EQ(finding.check, "test-a");
  EXPECT_EQ(finding.check_version, 3U);
  EXPECT_EQ(finding.bytes, Bytes{2000});
  EXPECT_EQ(finding.occurrences, 2U);
  EXPECT_EQ(finding.sites, 2U);
  EXPECT_EQ(finding.module, "Net.layers.*");
  EXPECT_EQ(finding.node, "ReluBackward0");
  EXPECT_EQ(finding.field, "result");
  EXPECT_EQ(finding.op, "aten::relu");
  EXPECT_EQ(finding.source.line, 12U);
  EXPECT_EQ(finding.message, "2000 bytes");
  ASSERT_EQ(finding.evidence.size(), 1U);
  EXPECT_EQ(finding.evidence[0].count, 2U);
  EXPECT_EQ(finding.evidence[0].layout, "float32 [250]");
  EXPECT_EQ(finding.evidence[0].kept_by, std::vector<std::string>{"ConvolutionBackward0.input"});
}

// A check must not use the facts of one process for another process.
TEST_F(Advise, EachRunHasACheckOfItsOwn) {
  for (int process = 0; process < 2; ++process) {
    const Advice advice = layers.advise(checks);
    EXPECT_EQ(advice.refused, std::vector<std::string>{});
    EXPECT_EQ(advice.findings.size(), 2U);
  }
}

TEST_F(Advise, WhatOneOfTwoKeepersGivesUpCountsOnlyWithTheOther) {
  const Advice advice = layers.advise(checks);
  ASSERT_EQ(advice.findings.size(), 2U);
  EXPECT_EQ(advice.peak_before, Bytes{2010});
  EXPECT_EQ(advice.peak_after_all, Bytes{1000});
  for (const Finding& finding : advice.findings) {
    EXPECT_EQ(finding.peak_after, Bytes{2010});
    EXPECT_EQ(finding.retained_at_peak_with_all, Bytes{1010});
    EXPECT_EQ(finding.severity, Severity::warning);
  }
}

// Relu keeps its result longer than conv does, no matter which tensors conv saves.
TEST_F(Advise, WhatFreesNothingEvenWithAllOthersIsNoFinding) {
  EXPECT_TRUE(layers.advise(checks, {{"test-b"}, {}, {}}).findings.empty());
}

TEST_F(Advise, WhatDoesNotMoveThePeakIsInfoUnlessItIsAnError) {
  const Advice alone = layers.advise(checks, {{"test-a"}, {}, {}});
  EXPECT_EQ(alone.findings.at(0).severity, Severity::info);
  EXPECT_EQ(alone.peak_after_all, alone.peak_before);
  g_first.severity = Severity::error;
  EXPECT_EQ(layers.advise(checks, {{"test-a"}, {}, {}}).findings.at(0).severity, Severity::error);
}

TEST_F(Advise, AFailingCheckIsRefusedInOneLineAndTheRestGoesOn) {
  g_second.field = "result";
  for (const char* where : {"run", "describe"}) {
    g_first.throws_in = where;
    const Advice advice = layers.advise(checks);
    ASSERT_EQ(advice.refused.size(), 1U);
    EXPECT_EQ(advice.refused[0], "test-a (test): no luck");
    ASSERT_EQ(advice.findings.size(), 1U);
    EXPECT_EQ(advice.findings[0].check, "test-b");
  }
}

// Each entry appears once, in the order of priority. The headline is the peak that is left after the last entry.
TEST_F(Advise, EntriesAddUpToThePeakWithoutAll) {
  g_first = {.field = "result", .severity = Severity::info};
  g_second = {.field = "input", .severity = Severity::error};
  const Advice advice = layers.advise(checks);
  ASSERT_EQ(advice.findings.size(), 2u);
  ASSERT_EQ(advice.entries.size(), 2u);
  EXPECT_EQ(advice.entries[0].kind, Entry::Kind::error);
  EXPECT_EQ(advice.findings[advice.entries[0].findings[0]].check, "test-b");
  EXPECT_EQ(advice.entries[0].peak_before, advice.peak_before);
  EXPECT_EQ(advice.entries[0].peak_after, advice.peak_before);  // the other one holds the same
  EXPECT_FALSE(advice.entries[0].is_small);
  EXPECT_EQ(advice.entries[1].kind, Entry::Kind::consider);
  EXPECT_EQ(advice.entries[1].peak_before, advice.entries[0].peak_after);
  EXPECT_EQ(advice.entries[1].peak_after, advice.peak_after_all);
  EXPECT_LT(advice.peak_after_all, advice.peak_before);
}

TEST_F(Advise, WhatOneCheckFindsAtOneLineIsOneEntryAndAnAlternativeIsAlone) {
  g_first = {.field = "*"};
  g_second = {.field = "*", .is_alternative = true};
  const Advice advice = layers.advise(checks);
  EXPECT_EQ(advice.findings.size(), 4u);
  ASSERT_EQ(advice.entries.size(), 3u);
  EXPECT_EQ(advice.entries[0].kind, Entry::Kind::code);
  EXPECT_EQ(advice.entries[0].findings.size(), 2u);
  EXPECT_EQ(advice.entries[0].peak_after, advice.peak_after_all);
  for (const size_t at : {1, 2}) {
    EXPECT_EQ(advice.entries[at].kind, Entry::Kind::trade);
    EXPECT_EQ(advice.entries[at].peak_before, advice.peak_before);
    EXPECT_EQ(advice.entries[at].peak_after, advice.findings[advice.entries[at].findings[0]].peak_after);
  }
}

TEST_F(Advise, WhatIsLeftIsThePeakWithoutAll) {
  g_first = {.field = "*"};
  g_second = {.field = "nothing"};
  const Advice advice = layers.advise(checks);
  Bytes left;
  for (const Remaining& one : advice.left) left += one.bytes;
  EXPECT_EQ(left, advice.peak_after_all);
  ASSERT_FALSE(advice.left.empty());
  EXPECT_EQ(advice.left[0].source.line, advice.left[0].source.file.empty() ? 0u : 12u);
}

TEST_F(Advise, OptionsReachTheirCheck) {
  EXPECT_TRUE(layers.advise(checks, {{"test-a"}, {}, {{"test-a.min-bytes", "1001"}}}).findings.empty());
  EXPECT_EQ(layers.advise(checks, {{"test-a"}, {}, {{"test-a.min-bytes", "0.5KiB"}}}).findings.size(), 1U);
  EXPECT_EQ(layers.advise(checks, {{"test-a"}, {}, {{"test-b.min-bytes", "1MiB"}}}).findings.size(), 1U);
  const Advice wrong_size = layers.advise(checks, {{"test-a"}, {}, {{"test-a.min-bytes", "much"}}});
  ASSERT_EQ(wrong_size.refused.size(), 1U);
  EXPECT_NE(wrong_size.refused[0].find("'much', not a size"), std::string::npos);
}

TEST_F(Advise, SmallFindingsAreLeftOutOfTheSumToo) {
  const Advice advice = layers.advise(checks, {{}, Bytes{2001}, {}});
  EXPECT_TRUE(advice.findings.empty());
  EXPECT_EQ(advice.peak_after_all, advice.peak_before);
}

TEST_F(Advise, WrongNamesAreSaid) {
  EXPECT_TRUE(valid({{"test-a"}, {}, {{"test-a.min-bytes", "1"}}}, checks));
  const auto refused = [&](const AdviceOptions& wanted) {
    const trace::Status status = valid(wanted, checks);
    EXPECT_FALSE(status);
    EXPECT_EQ(status.error().kind, trace::ErrorKind::usage);
    return status.error().message;
  };
  EXPECT_EQ(refused({{"nothing"}, {}, {}}), "unknown check 'nothing': the checks are test-a, test-b");
  EXPECT_EQ(refused({{}, {}, {{"test-a.max", "1"}}}), "check 'test-a' has no option 'max': it has min-bytes");
  EXPECT_EQ(refused({{}, {}, {{"min-bytes", "1"}}}),
            "'min-bytes' is not of the form CHECK.OPTION: the checks are test-a, test-b");
}

TEST_F(Advise, PluginsOfOtherBuildsAndDoubleIdsAreRefused) {
  Plugin plugin = *policy::registration_of<CheckInterface, First>();
  const auto refused = [&] {
    const trace::Status added = checks.add(&plugin, "x.so");
    EXPECT_FALSE(added);
    return added.error().message;
  };
  EXPECT_NE(refused().find("there is a check 'test-a' already"), std::string::npos);
  plugin.interface = CheckInterface::kVersion + 1;
  EXPECT_TRUE(refused().starts_with("x.so: built for the check interface " + std::to_string(plugin.interface)));
  plugin = *policy::registration_of<CheckInterface, First>();
  plugin.built_for ^= 1;
  EXPECT_NE(refused().find("another compiler"), std::string::npos);
  EXPECT_EQ(checks.entries().size(), 2U);
}

TEST_F(Advise, FingerprintsDoNotDependOnTheRun) {
  const std::string id = layers.advise(checks, {{"test-a"}, {}, {}}).findings.at(0).id;
  EXPECT_EQ(id.size(), 16U);
  // Other strings and modules first: other ids, the same finding.
  struct Shifted : ProcessBuilder {
    Shifted() {
      string("something");
      module("Other", "Other");
      const StackId other = this->stack({frame("b.py", 1, "f")});
      op(1, 2, "aten::mul", {}, other);
      const StackId stack = this->stack({frame("/elsewhere/train.py", 12, "forward")});
      const OperatorId relu = op(10, 20, "aten::relu", {}, stack);
      process.operators.module_call.raw[relu.value] = call(5, 30, module("Net.layers.7", "Layer")).value;
      const AllocationId y = allocate(11, 5, relu);
      const NodeId node = this->node(15, "ReluBackward0", relu);
      save(15, node, "result", y);
      done();
    }
  } const shifted;
  const Advice advice = advise::advise(peak::DeviceAnalysis(peak::Analysis(shifted.process, shifted.text), kCpu),
                                       checks, {{"test-a"}, {}, {}});
  EXPECT_EQ(advice.findings.at(0).id, id);
}

TEST_F(Advise, AnyFindingsCanBeTakenAwayAndAllOfThemGiveThePeakWithoutAll) {
  const Replayed replayed(layers, checks);
  ASSERT_EQ(replayed.advice.findings.size(), 2U);
  ASSERT_EQ(replayed.changes.size(), 2U);
  EXPECT_EQ(replayed.peak_without({}), Bytes{2010});
  EXPECT_EQ(replayed.peak_without({"test-a"}), Bytes{2010});
  EXPECT_EQ(replayed.peak_without({"test-b"}), Bytes{2010});
  EXPECT_EQ(replayed.peak_without({"test-a", "test-b"}), replayed.advice.peak_after_all);
  EXPECT_EQ(replayed.peak_without({"test-b", "test-a"}), Bytes{1000});
}

TEST_F(Advise, EachFindingTakenAwayIsTheOneThatIsWrittenBesideIt) {
  g_first = {"*", Severity::warning, "", 20};
  g_second = {"input", Severity::error, "", 10};
  const Replayed replayed(layers, checks);
  const auto& [advice, changes] = std::tie(replayed.advice, replayed.changes);
  ASSERT_EQ(changes.size(), advice.findings.size());
  ASSERT_EQ(changes.size(), 3U);
  for (size_t i = 0; i < changes.size(); ++i) {
    ASSERT_EQ(changes[i].what.without.size(), 2U);
    const std::string field(layers.text.string(layers.process.saves.field[changes[i].what.without[0]]));
    EXPECT_EQ(field, advice.findings[i].field);
    EXPECT_EQ(changes[i].place == 0, advice.findings[i].check == "test-b");
  }
}

TEST_F(Advise, WhatSeveralFindingsDropIsSharedInTheOrderOfPrecedence) {
  g_first = {"*", Severity::warning, "", 20, false, Bytes{100}};
  g_second = {"*", Severity::warning, "", 10};
  const Replayed replayed(layers, checks);
  EXPECT_EQ(replayed.peak_without({"test-b"}), Bytes{1000});
  EXPECT_GT(replayed.peak_without({"test-a"}), Bytes{1000});
  EXPECT_EQ(replayed.peak_without({"test-a"}), layers.advise(checks, {{"test-a"}, {}, {}}).peak_after_all);
  EXPECT_EQ(replayed.peak_without({"test-a", "test-b"}), Bytes{1000});
  EXPECT_EQ(replayed.advice.peak_after_all, Bytes{1000});
}

TEST_F(Advise, AnAlternativeIsTakenAwayOnlyIfItIsAskedFor) {
  g_first = {"result"};
  g_second = {"input", Severity::info, "", 10, true};
  const Replayed replayed(layers, checks);
  EXPECT_EQ(replayed.advice.peak_after_all, Bytes{2010});
  EXPECT_EQ(replayed.peak_without({"test-a"}), Bytes{2010});
  EXPECT_EQ(replayed.peak_without({"test-a", "test-b"}), Bytes{1000});
}

TEST_F(Advise, WhatMakesThePeakHigherIsInWhatIsTickedAndNotInThePeakWithoutAll) {
  g_first = {"result", Severity::warning, "", 10, false, Bytes{3000}};
  const Replayed replayed(layers, checks, {{"test-a"}, {}, {}});
  ASSERT_EQ(replayed.advice.findings.size(), 1U);
  EXPECT_GT(replayed.peak_without({"test-a"}), Bytes{2010});
  EXPECT_EQ(replayed.advice.peak_after_all, Bytes{2010});
}

TEST(Share, ASaveIsDroppedByOneFindingOnly) {
  ProcessBuilder b;
  const AllocationId x = b.allocate(0, 8), y = b.allocate(1, 8);
  const NodeId node = b.node(2, "MulBackward0");
  const SaveId first = b.save(2, node, "self", x), second = b.save(2, node, "other", y);
  b.done();
  peak::WhatIf change{{first, second}, {}, {}, {{x, {Time{3}, Time{4}}, Bytes{1}}, {y, {Time{3}, Time{4}}, Bytes{2}}}};
  change.keeps = {{x, y, Time{4}}};
  std::vector<uint8_t> claimed(b.process.saves.rows() + 1);
  EXPECT_EQ(without_claimed(b.process, {{first}, {}, {}, {}}, claimed).without.size(), 1U);
  const peak::WhatIf left = without_claimed(b.process, change, claimed);
  ASSERT_EQ(left.without.size(), 1U);
  EXPECT_EQ(left.without[0], second);
  ASSERT_EQ(left.extras.size(), 1U);
  EXPECT_EQ(left.extras[0].instead_of, y);
  EXPECT_TRUE(left.keeps.empty());
  EXPECT_TRUE(without_claimed(b.process, change, claimed).without.empty());
}

TEST(Entries, APatchMendsOnlyTheFindingsThatHaveIt) {
  ProcessBuilder b;
  const AllocationId first = b.allocate(1, 600), second = b.allocate(2, 300);
  b.free(8, second);
  b.free(9, first);
  b.process.duration = Time{10};
  b.done();
  const Provenance provenance(b.process, b.text);
  const peak::Lifetimes lifetimes(b.process, provenance);
  const peak::Timeline timeline(b.process, kCpu);
  const peak::Replay replay(lifetimes, timeline);

  std::vector<Finding> findings;
  std::vector<TimelineChange> changes;
  const auto add = [&](AllocationId allocation, FileEdits edits) {
    TimelineChange change{{}, static_cast<uint32_t>(changes.size())};
    change.what.ends.push_back({allocation, Time{0}});
    Finding finding;
    finding.check = "test-a";
    finding.severity = Severity::warning;
    finding.source = {"train.py", "main", 7};
    finding.bytes = b.process.allocations.bytes[allocation];
    finding.peak_before = Bytes{900};
    finding.peak_after = replay.without(change.what).peak;
    finding.is_in_all = true;
    finding.fix.use_edits(std::move(edits));
    findings.push_back(std::move(finding));
    changes.push_back(std::move(change));
  };
  add(first, {{"train.py", {{6, "x\n"}}, {{6, 1, {"y\n"}}}}});
  add(second, {});
  const std::vector<Entry> entries = entries_of(b.process, replay, false, findings, changes);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].peak_after, Bytes{300});
  EXPECT_EQ(entries[1].peak_after, Bytes{0});
  EXPECT_TRUE(findings[entries[1].findings.front()].fix.edits.empty());
}

TEST(PathPattern, NumbersAreLayers) {
  EXPECT_EQ(path_pattern("GPT.blocks.11.mlp.fc1"), "GPT.blocks.*.mlp.fc*");
  EXPECT_EQ(path_pattern("ResNet.layer3.0.relu"), "ResNet.layer*.*.relu");
  EXPECT_EQ(path_pattern("3"), "*");
  EXPECT_EQ(path_pattern(""), "");
}

TEST(MostAtOnce, CountsAnAllocationOnceAndOnlyWhatOverlaps) {
  const auto occurrence = [](uint32_t allocation, int64_t bytes, int64_t begin, int64_t end) {
    Occurrence o{};
    o.allocation = AllocationId{allocation};
    o.bytes = Bytes{bytes};
    o.when = {Time{begin}, Time{end}};
    return o;
  };
  EXPECT_EQ(most_at_once({occurrence(1, 10, 0, 5), occurrence(2, 20, 5, 9)}), Bytes{20});
  EXPECT_EQ(most_at_once({occurrence(1, 10, 0, 6), occurrence(2, 20, 5, 9)}), Bytes{30});
  EXPECT_EQ(most_at_once({occurrence(1, 10, 0, 6), occurrence(1, 10, 5, 9)}), Bytes{10});
  EXPECT_EQ(most_at_once({occurrence(0, 10, 0, 6), occurrence(0, 10, 5, 9)}), Bytes{20});
  EXPECT_EQ(most_at_once({}), Bytes{0});
}

}  // namespace
}  // namespace tapelens::advise
