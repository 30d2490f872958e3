// The peak, its holders, its groups, and the totals of saves, on handmade processes.
#include <gtest/gtest.h>

#include "analyzer/model/attribution.h"
#include "analyzer/peak/groups.h"
#include "analyzer/peak/holders.h"
#include "analyzer/peak/saves.h"
#include "analyzer/peak/timeline.h"
#include "testing/model_builder.h"

namespace tapelens::peak {
namespace {

using testing::kCpu;
using testing::kCuda;
using testing::ProcessBuilder;

PeakSet set_at_peak(const ProcessBuilder& b, DeviceId device = kCpu) {
  for (const DevicePeak& peak : device_peaks(b.process)) {
    if (peak.device == device) return peak_set(b.process, b.text, device, peak.when);
  }
  ADD_FAILURE() << "no such device";
  return {};
}

const Member& member(const PeakSet& set, AllocationId id) {
  for (const Member& m : set.members) {
    if (m.allocation == id) return m;
  }
  static const Member none{};
  ADD_FAILURE() << "allocation " << id.value << " is not in the peak set";
  return none;
}

// "save ExpBackward0.result; parameter w"
std::string held(const ProcessBuilder& b, const PeakSet& set, AllocationId id) {
  std::string out;
  for (const Holder& h : set.holders_of(member(set, id))) {
    if (!out.empty()) out += "; ";
    out += kind_name(h.kind);
    if (h.node) out.append(" ").append(b.text.string(b.process.nodes.type[h.node]));
    if (h.field) out.append(".").append(b.text.string(h.field));
    if (h.name) out.append(" ").append(b.text.string(h.name));
    if (h.count > 1) out.append(" x").append(std::to_string(h.count));
  }
  return out;
}

TEST(Peak, IsTheLargestSumOfWhatIsAliveOnEachDevice) {
  ProcessBuilder b;
  const AllocationId first = b.allocate(1, 100);
  b.allocate(2, 1000, {}, kCuda);
  const AllocationId second = b.allocate(3, 50);
  b.free(4, first);
  b.allocate(5, 60);
  b.free(6, second);
  b.done();
  const auto peaks = device_peaks(b.process);
  ASSERT_EQ(peaks.size(), 2u);
  EXPECT_EQ(peaks[0].device, kCpu);
  EXPECT_EQ(peaks[0].peak, Bytes{150});
  EXPECT_EQ(peaks[0].when.time, Time{3});
  EXPECT_EQ(peaks[0].allocations, 3u);
  EXPECT_EQ(peaks[0].frees, 2u);
  EXPECT_EQ(peaks[0].live_at_end, Bytes{60});
  EXPECT_EQ(peaks[1].device, kCuda);
  EXPECT_EQ(peaks[1].peak, Bytes{1000});
}

TEST(Peak, ForeignMemoryIsInNoSum) {
  ProcessBuilder b;
  b.allocate(1, 100);
  b.allocate(2, 1 << 20, {}, kCpu, {}, Origin::foreign);
  b.done();
  EXPECT_EQ(device_peaks(b.process)[0].peak, Bytes{100});
  EXPECT_EQ(set_at_peak(b).members.size(), 1u);
}

TEST(Peak, AtOneNanosecondFreesComeBeforeAllocations) {
  ProcessBuilder b;
  const AllocationId old = b.allocate(1, 100);
  b.free(5, old);
  const AllocationId fresh = b.allocate(5, 90);
  b.free(5, fresh);  // allocated and freed within one nanosecond
  b.done();
  const auto peaks = device_peaks(b.process);
  EXPECT_EQ(peaks[0].peak, Bytes{100});
  EXPECT_EQ(peaks[0].live_at_end, Bytes{0});
}

TEST(Peak, AMomentWithinANanosecondHoldsExactlyWhatItsSumCounted) {
  ProcessBuilder b;
  const AllocationId a = b.allocate(5, 100);
  const AllocationId c = b.allocate(5, 100);
  b.free(5, a);
  b.free(5, c);
  b.allocate(5, 150);
  b.done();
  const PeakSet set = set_at_peak(b);
  // All events have the same time, so times cannot order the rows.
  EXPECT_EQ(set.bytes, device_peaks(b.process)[0].peak);
}

TEST(Peak, ASecondFreeOfTheSameAllocationFreesNothing) {
  ProcessBuilder b;
  const AllocationId a = b.allocate(1, 100);
  b.free(2, a);
  b.free(3, a);
  b.allocate(4, 10);
  b.done();
  EXPECT_EQ(device_peaks(b.process)[0].live_at_end, Bytes{10});
}

TEST(Holders, SavesComeFirstThenRolesInTheirOrder) {
  ProcessBuilder b;
  const AllocationId a = b.allocate(1, 64);
  b.save(2, b.node(2, "AddmmBackward0"), "mat2", a);
  b.role(3, a, Role::buffer, "table");
  b.role(3, a, Role::parameter, "up.weight");
  b.allocate(4, 10);
  b.done();
  EXPECT_EQ(held(b, set_at_peak(b), a), "save AddmmBackward0.mat2; parameter up.weight; buffer table");
}

TEST(Holders, ASaveThatWasReleasedBeforeHoldsNothing) {
  ProcessBuilder b;
  const AllocationId a = b.allocate(1, 64);
  const NodeId node = b.node(2, "ExpBackward0");
  b.save(2, node, "result", a);
  b.release(3, node);
  b.allocate(4, 10);
  b.done();
  EXPECT_EQ(held(b, set_at_peak(b), a), "program");
}

TEST(Holders, ASaveThatIsMadeLaterDoesNotHoldYet) {
  ProcessBuilder b;
  const AllocationId a = b.allocate(1, 64);
  const AllocationId spike = b.allocate(2, 1000);
  b.free(3, spike);
  b.save(4, b.node(4, "ExpBackward0"), "result", a);
  b.done();
  EXPECT_EQ(held(b, set_at_peak(b), a), "program");
}

TEST(Holders, WhatTheProgramsOwnHooksTookIsNotHeldByTheNode) {
  ProcessBuilder b;
  const AllocationId a = b.allocate(1, 64);
  b.save(2, b.node(2, "ExpBackward0"), "result", a, {}, trace::kSaveIsPacked);
  b.allocate(4, 10);
  b.done();
  EXPECT_EQ(held(b, set_at_peak(b), a), "program");
}

TEST(Holders, ARoleHoldsForTheWholeLifeOfItsAllocation) {
  ProcessBuilder b;
  const AllocationId a = b.allocate(1, 64);
  const AllocationId spike = b.allocate(2, 1000);
  b.free(3, spike);
  b.role(900, a, Role::parameter, "up.weight");
  b.done();
  EXPECT_EQ(held(b, set_at_peak(b), a), "parameter up.weight");
}

TEST(Holders, WhatAHookPackedIsKeptUntilItsNodeReleasesItsSaves) {
  ProcessBuilder b;
  const AllocationId copy = b.allocate(1, 64), other = b.allocate(1, 64);
  const NodeId node = b.node(2, "ExpBackward0"), late = b.node(2, "SinBackward0");
  b.held(3, copy, trace::HeldBy::packed, "result", node);
  b.held(3, other, trace::HeldBy::packed, "self", late);
  const AllocationId spike = b.allocate(4, 1000);
  b.free(5, spike);
  b.release(6, node);
  const AllocationId later = b.allocate(7, 1000);
  b.done();
  const PeakSet first = peak_set(b.process, b.text, kCpu, {Time{4}, spike, {}});
  EXPECT_EQ(held(b, first, copy), "packed ExpBackward0.result");
  const PeakSet second = peak_set(b.process, b.text, kCpu, {Time{7}, later, FreeId{1}});
  EXPECT_EQ(held(b, second, copy), "program");
  EXPECT_EQ(held(b, second, other), "packed SinBackward0.self");
}

TEST(Holders, WhatIsOnCtxIsKeptUntilItsNodeDies) {
  ProcessBuilder b;
  const AllocationId mask = b.allocate(1, 64);
  const NodeId node = b.node(2, "SwishBackward");
  b.held(3, mask, trace::HeldBy::context, "mask", node);
  b.release(4, node, 0);
  const AllocationId first = b.allocate(5, 1000);
  b.free(6, first);
  b.release(7, node, trace::kNodeDied);
  const AllocationId second = b.allocate(8, 1000);
  b.done();
  EXPECT_EQ(held(b, peak_set(b.process, b.text, kCpu, {Time{5}, first, {}}), mask), "context SwishBackward.mask");
  EXPECT_EQ(held(b, peak_set(b.process, b.text, kCpu, {Time{8}, second, FreeId{1}}), mask), "program");
}

TEST(Holders, WhatSelectiveCheckpointingKeepsIsKeptAsLongAsItLives) {
  ProcessBuilder b;
  const AllocationId kept = b.allocate(1, 64);
  b.held(2, kept, trace::HeldBy::checkpointing, "aten.mm.default");
  b.save(2, b.node(2, "MmBackward0"), "self", kept);
  b.allocate(3, 64);
  b.done();
  const PeakSet set = set_at_peak(b);
  EXPECT_EQ(held(b, set, kept), "save MmBackward0.self; checkpointing.aten.mm.default");
  EXPECT_EQ(main_holder(set.holders_of(member(set, kept))).kind, HolderKind::checkpointing);
}

// `frames` innermost first: file, function.
std::string traffic_of(std::vector<std::pair<std::string_view, std::string_view>> frames,
                       std::string_view op = "aten::empty") {
  ProcessBuilder b;
  std::vector<FrameId> stack;
  for (const auto& [file, function] : frames) stack.push_back(b.frame(file, 1, function));
  const AllocationId a = b.allocate(1, 64, b.op(1, 2, op, {}, b.stack(stack)));
  b.done();
  return traffic_name(Communication(b.process, b.text).of(a));
}

TEST(Communication, IsToldByTheOperatorOrByTheInnermostFramesOfPyTorch) {
  const std::string torch = "/lib/torch/";
  const std::string fsdp = torch + "distributed/fsdp/_fully_shard/_fsdp_collectives.py";
  const std::string ddp = torch + "nn/parallel/distributed.py", linear = torch + "nn/modules/linear.py";
  const std::string between = torch + "utils/_contextlib.py";
  EXPECT_EQ(traffic_of({{fsdp, "DefaultAllocMixin.allocate"}, {fsdp, "foreach_all_gather"}}), "all-gather");
  EXPECT_EQ(traffic_of({{fsdp, "DefaultAllocMixin.allocate"}, {between, "wrapped"}, {fsdp, "foreach_reduce"}}),
            "reduce-scatter");
  EXPECT_EQ(traffic_of({{ddp, "DistributedDataParallel._ddp_init_helper"}}), "DDP bucket");
  EXPECT_EQ(traffic_of({{torch + "distributed/pipelining/stage.py", "_make_tensor_from_meta"}}), "pipeline");
  EXPECT_EQ(traffic_of({{fsdp, "f"}}, "_c10d_functional::all_reduce"), "all-reduce");
  EXPECT_EQ(traffic_of({{fsdp, "f"}}, "c10d::send"), "collective");
  // Calls of the module's own code below DDP or FSDP, and other work of FSDP.
  EXPECT_EQ(traffic_of({{linear, "Linear.forward"}, {ddp, "DistributedDataParallel._pre_forward"}}), "");
  EXPECT_EQ(traffic_of({{ddp, "DistributedDataParallel.forward"}}), "");
  EXPECT_EQ(traffic_of({{fsdp, "cast"}, {"/home/train.py", "all_gather_everything"}}), "");
  EXPECT_EQ(traffic_of({{"/home/train.py", "all_gather"}}), "");
}

TEST(Holders, AGradientHasTheNameOfItsParameter) {
  ProcessBuilder b;
  const AllocationId weight = b.allocate(1, 64), gradient = b.allocate(2, 64), state = b.allocate(3, 64);
  b.role(4, weight, Role::parameter, "up.weight");
  b.role(4, gradient, Role::gradient, "", weight);
  b.role(4, state, Role::optimizer_state, "exp_avg", weight);
  b.done();
  const PeakSet set = set_at_peak(b);
  EXPECT_EQ(held(b, set, gradient), "gradient up.weight");
  EXPECT_EQ(held(b, set, state), "optimizer_state exp_avg");
  EXPECT_EQ(set.holders_of(member(set, state)).front().parameter, weight);
}

TEST(Holders, WhatGradientsAreAccumulatedForIsAParameterEvenIfNobodyNamedIt) {
  ProcessBuilder b;
  const FrameId receives = b.frame("/lib/torch/distributed/pipelining/_recv_buffers.py", 54, "allocate_buffer");
  const AllocationId received = b.allocate(1, 32, b.op(1, 2, "aten::empty_strided", {}, b.stack({receives})));
  const AllocationId weight = b.allocate(1, 64), named = b.allocate(2, 64);
  b.node(3, "AccumulateGrad", {}, received);
  b.node(3, "AccumulateGrad", {}, weight);
  b.node(3, "AccumulateGrad", {}, named);
  b.role(4, named, Role::parameter, "up.weight");
  b.done();
  const PeakSet set = set_at_peak(b);
  EXPECT_EQ(held(b, set, weight), "parameter");
  EXPECT_EQ(held(b, set, named), "parameter up.weight");
  EXPECT_EQ(held(b, set, received), "communication");
}

TEST(Holders, AnOpenOperatorHoldsWhatItReadsAndWhatIsAllocatedInIt) {
  ProcessBuilder b;
  const AllocationId input = b.allocate(1, 64);
  const OperatorId closed = b.op(2, 3, "aten::exp", {}, {}, {input});
  const AllocationId result = b.allocate(2, 64, closed);
  const OperatorId outer = b.op(10, 20, "aten::linear", {}, {}, {input});
  const OperatorId inner = b.op(11, 12, "aten::t", outer);
  const AllocationId temporary = b.allocate(11, 64, inner);
  b.allocate(15, 1, outer);
  b.done();
  const PeakSet set = set_at_peak(b);
  EXPECT_EQ(held(b, set, input), "operator aten::linear");
  EXPECT_EQ(held(b, set, temporary), "operator aten::linear");
  EXPECT_EQ(held(b, set, result), "program");
}

TEST(Holders, OtherLiveTensorsHaveTheVariableOfTheLastLookBeforeTheMoment) {
  ProcessBuilder b;
  const AllocationId early = b.allocate(1, 100), late = b.allocate(2, 90), none = b.allocate(3, 80);
  const AllocationId weight = b.allocate(4, 70);
  b.role(4, weight, Role::parameter, "w");
  b.variable(5, early, "first in train.py:1");
  b.variable(5, weight, "net.w in train.py:1");
  b.variable(6, early, "history[0] in train.py:2");
  const AllocationId last = b.allocate(7, 10);
  b.variable(8, early, "other in train.py:3");
  b.variable(8, late, "late in train.py:3");
  b.variable(9, late, "later in train.py:4");
  b.done();
  const PeakSet set = peak_set(b.process, b.text, kCpu, {Time{7}, last, {}});
  EXPECT_EQ(held(b, set, early), "program.history[0] in train.py:2");
  EXPECT_EQ(held(b, set, late), "program.late in train.py:3") << "the first after it, where none was before";
  EXPECT_EQ(held(b, set, none), "program");
  EXPECT_EQ(held(b, set, weight), "parameter w");
}

TEST(Holders, AGradientInFlightIsHeldByTheNodeThatMadeItWhileItsBackwardRuns) {
  ProcessBuilder b;
  const EvaluationId evaluation = b.evaluate(10, 20, b.node(1, "MulBackward0"));
  b.backward(5, 100);
  const AllocationId gradient = b.allocate(15, 64, {}, kCpu, evaluation);
  b.allocate(50, 1);
  const AllocationId spike = b.allocate(200, 1000);
  b.done();
  const PeakSet during = peak_set(b.process, b.text, kCpu, Timeline(b.process, kCpu).at(Time{60}));
  EXPECT_EQ(held(b, during, gradient), "gradient MulBackward0");
  const PeakSet after = set_at_peak(b);
  EXPECT_EQ(held(b, after, gradient), "program");
  EXPECT_EQ(held(b, after, spike), "program");
}

TEST(Holders, TheEnginesOwnOperatorAroundANodeHoldsNothing) {
  ProcessBuilder b;
  const OperatorId engine = b.op(5, 100, "autograd::engine::evaluate_function: MulBackward0");
  const EvaluationId evaluation = b.evaluate(10, 90, b.node(1, "MulBackward0"));
  b.backward(4, 200);
  const OperatorId mul = b.op(20, 30, "aten::mul", engine);
  const AllocationId gradient = b.allocate(25, 64, mul, kCpu, evaluation);
  b.allocate(50, 1, engine, kCpu, evaluation);
  b.done();
  EXPECT_EQ(held(b, set_at_peak(b), gradient), "gradient MulBackward0");
  EXPECT_EQ(b.text.string(operator_name_of(b.process, b.text, AllocationId{2})), "MulBackward0");
}

TEST(Holders, ManySavesOfOneFieldAreOneHolderWithACount) {
  ProcessBuilder b;
  const AllocationId weight = b.allocate(1, 64);
  for (int step = 0; step < 3; ++step) b.save(2 + step, b.node(2 + step, "MmBackward0"), "mat2", weight);
  b.save(6, b.node(6, "MmBackward0"), "self", weight);
  b.allocate(7, 1);
  b.done();
  EXPECT_EQ(held(b, set_at_peak(b), weight), "save MmBackward0.mat2 x3; save MmBackward0.self");
}

std::string written(const std::vector<AllocationGroup>& groups) {
  std::string out;
  for (const AllocationGroup& g : groups) {
    out +=
        (out.empty() ? "" : ", ") + g.key + " " + std::to_string(g.bytes.value) + "/" + std::to_string(g.allocations);
  }
  return out;
}

TEST(Groups, OfEveryKeySumToThePeak) {
  ProcessBuilder b;
  const StackId stack = b.stack({b.frame("/home/me/train.py", 12, "main")});
  const OperatorId op = b.op(1, 2, "aten::exp", {}, stack);
  b.process.operators.module_call.raw[op.value] = b.call(0, 9, b.module("Net.up", "Linear")).value;
  const AllocationId saved = b.allocate(1, 100, op);
  b.save(2, b.node(2, "ExpBackward0", op), "result", saved);
  const AllocationId weight = b.allocate(3, 30);
  b.role(4, weight, Role::parameter, "w");
  b.allocate(5, 7);
  b.done();
  const PeakSet set = set_at_peak(b);
  const auto steps = find_steps(b.process);
  const auto by = [&](By key) { return written(groups(b.process, b.text, steps, set, key)); };
  EXPECT_EQ(by(By::field), "ExpBackward0.result 100/1, parameter 30/1, program 7/1");
  EXPECT_EQ(by(By::node), "ExpBackward0 100/1, parameter 30/1, program 7/1");
  EXPECT_EQ(by(By::category), "saved 100/1, parameter 30/1, program 7/1");
  EXPECT_EQ(by(By::module), "Net.up 100/1, (outside of modules) 37/2");
  EXPECT_EQ(by(By::source), "train.py:12 main 100/1, (no stack) 37/2");
  EXPECT_EQ(by(By::op), "aten::exp 100/1, (no operator) 37/2");
  EXPECT_EQ(by(By::step), "step 0 137/3");
  EXPECT_EQ(by(By::stack), "train.py:12 main 100/1, (no stack) 37/2");
}

TEST(Groups, AModuleHasItsParametersAndWhatBelongsToThem) {
  ProcessBuilder b;
  for (const char* path : {"Net", "Net.fc", "Other", "Other.head", "Net.head"}) b.call(0, 9, b.module(path, "Module"));
  const AllocationId weight = b.allocate(1, 1000), state = b.allocate(2, 200), gradient = b.allocate(3, 30);
  const AllocationId shared = b.allocate(4, 4);  // its name does not contain the model
  b.role(5, weight, Role::parameter, "fc.weight");
  b.role(5, state, Role::optimizer_state, "exp_avg", weight);
  b.role(5, gradient, Role::gradient, "", weight);
  b.role(5, shared, Role::parameter, "head.weight");
  b.done();
  const PeakSet set = set_at_peak(b);
  EXPECT_EQ(written(groups(b.process, b.text, find_steps(b.process), set, By::module)),
            "Net.fc 1230/3, (outside of modules) 4/1");
}

TEST(Groups, AStackIsTheProgramsFramesAndFilesOfOneNameAreToldApart) {
  ProcessBuilder b;
  const FrameId main = b.frame("/a/train.py", 3, "main");
  const FrameId torch = b.frame("/usr/lib/python3/site-packages/torch/nn/modules/conv.py", 450, "forward");
  int64_t bytes = 100;
  for (const char* file : {"/a/net.py", "/b/net.py"}) {
    b.allocate(1, bytes, b.op(1, 2, "aten::exp", {}, b.stack({torch, b.frame(file, 7, "forward"), main})));
    bytes /= 2;
  }
  b.allocate(3, 7, b.op(1, 2, "aten::exp", {}, b.stack({torch})));
  b.done();
  const PeakSet set = set_at_peak(b);
  EXPECT_EQ(written(groups(b.process, b.text, find_steps(b.process), set, By::stack)),
            "train.py:3 main > a/net.py:7 forward 100/1, train.py:3 main > b/net.py:7 forward 50/1, "
            "(PyTorch's own frames) 7/1");
}

TEST(Groups, FilesOfTheSameNameAreToldApartByTheirFolders) {
  ProcessBuilder b;
  for (const char* file : {"/a/x/train.py", "/a/y/train.py"}) {
    b.allocate(1, 10, b.op(1, 2, "aten::exp", {}, b.stack({b.frame(file, 12, "main")})));
  }
  b.done();
  const PeakSet set = set_at_peak(b);
  EXPECT_EQ(written(groups(b.process, b.text, find_steps(b.process), set, By::source)),
            "x/train.py:12 main 10/1, y/train.py:12 main 10/1");
}

TEST(Groups, TheSameLineReachedOnTwoWaysIsOneGroup) {
  ProcessBuilder b;
  const FrameId frame = b.frame("/a/train.py", 12, "step"), again = b.frame("/a/train.py", 12, "step");
  b.allocate(1, 10, b.op(1, 2, "aten::exp", {}, b.stack({frame})));
  b.allocate(3, 10, b.op(3, 4, "aten::exp", {}, b.stack({again})));
  b.done();
  const PeakSet set = set_at_peak(b);
  EXPECT_EQ(written(groups(b.process, b.text, find_steps(b.process), set, By::source)), "train.py:12 step 20/2");
}

TEST(Categories, AWeightThatIsSavedIsAParameter) {
  ProcessBuilder b;
  const AllocationId weight = b.allocate(1, 64), result = b.allocate(1, 10);
  const NodeId node = b.node(2, "MmBackward0");
  b.save(2, node, "mat2", weight);
  b.save(2, node, "self", result);
  b.role(3, weight, Role::parameter, "w");
  b.allocate(4, 1);
  b.done();
  const auto all = categories(set_at_peak(b));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].kind, HolderKind::save);
  EXPECT_EQ(all[0].bytes, Bytes{10});
  EXPECT_EQ(all[1].kind, HolderKind::parameter);
  EXPECT_EQ(all[1].bytes, Bytes{64});
  EXPECT_EQ(all[2].kind, HolderKind::program);
}

