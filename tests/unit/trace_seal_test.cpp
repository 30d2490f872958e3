// The sealer's result for the events of a process: every rule that turns addresses into ids.
#include <numeric>

#include "testing/trace_builder.h"
#include "tests/unit/trace_values.h"

namespace tapelens::trace {
namespace {

TEST(Seal, AnOperatorHasItsBeginEndNameAndThread) {
  SpoolBuilder b;
  b.at(100).op("aten::addmm", {}, 0, 7, kOperatorIsPythonFunction).at(250).end_op();
  const Recording r = b.seal();
  ASSERT_EQ(r.rows(Table::operators, {}), 1U);
  EXPECT_EQ(r.column(column<table::Operators>.begin)[1], 100U);
  EXPECT_EQ(strings_of(r)[r.column(column<table::Operators>.name)[1]], "aten::addmm");
  EXPECT_EQ(r.column(column<table::Operators>.thread)[1], 1U);
  EXPECT_EQ(r.column(column<table::OperatorEnds>.of), (Values<uint32_t>{0, 1}));
  EXPECT_EQ(r.column(column<table::OperatorEnds>.end), (Values<uint64_t>{0, 250}));
  EXPECT_EQ(r.column(column<table::Threads>.os_id)[1], 1001U);
  EXPECT_TRUE(losses_of(r).empty());
}

TEST(Seal, NestedOperatorsNameTheOneAroundThem) {
  SpoolBuilder b;
  b.op("outer").op("middle").op("inner").end_op().end_op().op("second").end_op().end_op();
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Operators>.parent), (Values<uint32_t>{0, 0, 1, 2, 1}));
  EXPECT_EQ(r.column(column<table::OperatorEnds>.of), (Values<uint32_t>{0, 3, 2, 4, 1}));
}

TEST(Seal, InputsAreTheAllocationsThatAreAliveAtTheirAddresses) {
  SpoolBuilder b;
  b.alloc(0x10, 8).alloc(0x20, 8).op("a", {0x20, 0x10, 0x999}).end_op();
  b.free(0x10).alloc(0x10, 16).op("b", {0x10}).end_op();
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Operators>.input_count), (Values<uint16_t>{0, 3, 1}));
  EXPECT_EQ(r.column(column<table::OperatorInputs>.allocation), (Values<uint32_t>{0, 2, 1, 0, 3}));
  EXPECT_EQ(r.rows(Table::allocations, {}), 3U) << "an input without known bytes makes no allocation";
}

TEST(Seal, WhatAnOperatorWritesAndWhatACopyWasGiven) {
  SpoolBuilder b;
  b.alloc(0x10, 64).alloc(0x20, 64);
  b.op("aten::mul", {0x10, 0x20}, 0, SpoolBuilder::kNone, 0, 2).end_op();
  const uint32_t layout = b.layout("float32", 4, {2, 3}, {3, 1});
  b.op("aten::cat", {0x10, 0x20}).views({{layout, 0, 0}, {layout, 0, 5}}).end_op();
  // If the number of views differs from the number of inputs, the views do not belong to the operator.
  b.op("aten::clone", {0x10}).views({{layout, 0, 0}, {layout, 0, 5}}).end_op();
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Operators>.written), (Values<uint32_t>{0, 2, 0, 0}));
  EXPECT_EQ(r.column(column<table::InputViews>.op), (Values<uint32_t>{0, 2, 2}));
  EXPECT_EQ(r.column(column<table::InputViews>.layout), (Values<uint32_t>{0, 1, 1}));
  EXPECT_EQ(r.column(column<table::InputViews>.offset), (Values<uint64_t>{0, 0, 5}));
}

