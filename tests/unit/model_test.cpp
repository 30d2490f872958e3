// Columns that the model derives from the columns of a process.
#include <gtest/gtest.h>

#include "analyzer/model/attribution.h"
#include "analyzer/model/load.h"
#include "analyzer/model/steps.h"
#include "analyzer/model/words.h"
#include "analyzer/peak/frame_names.h"
#include "testing/model_builder.h"
#include "testing/trace_builder.h"
#include "trace/checksum.h"

namespace tapelens::model {
namespace {

using testing::kCpu;
using testing::ProcessBuilder;
using testing::TextBuilder;

TEST(Saves, ASaveIsReleasedByTheFirstReleaseOfItsNodeAfterIt) {
  ProcessBuilder b;
  const NodeId node = b.node(1, "ExpBackward0"), other = b.node(2, "SinBackward0");
  const AllocationId a = b.allocate(3, 64);
  const SaveId first = b.save(10, node, "result", a);
  const SaveId unrelated = b.save(11, other, "self", a);
  b.release(20, node);
  const SaveId second = b.save(30, node, "result", a);
  b.release(40, node);
  b.release(50, node);
  b.done();
  EXPECT_EQ(b.process.saves.released[first], Time{20});
  EXPECT_EQ(b.process.saves.released[second], Time{40});
  EXPECT_EQ(b.process.saves.released[unrelated], kNever);
}

TEST(Saves, AnEvaluationThatReleasesEndsTheSavesOfItsNodeAndOneThatKeepsTheGraphDoesNot) {
  ProcessBuilder b;
  const NodeId node = b.node(1, "ExpBackward0");
  const AllocationId a = b.allocate(1, 64);
  const SaveId save = b.save(2, node, "result", a);
  b.evaluate(10, 15, node, false);
  b.evaluate(20, 25, node, true);
  b.release(30, node);
  b.done();
  EXPECT_EQ(b.process.saves.released[save], Time{25});
}

TEST(Saves, WhatIsKeptOnAContextIsReleasedWithItsNodeAlone) {
  ProcessBuilder b;
  const NodeId node = b.node(1, "CompiledFunctionBackward");
  const SaveId saved = b.save(2, node, "saved_tensors", b.allocate(1, 64));
  const SaveId kept = b.save(3, node, "_tensors_no_vc_check", b.allocate(2, 64), {}, trace::kSaveIsOfContext);
  b.evaluate(20, 25, node, true);
  b.release(26, node, 0);
  b.release(30, node);
  b.done();
  EXPECT_EQ(b.process.saves.released[saved], Time{25});
  EXPECT_EQ(b.process.saves.released[kept], Time{30});
}

TEST(Saves, OfACompiledFunctionGivesItsStackToWhatTheFunctionMadeAndToNothingElse) {
  ProcessBuilder b;
  const StackId line{1};
  const AllocationId before = b.allocate(1, 64);
  const OperatorId function = b.op(2, 10, "CompiledFunction");
  const AllocationId made = b.allocate(3, 64, function), other = b.allocate(4, 64, function);
  const NodeId node = b.node(5, "CompiledFunctionBackward", function);
  for (const AllocationId saved : {before, made}) {
    const SaveId save = b.save(9, node, "addmm (model.py:7 Net.forward) saved_tensors[0]", saved);
    b.process.saves.stack.raw[save.value] = line.value;
  }
  b.done();
  EXPECT_EQ(b.process.allocations.stack[made], line);
  EXPECT_EQ(b.process.allocations.stack[before], StackId{});
  EXPECT_EQ(b.process.allocations.stack[other], StackId{});
}

TEST(Saves, OfACompiledFunctionAreCalledByTheirGraphsNamesAlone) {
  EXPECT_EQ(field_name("AddmmBackward0", "mat1"), "AddmmBackward0.mat1");
  EXPECT_EQ(field_name("", "mat1"), "(unattributed).mat1");
  EXPECT_EQ(field_name("CompiledFunctionBackward", "saved_tensors"), "CompiledFunctionBackward.saved_tensors");
  EXPECT_EQ(field_name("CompiledFunctionBackward", "addmm (model.py:7 Net.forward) saved_tensors[10]"),
            "addmm (model.py:7 Net.forward) saved_tensors[10]");
}

TEST(Saves, AnUnattributedSaveIsNeverReleased) {
  ProcessBuilder b;
  const SaveId save = b.save(2, {}, "result", b.allocate(1, 64));
  b.done();
  EXPECT_EQ(b.process.saves.released[save], kNever);
}

TEST(Saves, AnAppliedRewriteEndsTheSaveOfItsFieldAndASkippedOneDoesNot) {
  ProcessBuilder b;
  const NodeId node = b.node(1, "ReluBackward0"), other = b.node(2, "MulBackward0");
  const AllocationId a = b.allocate(3, 64);
  const SaveId result = b.save(10, node, "result", a), self = b.save(11, other, "self", a);
  const SaveId kept = b.save(12, other, "other", a);
  const RewriteId first = b.rewrite(15, "wide-save", 1, node, "result", 64, 2);
  const RewriteId second = b.rewrite(16, "unneeded-save", 0, other, "self", 64);
  b.rewrite(17, "unneeded-save", 0, other, "other", 64, 0, "somebody else keeps it");
  b.free(18, a);
  b.release(40, other);
  b.release(50, node);
  b.done();
  EXPECT_EQ(b.process.saves.released[result], Time{15});
  EXPECT_EQ(b.process.saves.released[self], Time{16});
  EXPECT_EQ(b.process.saves.released[kept], Time{18}) << "by its own end, not by the rewrite";
  EXPECT_EQ(b.process.rewrites.save[first], result);
  EXPECT_EQ(b.process.rewrites.until[first], Time{50}) << "the memory is gone, the save would not be";
  EXPECT_EQ(b.process.rewrites.until[second], Time{40});
}

TEST(Saves, ARewriteEndsTheSaveBeforeItAndNotOneOfTheSameFieldAfterIt) {
  ProcessBuilder b;
  const NodeId node = b.node(1, "ReluBackward0");
  const SaveId first = b.save(10, node, "result", b.allocate(3, 64));
  const RewriteId rewrite = b.rewrite(15, "wide-save", 1, node, "result", 64, 2);
  b.release(20, node);
  const SaveId second = b.save(30, node, "result", b.allocate(25, 64));
  b.release(40, node);
  b.done();
  EXPECT_EQ(b.process.rewrites.save[rewrite], first);
  EXPECT_EQ(b.process.saves.released[first], Time{15});
  EXPECT_EQ(b.process.saves.released[second], Time{40});
}

TEST(Load, ANodeHasItsAttributesAndTheEdgesToNodesBeforeAndAfterIt) {
  trace::SpoolBuilder b;
  b.op("aten::mul").accumulate_grad(0xa, 0).node("MulBackward0", 0xb, {{0xa, 0}, {0, 0}}, 5);
  b.node("NativeBatchNormBackward0", 0xc, {{0xb, 0}, {0xa, 0}, {0, 0}}, 6, 0, "training=False").end_op();
  const trace::Recording recording = b.seal();
  const Text text = load_text(recording);
  const Process process = load_process(recording, text, {});
  EXPECT_TRUE(text.left_out.empty());
  EXPECT_TRUE(process.left_out.empty());
  const Nodes& nodes = process.nodes;
  const auto edges = [&](uint32_t node) {
    const auto of = nodes.edges_of(NodeId{node});
    return std::vector<uint32_t>(of.begin(), of.end());
  };
  EXPECT_EQ(edges(1), (std::vector<uint32_t>{}));
  EXPECT_EQ(edges(2), (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(edges(3), (std::vector<uint32_t>{2, 1, 0}));
  EXPECT_EQ(text.string(nodes.attributes[NodeId{3}]), "training=False");
  EXPECT_FALSE(nodes.attributes[NodeId{2}]);
}

TEST(Sources, AFileIsTheOneThatWasRecordedOrItIsNot) {
  const std::string_view content = "print(1)\n";
  trace::SpoolBuilder b;
  b.source("/src/train.py", content.size(), trace::checksum_of(content.data(), content.size()))
      .op("aten::mul")
      .end_op();
  const auto text = load_text(b.seal());
  EXPECT_TRUE(is_as_recorded(text, "/src/train.py", content));
  EXPECT_FALSE(is_as_recorded(text, "/src/train.py", "print(2)\n"));
  EXPECT_FALSE(is_as_recorded(text, "/src/train.py", "print(1)"));
  EXPECT_FALSE(is_as_recorded(text, "/src/other.py", content));
}

TEST(Sources, AnOlderRecordingKnowsNone) {
  trace::SpoolBuilder b;
  b.op("aten::mul").end_op();
  const auto text = load_text(b.seal());
  EXPECT_TRUE(text.sources.empty());
  EXPECT_FALSE(is_as_recorded(text, "/src/train.py", ""));
}

TEST(Sources, AFileThatTwoProcessesReadDifferentContentsOfIsNotKnown) {
  const trace::TestFolder folder;
  const auto hash = [](std::string_view content) { return trace::checksum_of(content.data(), content.size()); };
  for (const std::string_view name : {"1", "2"}) {
    trace::SpoolBuilder b(folder, std::string(name) + ".spool");
    b.source("/src/same.py", 4, hash("same")).source("/src/edited.py", 1, hash(name)).op("aten::mul").end_op();
    b.finish();
  }
  const auto text = load_text(trace::seal_folder(folder).recording);
  EXPECT_TRUE(is_as_recorded(text, "/src/same.py", "same"));
  EXPECT_FALSE(is_as_recorded(text, "/src/edited.py", "1"));
}

TEST(Frees, AnAllocationThatIsNeverFreedLivesForever) {
  ProcessBuilder b;
  const AllocationId kept = b.allocate(1, 8), freed = b.allocate(2, 8);
  b.free(5, freed);
  b.done();
  EXPECT_EQ(b.process.freed(kept), kNever);
  EXPECT_EQ(b.process.freed(freed), Time{5});
}

std::vector<std::pair<int64_t, int64_t>> borders(const std::vector<Step>& steps) {
  std::vector<std::pair<int64_t, int64_t>> out;
  for (const Step& step : steps) out.emplace_back(step.when.begin.ns, step.when.end.ns);
  return out;
}

TEST(Steps, AProgramWithoutAnOptimizerIsOneStep) {
  ProcessBuilder b;
  EXPECT_EQ(borders(find_steps(b.done())), (std::vector<std::pair<int64_t, int64_t>>{{0, kNever.ns}}));
}

TEST(Steps, BordersAreTheEndsOfTheFirstOptimizersStepsOnly) {
  ProcessBuilder b;
  b.op(1, 2, "aten::mul");
  b.optimizer_step(10, 20, "generator");
  b.optimizer_step(25, 30, "discriminator");
  b.optimizer_step(40, 50, "generator");
  EXPECT_EQ(borders(find_steps(b.done())), (std::vector<std::pair<int64_t, int64_t>>{{0, 20}, {20, 50}}));
}

TEST(Steps, WhatFollowsTheLastBorderIsAStepOnlyIfSomethingWasAllocatedInIt) {
  ProcessBuilder b;
  b.allocate(5, 8);
  b.optimizer_step(10, 20);
  b.op(25, 26, "aten::item");
  EXPECT_EQ(borders(find_steps(b.done())), (std::vector<std::pair<int64_t, int64_t>>{{0, 20}}));
  b.allocate(30, 8);
  EXPECT_EQ(borders(find_steps(b.done())), (std::vector<std::pair<int64_t, int64_t>>{{0, 20}, {20, kNever.ns}}));
}

TEST(Steps, AnOptimizerStepThatNeverEndedIsNoBorder) {
  ProcessBuilder b;
  b.optimizer_step(10, kNever.ns);
  EXPECT_EQ(find_steps(b.done()).size(), 1u);
}

using Borders = std::vector<std::pair<int64_t, int64_t>>;

// Three steps of forward, backward and a manual update, which makes no node.
ProcessBuilder own_updates(uint8_t flags) {
  ProcessBuilder b;
  for (const int64_t at : {100, 200, 300}) {
    b.node(at + 12, "MulBackward0", b.op(at + 10, at + 14, "aten::mul"));
    b.backward(at + 20, at + 40, flags);
    b.op(at + 50, at + 55, "aten::sub");
  }
  return b;
}

TEST(Steps, WhereNoOptimizerStepsABorderIsTheForwardAfterABackward) {
  ProcessBuilder b = own_updates(0);
  EXPECT_EQ(borders(find_steps(b.done())), (Borders{{0, 210}, {210, 310}, {310, 355}}));
  b.process.summary.finished = false;
  EXPECT_EQ(borders(find_steps(b.done())).back(), (Borders::value_type{310, kNever.ns}))
      << "it was killed in this step";
}

TEST(Steps, ABackwardThatKeepsItsGraphIsABorderWhereAllDo) {
  ProcessBuilder b = own_updates(trace::kBackwardKeepsGraph);
  EXPECT_EQ(borders(find_steps(b.done())).size(), 3U);
}

TEST(Steps, ABackwardThatKeepsItsGraphOrMakesOneIsNoBorderBetweenThoseThatDoNot) {
  ProcessBuilder b;
  for (const int64_t at : {100, 200}) {
    b.node(at + 12, "MulBackward0", b.op(at + 10, at + 14, "aten::mul"));
    b.backward(at + 20, at + 30, trace::kBackwardCreatesGraph | trace::kBackwardKeepsGraph);
    b.node(at + 42, "MulBackward0", b.op(at + 40, at + 44, "aten::mul"));
    b.backward(at + 50, at + 60);
  }
  EXPECT_EQ(borders(find_steps(b.done())), (Borders{{0, 210}, {210, 260}}));
}

TEST(Steps, ABackwardWithinAnotherIsNoBorder) {
  ProcessBuilder b = own_updates(0);
  b.backward(325, 330);
  EXPECT_EQ(borders(find_steps(b.done())).size(), 3U);
}

TEST(Steps, AForwardAfterTheLastBackwardIsAStep) {
  ProcessBuilder b = own_updates(0);
  b.node(412, "MulBackward0", b.op(410, 414, "aten::mul"));
  EXPECT_EQ(borders(find_steps(b.done())).back(), (Borders::value_type{410, kNever.ns}));
}

TEST(Steps, AProgramWithOneBackwardIsOneStep) {
  ProcessBuilder b;
  b.node(12, "MulBackward0", b.op(10, 14, "aten::mul"));
  b.backward(20, 30);
  EXPECT_EQ(borders(find_steps(b.done())), (Borders{{0, kNever.ns}}));
}

TEST(Steps, AMomentAtABorderBelongsToTheStepThatBegins) {
  ProcessBuilder b;
  b.optimizer_step(10, 20);
  b.allocate(25, 8);
  const auto steps = find_steps(b.done());
  EXPECT_EQ(step_at(steps, Time{19}).index, 0u);
  EXPECT_EQ(step_at(steps, Time{20}).index, 1u);
}

TEST(Phases, ForwardIsFromTheFirstModuleCallToTheBackward) {
  ProcessBuilder b;
  b.op(5, 6, "aten::randn");
  b.call(10, 30, b.module("Net", "Net"));
  b.backward(40, 60);
  b.optimizer_step(70, 80);
  const auto steps = find_steps(b.done());
  const Phases phases(b.process, steps);
  EXPECT_EQ(phases.at(Time{5}), Phase::other);
  EXPECT_EQ(phases.at(Time{10}), Phase::forward);
  EXPECT_EQ(phases.at(Time{35}), Phase::forward);
  EXPECT_EQ(phases.at(Time{40}), Phase::backward);
  EXPECT_EQ(phases.at(Time{60}), Phase::other);
  EXPECT_EQ(phases.at(Time{75}), Phase::optimizer);
  EXPECT_EQ(phases.at(Time{85}), Phase::other);
}

TEST(Phases, WithoutModulesForwardBeginsWithTheFirstOperatorThatMakesANode) {
  ProcessBuilder b;
  b.op(5, 6, "aten::randn");
  const OperatorId mul = b.op(10, 14, "aten::mul");
  b.node(12, "MulBackward0", mul);
  b.backward(20, 30);
  const auto steps = find_steps(b.done());
  const Phases phases(b.process, steps);
  EXPECT_EQ(phases.at(Time{9}), Phase::other);
  EXPECT_EQ(phases.at(Time{11}), Phase::forward);
  EXPECT_EQ(phases.at(Time{19}), Phase::forward);
}

TEST(Phases, ASecondForwardOfAStepComesAfterTheFirstBackward) {
  ProcessBuilder b;
  const ModuleId net = b.module("Net", "Net");
  b.call(10, 20, net);
  b.backward(20, 30);
  b.call(40, 50, net);
  b.backward(50, 60);
  b.optimizer_step(70, 80);
  const auto steps = find_steps(b.done());
  const Phases phases(b.process, steps);
  EXPECT_EQ(phases.at(Time{35}), Phase::other);
  EXPECT_EQ(phases.at(Time{45}), Phase::forward);
}

TEST(Phases, ABackwardWithinAnOptimizerStepIsABackward) {
  ProcessBuilder b;
  b.optimizer_step(10, 50);
  b.backward(20, 30);
  const auto steps = find_steps(b.done());
  EXPECT_EQ(Phases(b.process, steps).at(Time{25}), Phase::backward);
  EXPECT_EQ(Phases(b.process, steps).at(Time{35}), Phase::optimizer);
}

TEST(Phases, WhatAClosureRunsInAnOptimizerStepIsForwardAndBackward) {
  ProcessBuilder b;
  const ModuleId net = b.module("Net", "Net");
  b.optimizer_step(10, 90);
  b.call(20, 28, net);
  b.backward(30, 40);
  b.call(50, 58, net);
  b.backward(60, 70);
  const auto steps = find_steps(b.done());
  ASSERT_EQ(steps.size(), 1U);
  const Phases phases(b.process, steps);
  const auto at = [&](int64_t ns) { return std::string(phase_name(phases.at(Time{ns}))); };
  EXPECT_EQ((std::vector<std::string>{at(5), at(15), at(25), at(29), at(35), at(45), at(55), at(65), at(75), at(95)}),
            (std::vector<std::string>{"other", "optimizer", "forward", "forward", "backward", "optimizer", "forward",
                                      "backward", "optimizer", "other"}));
  EXPECT_EQ(phases.optimizers(),
            (std::vector<Interval>{{Time{10}, Time{20}}, {Time{40}, Time{50}}, {Time{70}, Time{90}}}));
}

// The phases in the middle of each ten, from 0 on.
std::string phases_of(const Process& process, int tens) {
  const auto steps = find_steps(process);
  const Phases phases(process, steps);
  std::string all;
  for (int i = 0; i < tens; ++i) all += std::string(i > 0 ? " " : "") + phase_name(phases.at(Time{10 * i + 5}));
  return all;
}

TEST(Phases, CallsWithoutGradientsAndWithoutNodesAreAnEvaluation) {
  constexpr uint8_t kWithout = trace::kModuleCallWithoutGradients;
  ProcessBuilder b;
  const ModuleId net = b.module("Net", "Net");
  b.call(10, 20, net);
  b.backward(20, 30);
  b.optimizer_step(30, 40);
  b.call(50, 60, net, {}, kWithout);
  b.call(70, 80, net, {}, kWithout);
  b.call(90, 100, net);
  b.backward(100, 110);
  b.optimizer_step(110, 120);
  b.call(120, 130, net, {}, kWithout);
  EXPECT_EQ(phases_of(b.done(), 14),
            "other forward backward optimizer other evaluation evaluation evaluation evaluation forward backward "
            "optimizer evaluation evaluation");
}

TEST(Phases, AForwardGoesOnBehindAnEvaluationWithinIt) {
  constexpr uint8_t kWithout = trace::kModuleCallWithoutGradients;
  ProcessBuilder b;
  const ModuleId net = b.module("Net", "Net"), teacher = b.module("Teacher", "Net");
  const ModuleCallId outer = b.call(10, 30, net);
  b.call(15, 20, teacher, outer, kWithout);  // a part of the network
  b.call(40, 50, teacher, {}, kWithout);
  b.backward(60, 70);
  EXPECT_EQ(phases_of(b.done(), 7), "other forward forward forward evaluation forward backward");
}

TEST(Phases, ACallThatMakesANodeIsAForwardThoughItBeginsWithoutGradients) {
  ProcessBuilder b;
  b.call(10, 30, b.module("Net", "Net"), {}, trace::kModuleCallWithoutGradients);
  b.node(25, "MulBackward0", b.op(22, 26, "aten::mul"));
  b.backward(40, 50);
  EXPECT_EQ(phases_of(b.done(), 5), "other forward forward forward backward");
}

TEST(Attribution, WhatAHookOnASavedTensorMakesIsOfItsOwnModuleAndLine) {
  ProcessBuilder b;
  const StackId forward = b.stack({b.frame("net.py", 7, "forward")}), again = b.stack({b.frame("net.py", 9, "block")});
  const NodeId node = b.node(4, "MulBackward0", b.op(3, 5, "aten::mul", {}, forward));
  const EvaluationId evaluation = b.evaluate(10, 50, node), unpacking = b.unpack(12, 40);
  const OperatorId recomputed = b.op(15, 20, "aten::exp", {}, again);
  b.process.operators.evaluation.raw.back() = unpacking.value;
  const AllocationId activation = b.allocate(16, 64, recomputed, kCpu, unpacking);
  const OperatorId nameless = b.op(22, 24, "aten::empty");
  b.process.operators.evaluation.raw.back() = unpacking.value;
  const OperatorId backward = b.op(42, 45, "aten::mul");
  b.process.operators.evaluation.raw.back() = evaluation.value;
  const AllocationId gradient = b.allocate(43, 64, backward, kCpu, evaluation);
  b.done();
  EXPECT_EQ(stack_of(b.process, b.text, activation), again);
  EXPECT_EQ(stack_of(b.process, b.text, nameless), StackId{}) << "not that of the node under evaluation";
  EXPECT_EQ(stack_of(b.process, b.text, gradient), forward);
  EXPECT_TRUE(is_unpacked(b.process, activation));
  EXPECT_FALSE(is_unpacked(b.process, gradient));
}

TEST(Attribution, AnOperatorWithoutAStackHasThatOfTheOneAroundIt) {
  ProcessBuilder b;
  const StackId stack = b.stack({b.frame("train.py", 3, "main")});
  const OperatorId outer = b.op(1, 9, "aten::linear", {}, stack);
  const OperatorId inner = b.op(2, 8, "aten::addmm", outer);
  const AllocationId a = b.allocate(3, 64, inner);
  b.done();
  EXPECT_EQ(stack_of(b.process, b.text, inner), stack);
  EXPECT_EQ(stack_of(b.process, b.text, a), stack);
  EXPECT_EQ(b.text.string(operator_name_of(b.process, b.text, a)), "aten::addmm");
}

TEST(Attribution, WhatABackwardAllocatesComesFromTheOperatorThatMadeTheNode) {
  ProcessBuilder b;
  const StackId stack = b.stack({b.frame("net.py", 7, "forward")});
  const ModuleCallId call = b.call(0, 10, b.module("Net.up", "Linear"));
  const OperatorId forward = b.op(1, 9, "aten::addmm", {}, stack);
  b.process.operators.module_call.raw[forward.value] = call.value;
  const NodeId node = b.node(2, "AddmmBackward0", forward);
  const EvaluationId evaluation = b.evaluate(20, 30, node);
  const OperatorId backward = b.op(21, 22, "aten::mm");
  b.process.operators.evaluation.raw[backward.value] = evaluation.value;
  const AllocationId in_operator = b.allocate(21, 8, backward);
  const AllocationId alone = b.allocate(25, 8, {}, testing::kCpu, evaluation);
  b.done();
  for (const AllocationId a : {in_operator, alone}) {
    EXPECT_EQ(stack_of(b.process, b.text, a), stack);
    EXPECT_EQ(b.text.string(b.text.module_path[module_of(b.process, a)]), "Net.up");
  }
  EXPECT_EQ(b.text.string(operator_name_of(b.process, b.text, alone)), "AddmmBackward0");
}

TEST(Attribution, AStackThatEndsInTheCallOfTheEngineGivesWayToThatOfTheNode) {
  ProcessBuilder b;
  const FrameId main = b.frame("train.py", 62, "main");
  const FrameId engine = b.frame("/x/site-packages/torch/autograd/graph.py", 800, "_engine_run_backward");
  const StackId forward = b.stack({b.frame("net.py", 7, "forward"), main}), called = b.stack({engine, main});
  const StackId custom = b.stack({b.frame("swish.py", 9, "backward"), engine, main});
  const OperatorId made = b.op(1, 9, "aten::addmm", {}, forward);
  const EvaluationId evaluation = b.evaluate(20, 30, b.node(2, "AddmmBackward0", made));
  const OperatorId mm = b.op(21, 22, "aten::mm", {}, called), own = b.op(23, 24, "aten::mul", {}, custom);
  const OperatorId outside = b.op(40, 41, "aten::ones_like", {}, called);
  for (const OperatorId op : {mm, own}) b.process.operators.evaluation.raw[op.value] = evaluation.value;
  const AllocationId a = b.allocate(21, 8, mm), alone = b.allocate(25, 8, {}, testing::kCpu, evaluation);
  b.process.allocations.stack.raw[alone.value] = called.value;
  b.done();
  EXPECT_EQ(stack_of(b.process, b.text, a), forward);
  EXPECT_EQ(stack_of(b.process, b.text, alone), forward);
  EXPECT_EQ(stack_of(b.process, b.text, own), custom);
  EXPECT_EQ(stack_of(b.process, b.text, outside), called);
}

TEST(Attribution, WhatInductorAllocatesHasItsKernelAndTheLineThatItIsFor) {
  ProcessBuilder b;
  const FrameId generated = b.frame("/tmp/torchinductor_me/lc/clc.py", 439, "inductor::mm");
  const FrameId line = b.frame("net.py", 8, "forward"), main = b.frame("train.py", 62, "main");
  const OperatorId function = b.op(1, 9, "CompiledFunction", {}, b.stack({main}));
  const AllocationId buffer = b.allocate(2, 64, function), result = b.allocate(3, 64, function);
  b.process.allocations.stack.raw[buffer.value] = b.stack({generated, line, main}).value;
  b.done();
  EXPECT_EQ(b.text.string(operator_name_of(b.process, b.text, buffer)), "inductor::mm");
  EXPECT_EQ(b.text.string(called_name_of(b.process, b.text, buffer)), "inductor::mm");
  EXPECT_EQ(source_frame(b.text, stack_of(b.process, b.text, buffer)), line);
  EXPECT_EQ(b.text.string(called_name_of(b.process, b.text, result)), "CompiledFunction");
  EXPECT_EQ(source_frame(b.text, stack_of(b.process, b.text, result)), main);
}

TEST(Attribution, ARecordingThatSaysANodeWasMadeByItsOwnEvaluationDoesNotGoRoundForever) {
  ProcessBuilder b;
  const OperatorId op = b.op(1, 9, "aten::mul");
  const EvaluationId evaluation = b.evaluate(1, 9, b.node(2, "MulBackward0", op));
  b.process.operators.evaluation.raw[op.value] = evaluation.value;
  b.done();
  EXPECT_EQ(stack_of(b.process, b.text, op), StackId{});
}

TEST(Source, IsTheInnermostFrameThatIsNeitherTorchNorTheStandardLibrary) {
  TextBuilder b;
  const FrameId linear = b.frame("/x/lib/python3.12/site-packages/torch/nn/modules/linear.py", 116, "forward");
  const FrameId vision = b.frame("/x/lib/python3.12/site-packages/torchvision/models/resnet.py", 92, "forward");
  const FrameId contexts = b.frame("/usr/lib/python3.12/contextlib.py", 81, "inner");
  const FrameId main = b.frame("/home/me/train.py", 12, "main");
  EXPECT_EQ(source_frame(b.text, b.stack({linear, contexts, main})), main);
  EXPECT_EQ(source_frame(b.text, b.stack({linear, vision, main})), vision);
  EXPECT_EQ(source_frame(b.text, b.stack({linear, contexts})), linear);
  EXPECT_EQ(source_frame(b.text, StackId{}), FrameId{});
}

TEST(Source, OfALibraryIsToldBesideTheUsersLine) {
  TextBuilder b;
  const FrameId linear = b.frame("/x/lib/python3.12/site-packages/torch/nn/modules/linear.py", 116, "forward");
  const FrameId bert = b.frame("/x/lib/python3.12/site-packages/transformers/modeling_bert.py", 335, "forward");
  const FrameId main = b.frame("/home/me/train.py", 12, "main");
  EXPECT_EQ(own_frame(b.text, b.stack({linear, bert, main})), main);
  EXPECT_EQ(peak::called_library_frame(b.text, b.stack({linear, bert, main})), bert);
  EXPECT_EQ(peak::called_library_frame(b.text, b.stack({linear, main})), FrameId{});
  EXPECT_EQ(peak::called_library_frame(b.text, b.stack({linear, bert})), FrameId{});
  EXPECT_EQ(peak::called_library_frame(b.text, StackId{}), FrameId{});
}

TEST(Source, OfACppProgramIsNotLibTorchAndNotTheStandardLibrary) {
  EXPECT_TRUE(is_library_frame("/opt/libtorch/include/torch/csrc/api/include/torch/nn/pimpl.h", "forward"));
  EXPECT_TRUE(is_library_frame("/opt/libtorch/lib/libtorch_cpu.so", ""));
  EXPECT_TRUE(is_library_frame("", "at::_ops::addmm::call(at::Tensor const&)"));
  EXPECT_TRUE(is_library_frame("/usr/include/c++/12/functional", "operator()"));
  EXPECT_FALSE(is_library_frame("/home/me/trainer/net.h", "Net::forward(at::Tensor)"));
  EXPECT_FALSE(is_library_frame("/home/me/torchtrainer.py", "forward"));
  EXPECT_TRUE(is_library_frame("site-packages/torch/nn/modules/module.py", "_call_impl"));
  EXPECT_TRUE(is_library_frame(R"(C:\Users\me\env\Lib\site-packages\torch\nn\functional.py)", "relu"));
  EXPECT_TRUE(is_library_frame(R"(C:\Python312\Lib\threading.py)", "run"));
  EXPECT_FALSE(is_library_frame(R"(C:\Users\me\train\Lib.py)", "main"));
  EXPECT_FALSE(is_library_frame(R"(C:\Users\me\env\Lib\site-packages\peft\tuner.py)", "forward"));
}

TEST(Layouts, ReadAsDtypeAndSizes) {
  TextBuilder b;
  EXPECT_EQ(layout_text(b.text, b.layout("float32", 4, {8, 64, 7})), "float32 [8, 64, 7]");
  EXPECT_EQ(layout_text(b.text, b.layout("int64", 8, {})), "int64 []");
  EXPECT_EQ(b.text.layout_bytes[LayoutId{1}], Bytes{8 * 64 * 7 * 4});
}

}  // namespace
}  // namespace tapelens::model