TEST(SaveTotals, CountStorageOnceAndLogicalBytesOfEverySave) {
  ProcessBuilder b;
  const AllocationId a = b.allocate(1, 400), c = b.allocate(1, 40);
  const LayoutId whole = b.layout("float32", 4, {100}), half = b.layout("float32", 4, {50}),
                 ten = b.layout("float32", 4, {10});
  const NodeId exp = b.node(1, "ExpBackward0"), mul = b.node(1, "MulBackward0");
  b.save(2, exp, "result", a, whole);
  b.save(2, mul, "self", a, half);
  b.save(2, mul, "self", a, whole);
  b.save(2, mul, "other", c, ten);
  b.done();
  const SaveSummary s = summarize_saves(b.process, b.text);
  EXPECT_EQ(s.all.count, 4u);
  EXPECT_EQ(s.all.logical, Bytes{400 + 200 + 400 + 40});
  EXPECT_EQ(s.all.storage, Bytes{440});
  EXPECT_EQ(s.unattributed, 0u);
  ASSERT_EQ(s.fields.size(), 3u);
  EXPECT_EQ(s.fields[0].field, "MulBackward0.self");
  EXPECT_EQ(s.fields[0].totals.count, 2u);
  EXPECT_EQ(s.fields[0].totals.logical, Bytes{600});
  EXPECT_EQ(s.fields[0].totals.storage, Bytes{400});
  EXPECT_EQ(s.fields[1].field, "ExpBackward0.result");
  EXPECT_EQ(s.fields[2].field, "MulBackward0.other");
}