TEST(Seal, AnAllocationKnowsItsBytesDeviceOperatorEvaluationModuleAndStack) {
  SpoolBuilder b;
  const uint32_t stack = b.stack({b.frame("train.py", 12, "step"), b.frame("train.py", 40, "main")});
  b.node("MulBackward0", 0xabc).enter("Net", "Net").evaluate(0xabc).op("aten::mul");
  b.at(500).alloc(0x40, 4096, "cuda:1", stack);
  b.end_op().end_evaluation().leave();
  const Recording r = b.seal();
  ASSERT_EQ(r.rows(Table::allocations, {}), 1U);
  EXPECT_EQ(r.column(column<table::Allocations>.time)[1], 500U);
  EXPECT_EQ(r.column(column<table::Allocations>.bytes)[1], 4096U);
  EXPECT_EQ(r.column(column<table::Allocations>.origin)[1], static_cast<uint8_t>(Origin::allocator));
  EXPECT_EQ(r.column(column<table::Allocations>.op)[1], 1U);
  EXPECT_EQ(r.column(column<table::Allocations>.evaluation)[1], 1U);
  EXPECT_EQ(r.column(column<table::Allocations>.module_call)[1], 1U);
  EXPECT_EQ(r.column(column<table::Operators>.evaluation)[1], 1U);
  EXPECT_EQ(r.column(column<table::Operators>.module_call)[1], 1U);
  const auto device = r.column(column<table::Allocations>.device)[1];
  EXPECT_EQ(strings_of(r)[r.column(column<table::Devices>.name)[device]], "cuda:1");
  const auto depth = r.column(column<table::Stacks>.depth);
  EXPECT_EQ(depth[r.column(column<table::Allocations>.stack)[1]], 2U);
  const auto frames = r.column(column<table::StackFrames>.frame);
  EXPECT_EQ(r.column(column<table::Frames>.line)[frames[1]], 12U);
  EXPECT_EQ(r.column(column<table::Frames>.line)[frames[2]], 40U);
  EXPECT_EQ(strings_of(r)[r.column(column<table::Frames>.function)[frames[2]]], "main");
  EXPECT_EQ(strings_of(r)[r.column(column<table::Frames>.file)[frames[2]]], "train.py");
}

TEST(Seal, AFreeEndsTheAllocationThatIsAliveAtItsAddress) {
  SpoolBuilder b;
  b.op("x").end_op().alloc(0x10, 1).alloc(0x20, 2).at(900).free(0x10).alloc(0x10, 3).at(1000).free(0x10);
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Frees>.of), (Values<uint32_t>{0, 1, 3}));
  EXPECT_EQ(r.column(column<table::Frees>.time), (Values<uint64_t>{0, 900, 1000}));
  EXPECT_TRUE(losses_of(r).empty());
}

TEST(Seal, AFreeOfMemoryNeverSeenIsCountedAsLoss) {
  SpoolBuilder b;
  b.op("x").end_op().free(0x10).alloc(0x20, 1).free(0x20).at(700).free(0x20);
  const Recording r = b.seal();
  EXPECT_EQ(r.rows(Table::frees, {}), 1U);
  EXPECT_EQ(lost(r, Loss::unmatched_event), 2U);
}

TEST(Seal, AnAllocationWhereOneIsStillAliveEndsTheOldOneAndIsCountedAsLoss) {
  SpoolBuilder b;
  b.op("x").end_op().alloc(0x10, 100).at(300).alloc(0x10, 50);
  auto sealed = b.seal_all();
  const Recording& r = sealed.recording;
  EXPECT_EQ(r.column(column<table::Frees>.of), (Values<uint32_t>{0, 1}));
  EXPECT_EQ(r.column(column<table::Frees>.time)[1], 300U);
  EXPECT_EQ(lost(r, Loss::unmatched_event), 1U);
  EXPECT_EQ(sealed.summary.processes[0].devices[0].peak.value, 100);
}

TEST(Seal, ASaveOfMemoryThatNoAllocatorMadeMakesAForeignAllocation) {
  SpoolBuilder b;
  b.op("x").node("MmBackward0", 0xa).save(0xa, "self", 0x7000, 256).save(0xa, "mat2", 0x7000, 256).end_op();
  const auto sealed = b.seal_all();
  const Recording& r = sealed.recording;
  ASSERT_EQ(r.rows(Table::allocations, {}), 1U);
  EXPECT_EQ(r.column(column<table::Allocations>.origin)[1], static_cast<uint8_t>(Origin::foreign));
  EXPECT_EQ(r.column(column<table::Allocations>.bytes)[1], 256U);
  EXPECT_EQ(r.column(column<table::Allocations>.op)[1], 0U) << "no operator made it";
  EXPECT_EQ(r.column(column<table::Saves>.allocation), (Values<uint32_t>{0, 1, 1}));
  EXPECT_TRUE(sealed.summary.processes[0].devices.empty()) << "foreign memory is in no device's sum";
}

