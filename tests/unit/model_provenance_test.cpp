// Provenance of tensors: calls, creation, reads, copies, writes.
#include <gtest/gtest.h>

#include "analyzer/model/provenance.h"
#include "testing/model_builder.h"

namespace tapelens::model {
namespace {

using testing::ProcessBuilder;

template <class T>
std::vector<uint32_t> values(std::span<const T> ids) {
  std::vector<uint32_t> out;
  for (const auto id : ids) {
    if constexpr (std::is_integral_v<T>) {
      out.push_back(id);
    } else {
      out.push_back(id.value);
    }
  }
  return out;
}

using Values = std::vector<uint32_t>;

TEST(Provenance, CallsAreWhatTheProgramCalled) {
  ProcessBuilder b;
  const OperatorId custom = b.op(1, 90, "MyFunction");
  const OperatorId matmul = b.op(2, 50, "aten::matmul", custom);
  const OperatorId bmm = b.op(3, 40, "aten::bmm", matmul);
  const AllocationId made = b.allocate(4, 8, bmm);
  b.done();
  const Provenance provenance(b.process, b.text);
  EXPECT_EQ(provenance.called(bmm), matmul);
  EXPECT_EQ(provenance.called(matmul), matmul);
  EXPECT_EQ(provenance.called(custom), custom);
  EXPECT_EQ(provenance.maker(made), matmul);
  EXPECT_EQ(provenance.name(bmm), "bmm");
  EXPECT_EQ(provenance.name(custom), "MyFunction");
}

TEST(Provenance, AnEvaluationBeginsAnew) {
  ProcessBuilder b;
  const OperatorId outer = b.op(1, 90, "aten::outer");
  const EvaluationId evaluation = b.evaluate(5, 80, b.node(4, "ExpBackward0", outer));
  const OperatorId inner = b.op(6, 20, "aten::mul", outer);
  b.process.operators.evaluation.raw[inner.value] = evaluation.value;
  b.done();
  EXPECT_EQ(Provenance(b.process, b.text).called(inner), inner);
}

TEST(Provenance, UsesAreTheOutermostThatWereGivenIt) {
  ProcessBuilder b;
  const AllocationId x = b.allocate(0, 8), y = b.allocate(0, 8);
  const OperatorId linear = b.op(1, 20, "aten::linear", {}, {}, {x, y});
  b.op(2, 10, "aten::addmm", linear, {}, {x, y, x});
  const OperatorId mul = b.op(30, 40, "aten::mul", {}, {}, {x, x});
  const OperatorId wrapper = b.op(50, 60, "aten::wrapper");
  const OperatorId inside = b.op(51, 59, "aten::exp", wrapper, {}, {y});
  b.done();
  const Provenance provenance(b.process, b.text);
  EXPECT_EQ(values(provenance.uses(x)), (Values{linear.value, mul.value}));
  EXPECT_EQ(values(provenance.uses(y)), (Values{linear.value, inside.value}));
  EXPECT_EQ(values(provenance.inputs(mul)), (Values{x.value, x.value}));
  EXPECT_TRUE(provenance.inputs(wrapper).empty());
}

TEST(Provenance, SavesAndNodesByWhatTheyAreOf) {
  ProcessBuilder b;
  const AllocationId x = b.allocate(0, 8), y = b.allocate(0, 8);
  const OperatorId mul = b.op(1, 20, "aten::mul", {}, {}, {x, y});
  const NodeId node = b.node(2, "MulBackward0", mul), other = b.node(3, "AddBackward0", mul);
  const SaveId first = b.save(2, node, "self", x);
  b.save(2, node, "packed", x, {}, trace::kSaveIsPacked);
  const SaveId second = b.save(3, other, "self", x);
  b.done();
  const Provenance provenance(b.process, b.text);
  EXPECT_EQ(values(provenance.saves(x)), (Values{first.value, second.value}));
  EXPECT_TRUE(provenance.saves(y).empty());
  EXPECT_EQ(values(provenance.nodes(mul)), (Values{node.value, other.value}));
}

TEST(Provenance, CopiesAreOfOneOther) {
  ProcessBuilder b;
  const LayoutId layout = b.layout("float32", 4, {2, 3});
  const AllocationId x = b.allocate(0, 240), y = b.allocate(0, 24);
  const OperatorId reshape = b.op(1, 20, "aten::reshape", {}, {}, {x});
  const OperatorId clone = b.op(2, 15, "aten::clone", reshape, {}, {x});
  b.view(clone, layout, 5);
  const OperatorId empty = b.op(3, 4, "aten::empty_like", clone);
  const AllocationId copy = b.allocate(3, 24, empty);
  const OperatorId one = b.op(30, 40, "aten::cat", {}, {}, {y});
  const AllocationId cat_of_one = b.allocate(31, 24, one);
  const OperatorId two = b.op(50, 60, "aten::cat", {}, {}, {y, copy});
  const AllocationId cat_of_two = b.allocate(51, 48, two);
  const OperatorId add = b.op(70, 80, "aten::add", {}, {}, {y});
  const AllocationId sum = b.allocate(71, 24, add);
  b.done();
  const Provenance provenance(b.process, b.text);
  const Copy found = provenance.copy_of(copy);
  EXPECT_EQ(found.op, clone);
  EXPECT_EQ(found.source, x);
  EXPECT_EQ(found.source_layout, layout);
  EXPECT_EQ(found.source_offset, Bytes{20});
  EXPECT_EQ(provenance.copy_of(cat_of_one).source, y);
  EXPECT_FALSE(provenance.copy_of(cat_of_two).source);
  EXPECT_FALSE(provenance.copy_of(sum).source);
  EXPECT_FALSE(provenance.copy_of(x).source);
}

TEST(Provenance, WritesAreWhatTheSchemaSays) {
  ProcessBuilder b;
  const AllocationId x = b.allocate(0, 8), y = b.allocate(0, 8);
  const OperatorId add = b.op(10, 20, "aten::add_", {}, {}, {x, y});
  const OperatorId out = b.op(30, 40, "aten::mul", {}, {}, {x, x, y});
  b.process.operators.written.raw[out.value] = 4;  // mul(x, x, out=y)
  b.done();
  const Provenance provenance(b.process, b.text);
  EXPECT_TRUE(provenance.writes(add, x));
  EXPECT_FALSE(provenance.writes(add, y));
  EXPECT_TRUE(provenance.writes(out, y));
  EXPECT_TRUE(provenance.is_written(x, {Time{0}, Time{11}}));
  EXPECT_TRUE(provenance.is_written(x, {Time{11}, kNever}));  // it is open at that time
  EXPECT_FALSE(provenance.is_written(x, {Time{20}, kNever}));
  EXPECT_TRUE(provenance.is_written(y, {Time{11}, kNever}));
}

}  // namespace
}  // namespace tapelens::model