TEST(SaveTotals, LeaveOutWrappedNumbersAndCountPackedSavesWithoutStorage) {
  ProcessBuilder b;
  const AllocationId a = b.allocate(1, 400);
  const LayoutId layout = b.layout("float32", 4, {100});
  const NodeId node = b.node(1, "MulBackward0");
  b.save(2, node, "other", a, layout, trace::kSaveIsWrappedNumber);
  b.save(2, node, "self", a, layout, trace::kSaveIsPacked);
  b.done();
  const SaveSummary s = summarize_saves(b.process, b.text);
  EXPECT_EQ(s.all.count, 1u);
  EXPECT_EQ(s.all.logical, Bytes{400});
  EXPECT_EQ(s.all.storage, Bytes{0});
}

TEST(SaveTotals, UnattributedAreThoseWithoutANodeAndThoseLost) {
  ProcessBuilder b;
  b.save(2, {}, "self", b.allocate(1, 400));
  b.process.lost.push_back({Loss::unattributed_save, 2, Time{5}});
  b.done();
  EXPECT_EQ(summarize_saves(b.process, b.text).unattributed, 3u);
}

TEST(SaveTotals, OfTwoProcessesAddUpFieldByField) {
  ProcessBuilder b;
  const LayoutId layout = b.layout("float32", 4, {100});
  b.save(2, b.node(1, "MulBackward0"), "self", b.allocate(1, 400), layout);
  b.done();
  SaveSummary sum = summarize_saves(b.process, b.text);
  add(sum, summarize_saves(b.process, b.text));
  EXPECT_EQ(sum.all.count, 2u);
  ASSERT_EQ(sum.fields.size(), 1u);
  EXPECT_EQ(sum.fields[0].totals.storage, Bytes{800});
}

}  // namespace
}  // namespace tapelens::peak