TEST(Seal, AnAllocationAtAForeignAddressEndsTheForeignMemoryWithoutLoss) {
  SpoolBuilder b;
  b.op("x").end_op().role(Role::parameter, "weight", 0x7000, 64).alloc(0x7000, 32);
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Frees>.of), (Values<uint32_t>{0, 1}));
  EXPECT_TRUE(losses_of(r).empty());
}

TEST(Seal, AForeignRecordOfMemoryThatIsAliveIsIgnored) {
  SpoolBuilder b;
  b.op("x").end_op().alloc(0x10, 64).foreign(0x10, 64).foreign(0x80, 32).foreign(0x80, 32);
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Allocations>.origin), (Values<uint8_t>{0, 0, 1}));
  EXPECT_EQ(r.column(column<table::Allocations>.bytes), (Values<uint64_t>{0, 64, 32}));
}

TEST(Seal, ARoleNamesAStorageAndTheParameterItBelongsTo) {
  SpoolBuilder b;
  b.op("x").end_op().alloc(0x10, 64).alloc(0x20, 64);
  b.role(Role::parameter, "fc.weight", 0x10, 64).role(Role::gradient, "fc.weight", 0x20, 64, 0x10);
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Roles>.kind), (Values<uint8_t>{0, 1, 3}));
  EXPECT_EQ(r.column(column<table::Roles>.allocation), (Values<uint32_t>{0, 1, 2}));
  EXPECT_EQ(r.column(column<table::Roles>.parameter), (Values<uint32_t>{0, 0, 1}));
  EXPECT_EQ(strings_of(r)[r.column(column<table::Roles>.name)[2]], "fc.weight");
}

TEST(Seal, ANodeHasItsOperatorTypeFlagsAndEdges) {
  SpoolBuilder b;
  b.alloc(0x10, 4).accumulate_grad(0xa, 0x10);
  b.op("aten::mul").node("MulBackward0", 0xb, {{0xa, 0}, {0, 0}, {0x999, 1}}, 5, kNodeIsCustom).end_op();
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Nodes>.op), (Values<uint32_t>{0, 0, 1}));
  EXPECT_EQ(strings_of(r)[r.column(column<table::Nodes>.type)[2]], "MulBackward0");
  EXPECT_EQ(r.column(column<table::Nodes>.flags),
            (Values<uint8_t>{0, kNodeIsAccumulateGrad, kNodeIsCustom | kNodeHasUnseenEdges}));
  EXPECT_EQ(r.column(column<table::Nodes>.parameter), (Values<uint32_t>{0, 1, 0}));
  EXPECT_EQ(r.column(column<table::Nodes>.edge_count), (Values<uint16_t>{0, 0, 3}));
  EXPECT_EQ(r.column(column<table::NodeEdges>.node), (Values<uint32_t>{0, 1, 0, 0}))
      << "none, and an address not known: 0";
}

TEST(Seal, ANodeHasItsAttributesAndOnlyEdgesThatLeadNowhereKnownAreUnseen) {
  SpoolBuilder b;
  b.op("aten::native_batch_norm").node("NativeBatchNormBackward0", 0xb, {{0, 0}}, 5, 0, "training=False").end_op();
  // Only the sealer sets this flag.
  b.op("aten::mul").node("MulBackward0", 0xc, {{0xb, 0}, {0, 0}}, 6, kNodeHasUnseenEdges).end_op();
  const Recording r = b.seal();
  EXPECT_EQ(strings_of(r)[r.column(column<table::Nodes>.attributes)[1]], "training=False");
  EXPECT_EQ(r.column(column<table::Nodes>.attributes)[2], 0u);
  EXPECT_EQ(r.column(column<table::Nodes>.flags), (Values<uint8_t>{0, 0, 0}));
}

TEST(Seal, ANodeToldTwiceIsOneNode) {
  SpoolBuilder b;
  b.op("x").node("N", 0xa, {}, 5).node("N", 0xa, {}, 5).end_op();
  b.accumulate_grad(0xb, 0x10).accumulate_grad(0xb, 0x10);
  const Recording r = b.seal();
  EXPECT_EQ(r.rows(Table::nodes, {}), 2U);
  EXPECT_EQ(r.rows(Table::node_releases, {}), 0U);
}

TEST(Seal, ANodeAtTheAddressOfAnotherEndsThatOne) {
  SpoolBuilder b;
  b.op("x").node("N", 0xa, {}, 5).at(400).node("N", 0xa, {}, 6).end_op();
  b.accumulate_grad(0xb, 0x10).accumulate_grad(0xb, 0x20);
  const Recording r = b.seal();
  EXPECT_EQ(r.rows(Table::nodes, {}), 4U);
  EXPECT_EQ(r.column(column<table::NodeReleases>.of), (Values<uint32_t>{0, 1, 3}));
  EXPECT_EQ(r.column(column<table::NodeReleases>.flags), (Values<uint8_t>{0, kNodeDied, kNodeDied}));
  EXPECT_EQ(r.column(column<table::NodeReleases>.time)[1], 400U);
}

TEST(Seal, TheSameNodeNumberOnAnotherThreadIsAnotherNode) {
  SpoolBuilder b;
  b.op("x").node("N", 0xa, {}, 5).thread(2).op("y").node("N", 0xa, {}, 5);
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Nodes>.op), (Values<uint32_t>{0, 1, 2}));
}

TEST(Seal, ReleasesNameTheNodeAndAfterItsDeathTheAddressIsFree) {
  SpoolBuilder b;
  b.op("x").node("N", 0xa, {}, 1).node_release(0xa).node_dies(0xa).node("N", 0xa, {}, 1).node_dies(0x999).end_op();
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::NodeReleases>.of), (Values<uint32_t>{0, 1, 1}));
  EXPECT_EQ(r.column(column<table::NodeReleases>.flags), (Values<uint8_t>{0, 0, kNodeDied}));
  EXPECT_EQ(r.rows(Table::nodes, {}), 2U);
  EXPECT_TRUE(losses_of(r).empty()) << "the death of an unrecorded node does not count as a loss";
}

TEST(Seal, ASaveOfACompiledFunctionHasTheStackOfItsLineAndOthersHaveNone) {
  SpoolBuilder b;
  const uint32_t stack = b.stack({b.frame("model.py", 7, "Net.forward")});
  b.alloc(0x10, 64).op("x").node("CompiledFunctionBackward", 0xa);
  b.placed_save(0xa, "addmm (model.py:7 Net.forward) saved_tensors[0]", 0x10, 64, stack, kSaveIsOfContext);
  b.save(0xa, "saved_tensors", 0x10, 64).end_op();
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Saves>.stack), (Values<uint32_t>{0, 1, 0}));
  EXPECT_EQ(r.column(column<table::Saves>.flags), (Values<uint8_t>{0, kSaveIsOfContext, 0}));
  EXPECT_EQ(r.column(column<table::Saves>.allocation), (Values<uint32_t>{0, 1, 1}));
}

TEST(Seal, ASaveHasItsNodeFieldViewAndFlags) {
  SpoolBuilder b;
  const uint32_t layout = b.layout("float32", 4, {2, 3}, {3, -1});
  b.alloc(0x10, 64).op("x").node("ConvolutionBackward0", 0xa);
  b.at(640).save(0xa, "input", 0x10, 64, layout, kSaveIsOutput, 3, 8).end_op();
  const Recording r = b.seal();
  ASSERT_EQ(r.rows(Table::saves, {}), 1U);
  EXPECT_EQ(r.column(column<table::Saves>.time)[1], 640U);
  EXPECT_EQ(r.column(column<table::Saves>.node)[1], 1U);
  EXPECT_EQ(strings_of(r)[r.column(column<table::Saves>.field)[1]], "input");
  EXPECT_EQ(r.column(column<table::Saves>.index)[1], 3U);
  EXPECT_EQ(r.column(column<table::Saves>.allocation)[1], 1U);
  EXPECT_EQ(r.column(column<table::Saves>.offset)[1], 8U);
  EXPECT_EQ(r.column(column<table::Saves>.flags)[1], kSaveIsOutput);
  const auto id = r.column(column<table::Saves>.layout)[1];
  EXPECT_EQ(strings_of(r)[r.column(column<table::Layouts>.dtype)[id]], "float32");
  EXPECT_EQ(r.column(column<table::Layouts>.element_bytes)[id], 4U);
  EXPECT_EQ(r.column(column<table::Layouts>.rank)[id], 2U);
  EXPECT_EQ(r.column(column<table::LayoutExtents>.size), (Values<uint64_t>{0, 2, 3}));
  EXPECT_EQ(static_cast<int64_t>(r.column(column<table::LayoutExtents>.stride)[2]), -1);
}

TEST(Seal, ASaveWithoutNodeOrFieldIsKeptAndCountedAsUnattributed) {
  SpoolBuilder b;
  b.op("x").node("N", 0xa).save(0, "self", 0, 0).save(0xa, "", 0, 0).save(0x999, "self", 0, 0).end_op();
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Saves>.node), (Values<uint32_t>{0, 0, 1, 0}));
  EXPECT_EQ(lost(r, Loss::unattributed_save), 3U);
}

TEST(Seal, AVariableHasItsAllocationAndName) {
  SpoolBuilder b;
  b.alloc(0x10, 64).alloc(0x20, 64).op("x").at(640).variable("history[3] in train.py:61", 0x20, 64);
  b.free(0x20).variable("gone in train.py:62", 0x20, 64);
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Variables>.time), (Values<uint64_t>{0, 640}));
  EXPECT_EQ(r.column(column<table::Variables>.allocation), (Values<uint32_t>{0, 2})) << "what was freed has none";
  EXPECT_EQ(strings_of(r)[r.column(column<table::Variables>.name)[1]], "history[3] in train.py:61");
}

TEST(Seal, WhatIsHeldHasItsNodeAllocationAndWhatFor) {
  SpoolBuilder b;
  b.alloc(0x10, 64).alloc(0x20, 64).op("x").node("N", 0xa);
  b.at(640).held(HeldBy::packed, "input", 0x10, 64, 0xa).held(HeldBy::checkpointing, "aten.mm", 0x20, 64).end_op();
  b.free(0x20).held(HeldBy::context, "mask", 0x20, 64, 0xa);
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Held>.time)[1], 640U);
  EXPECT_EQ(r.column(column<table::Held>.node), (Values<uint32_t>{0, 1, 0}));
  EXPECT_EQ(r.column(column<table::Held>.allocation), (Values<uint32_t>{0, 1, 2})) << "freed allocations are not held";
  EXPECT_EQ(r.column(column<table::Held>.by), (Values<uint8_t>{0, 1, 3}));
  EXPECT_EQ(strings_of(r)[r.column(column<table::Held>.field)[1]], "input");
  EXPECT_TRUE(losses_of(r).empty());
}

TEST(Seal, ARewriteHasItsNodeFieldBytesAndTheReasonItWasSkippedFor) {
  SpoolBuilder b;
  const uint32_t stack = b.stack({b.frame("train.py", 3, "main")});
  b.enter("Net", "Net").op("aten::relu").alloc(0x10, 4096).node("ReluBackward0", 0xa).save(0xa, "result", 0x10, 4096);
  b.at(300).rewrite("wide-save", 1, 0xa, "result", 4096, 128).end_op();
  b.op("aten::cat").rewrite("trivial-concat", 4, 0, "", 64, 0, "written through an alias", stack).end_op().leave();
  const Recording r = b.seal();
  const auto strings = strings_of(r);
  ASSERT_EQ(r.rows(Table::rewrites, {}), 2U);
  EXPECT_EQ(r.column(column<table::Rewrites>.time)[1], 300U);
  EXPECT_EQ(strings[r.column(column<table::Rewrites>.rewrite)[1]], "wide-save");
  EXPECT_EQ(r.column(column<table::Rewrites>.flags), (Values<uint8_t>{0, 1, 4 | kRewriteSkipped}));
  EXPECT_EQ(r.column(column<table::Rewrites>.node), (Values<uint32_t>{0, 1, 0}));
  EXPECT_EQ(strings[r.column(column<table::Rewrites>.field)[1]], "result");
  EXPECT_EQ(r.column(column<table::Rewrites>.reason)[1], 0U);
  EXPECT_EQ(strings[r.column(column<table::Rewrites>.reason)[2]], "written through an alias");
  EXPECT_EQ(r.column(column<table::Rewrites>.bytes), (Values<uint64_t>{0, 4096, 64}));
  EXPECT_EQ(r.column(column<table::Rewrites>.kept), (Values<uint64_t>{0, 128, 0}));
  EXPECT_EQ(r.column(column<table::Rewrites>.op), (Values<uint32_t>{0, 1, 2}));
  EXPECT_EQ(r.column(column<table::Rewrites>.stack), (Values<uint32_t>{0, 0, 1}));
  EXPECT_EQ(r.column(column<table::Rewrites>.module_call), (Values<uint32_t>{0, 1, 1}));
  EXPECT_TRUE(losses_of(r).empty());
}

TEST(Seal, ChecksumsAreKeptAsTheyCome) {
  SpoolBuilder b;
  b.op("x").end_op().at(200).checksum(ChecksumOf::loss, "", 3, 17).checksum(ChecksumOf::parameter, "w", 3, 1, 40);
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Checksums>.time), (Values<uint64_t>{0, 200, 210}));
  EXPECT_EQ(r.column(column<table::Checksums>.step), (Values<uint64_t>{0, 3, 3}));
  EXPECT_EQ(r.column(column<table::Checksums>.of), (Values<uint8_t>{0, 1, 3}));
  EXPECT_EQ(r.column(column<table::Checksums>.value), (Values<uint64_t>{0, 17, 1}));
  EXPECT_EQ(r.column(column<table::Checksums>.spent), (Values<uint64_t>{0, 0, 40}));
  EXPECT_EQ(strings_of(r)[r.column(column<table::Checksums>.name)[2]], "w");
}

TEST(Seal, AnEvaluationThatReleasesWritesARelease) {
  SpoolBuilder b;
  b.op("x").node("A", 0xa).node("B", 0xb).end_op().backward(kBackwardKeepsGraph);
  b.evaluate(0xa, false).end_evaluation().evaluate(0xb, true).at(800).end_evaluation().at(900).end_backward();
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Evaluations>.node), (Values<uint32_t>{0, 1, 2}));
  EXPECT_EQ(r.column(column<table::Evaluations>.flags), (Values<uint8_t>{0, 0, kEvaluationReleases}));
  EXPECT_EQ(r.column(column<table::EvaluationEnds>.of), (Values<uint32_t>{0, 1, 2}));
  EXPECT_EQ(r.column(column<table::EvaluationEnds>.end)[2], 800U);
  EXPECT_EQ(r.column(column<table::NodeReleases>.of), (Values<uint32_t>{0, 2}));
  EXPECT_EQ(r.column(column<table::NodeReleases>.time)[1], 800U);
  EXPECT_EQ(r.column(column<table::NodeReleases>.flags)[1], 0U);
  EXPECT_EQ(r.column(column<table::Backwards>.end)[1], 900U);
  EXPECT_EQ(r.column(column<table::Backwards>.flags)[1], kBackwardKeepsGraph);
}

TEST(Seal, ModuleCallsNest) {
  SpoolBuilder b;
  b.enter("Net", "Net", kModuleCallWithoutGradients)
      .enter("Net.conv1", "Conv2d")
      .op("aten::conv2d")
      .end_op()
      .leave()
      .op("aten::relu")
      .end_op();
  b.leave().op("aten::sum").end_op();
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::ModuleCalls>.parent), (Values<uint32_t>{0, 0, 1}));
  EXPECT_EQ(r.column(column<table::ModuleCalls>.flags), (Values<uint8_t>{0, kModuleCallWithoutGradients, 0}));
  EXPECT_EQ(r.column(column<table::ModuleCallEnds>.of), (Values<uint32_t>{0, 2, 1}));
  EXPECT_EQ(r.column(column<table::Operators>.module_call), (Values<uint32_t>{0, 2, 1, 0}));
  const auto module = r.column(column<table::ModuleCalls>.module)[2];
  EXPECT_EQ(strings_of(r)[r.column(column<table::Modules>.path)[module]], "Net.conv1");
  EXPECT_EQ(strings_of(r)[r.column(column<table::Modules>.type)[module]], "Conv2d");
}

TEST(Seal, OptimizerStepsAndRangesHaveBothEnds) {
  SpoolBuilder b;
  b.op("x").end_op().at(100).range("epoch").at(200).optimizer("SGD").at(300).end_optimizer().at(400).end_range();
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Ranges>.begin)[1], 100U);
  EXPECT_EQ(r.column(column<table::Ranges>.end)[1], 400U);
  EXPECT_EQ(r.column(column<table::Ranges>.thread)[1], 1U);
  EXPECT_EQ(strings_of(r)[r.column(column<table::Ranges>.name)[1]], "epoch");
  EXPECT_EQ(r.column(column<table::OptimizerSteps>.begin)[1], 200U);
  EXPECT_EQ(r.column(column<table::OptimizerSteps>.end)[1], 300U);
  EXPECT_EQ(strings_of(r)[r.column(column<table::OptimizerSteps>.name)[1]], "SGD");
}

TEST(Seal, WhatIsStillOpenAtTheEndNeverEnds) {
  SpoolBuilder b;
  b.op("x").backward().optimizer("SGD").range("epoch").enter("Net", "Net");
  const Recording r = b.seal();
  EXPECT_EQ(r.rows(Table::operator_ends, {}), 0U);
  EXPECT_EQ(r.rows(Table::module_call_ends, {}), 0U);
  EXPECT_EQ(r.column(column<table::Backwards>.end)[1], UINT64_MAX);
  EXPECT_EQ(r.column(column<table::OptimizerSteps>.end)[1], UINT64_MAX);
  EXPECT_EQ(r.column(column<table::Ranges>.end)[1], UINT64_MAX);
}

TEST(Seal, EndsWithoutABeginAreCountedAsLoss) {
  SpoolBuilder b;
  b.op("x").end_op().end_op().end_evaluation().end_backward().leave().end_optimizer().end_range();
  const Recording r = b.seal();
  EXPECT_EQ(lost(r, Loss::unmatched_event), 6U);
}

TEST(Seal, TheSummaryTellsThePeakOfEachDevice) {
  SpoolBuilder b;
  b.op("x").alloc(0x10, 100).alloc(0x20, 50).free(0x10).alloc(0x30, 70).alloc(0x40, 7, "cuda:0").end_op();
  const auto sealed = b.seal_all();
  ASSERT_EQ(sealed.summary.processes.size(), 1U);
  const auto& devices = sealed.summary.processes[0].devices;
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].device, "cpu");
  EXPECT_EQ(devices[0].peak.value, 150);
  EXPECT_EQ(devices[1].device, "cuda:0");
  EXPECT_EQ(devices[1].peak.value, 7);
}

TEST(Seal, TablesLargerThanAChunkKeepEveryRow) {
  SpoolBuilder b;
  constexpr uint64_t kMany = 150'000;
  for (uint64_t i = 1; i <= kMany; ++i) b.op("x", {}, 0, i, 0, static_cast<uint32_t>(i * 3)).end_op();
  const Recording r = b.seal();
  const auto written = r.column(column<table::Operators>.written);
  const auto begin = r.column(column<table::Operators>.begin);
  ASSERT_EQ(written.size(), kMany + 1);
  for (uint64_t i = 1; i <= kMany; ++i) {
    ASSERT_EQ(written[i], i * 3);
    ASSERT_EQ(begin[i], i * 20 - 10);
  }
  EXPECT_EQ(r.events(), 2 * kMany);
}

TEST(Seal, BytesThatAreNotUtf8AreReplaced) {
  SpoolBuilder b;
  b.op("caf\xc3\xa9 \xff\xc3").end_op();
  const Recording r = b.seal();
  EXPECT_EQ(strings_of(r)[r.column(column<table::Operators>.name)[1]], "caf\xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Seal, InformationIsKeptAndRankReadFromIt) {
  SpoolBuilder b;
  b.information("torch_version", "2.15.0").information("rank", "3").op("x").end_op();
  const auto sealed = b.seal_all();
  const Recording& r = sealed.recording;
  EXPECT_EQ(r.processes()[0].rank, 3);
  EXPECT_EQ(sealed.summary.processes[0].rank, 3);
  EXPECT_EQ(strings_of(r)[r.column(column<table::Information>.key)[1]], "torch_version");
  EXPECT_EQ(strings_of(r)[r.column(column<table::Information>.value)[1]], "2.15.0");
}

TEST(Seal, LossesThatTheProcessCountedAreKept) {
  SpoolBuilder b;
  b.op("x").end_op().loss(Loss::truncated_text, 4);
  b.writer().count(Loss::truncated_text, 2);
  const auto sealed = b.seal_all();
  EXPECT_EQ(lost(sealed.recording, Loss::truncated_text), 6U);
  ASSERT_EQ(sealed.summary.losses.size(), 1U);
  EXPECT_EQ(sealed.summary.losses[0].kind, Loss::truncated_text);
  EXPECT_EQ(sealed.summary.losses[0].count, 6U);
}

}  // namespace
}  // namespace tapelens::trace
