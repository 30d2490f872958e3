// Replays of hypothetical changes: an allocation ends with its last holder and counts once, and the curve equals a
// naive recount.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analyzer/peak/replay.h"
#include "testing/model_builder.h"

namespace tapelens::peak {
namespace {

using testing::kCpu;
using testing::ProcessBuilder;

struct World {
  explicit World(const ProcessBuilder& b)
      : process(b.process), provenance(process, b.text), lifetimes(process, provenance), timeline(process, kCpu) {}
  Replay::Outcome without(const WhatIf& change) const { return Replay(lifetimes, timeline).without(change); }
  Replay::Outcome without(const WhatIf& one, const WhatIf& other) const {
    const WhatIf* const both[] = {&one, &other};
    return Replay(lifetimes, timeline).without(both);
  }
  const Process& process;
  Provenance provenance;
  Lifetimes lifetimes;
  Timeline timeline;
};

// Forward: x (100) -> relu -> y (200) -> conv -> z (400). y is kept by both nodes; the backward releases conv's save,
// then relu's, with y's memory.
struct Chain : ProcessBuilder {
  OperatorId relu, conv;
  AllocationId x, y, z, gradient;
  NodeId relu_node, conv_node;
  SaveId by_relu, by_conv;

  Chain() {
    x = allocate(10, 100);
    relu = op(20, 30, "aten::relu", {}, {}, {x});
    y = allocate(22, 200, relu);
    relu_node = node(28, "ReluBackward0", relu);
    by_relu = save(28, relu_node, "result", y);
    conv = op(40, 60, "aten::conv2d", {}, {}, {y});
    z = allocate(45, 400, conv);
    conv_node = node(50, "ConvolutionBackward0", conv);
    by_conv = save(50, conv_node, "input", y);
    evaluate(100, 110, conv_node, true);
    gradient = allocate(105, 50);
    evaluate(120, 130, relu_node, true);
    free(131, y);
    backward(95, 140);
    op(150, 160, "aten::add_");
    free(170, gradient);
    free(180, z);
    free(190, x);
    done();
  }
};

TEST(Replay, NothingChangedIsTheRecordedCurve) {
  const Chain chain;
  const World world(chain);
  const auto outcome = world.without(WhatIf{});
  EXPECT_EQ(outcome.peak, Bytes{750});
  EXPECT_EQ(outcome.when.time, Time{105});
  EXPECT_TRUE(outcome.changed.empty());
  EXPECT_EQ(outcome.most_retained, Bytes{0});
}

TEST(Replay, LetsGoOnlyWhenEveryKeeperIsGone) {
  const Chain chain;
  const World world(chain);
  EXPECT_TRUE(world.lifetimes.ends_with_save(chain.y));
  EXPECT_FALSE(world.lifetimes.ends_with_save(chain.z));
  // Relu's save is released last, so removing conv's save does not change the end.
  EXPECT_EQ(world.without(WhatIf{{chain.by_conv}, {}, {}, {}}).peak, Bytes{750});
  // Without relu's save, y ends with conv's save.
  const auto relu = world.without(WhatIf{{chain.by_relu}, {}, {}, {}});
  EXPECT_EQ(relu.end(chain.process, chain.y), Time{110});
  EXPECT_EQ(relu.peak, Bytes{750});
  // Without both saves, y ends after its last use, the convolution.
  const auto both = world.without(WhatIf{{chain.by_relu}, {}, {}, {}}, WhatIf{{chain.by_conv}, {}, {}, {}});
  EXPECT_EQ(both.end(chain.process, chain.y), Time{60});
  EXPECT_EQ(both.peak, Bytes{700});
  EXPECT_EQ(both.when.time, Time{45});
  EXPECT_EQ(both.most_retained, Bytes{200});
}

TEST(Replay, ThePeakSetIsWhatIsAliveThen) {
  const Chain chain;
  const World world(chain);
  const WhatIf change{{chain.by_relu, chain.by_conv}, {}, {}, {}};
  const WhatIf* const changes[] = {&change};
  const auto outcome = world.without(change);
  const PeakSet set = peak_set_without(chain.process, chain.text, kCpu, outcome, changes);
  EXPECT_EQ(set.bytes, outcome.peak);
  ASSERT_EQ(set.members.size(), 3U);
  EXPECT_EQ(set.members[0].allocation, chain.z);
  EXPECT_EQ(set.members[1].allocation, chain.y);
  // The holder is the convolution that reads y, not the removed saves.
  ASSERT_EQ(set.members[1].holders, 1U);
  EXPECT_EQ(set.holders_of(set.members[1])[0].kind, HolderKind::op);
  // One of the two saves stays.
  const WhatIf one{{chain.by_relu}, {}, {}, {}};
  const WhatIf* const only[] = {&one};
  const PeakSet with = peak_set_without(chain.process, chain.text, kCpu, world.without(one), only);
  EXPECT_EQ(with.bytes, Bytes{750});
  ASSERT_EQ(with.members[1].allocation, chain.y);
  ASSERT_EQ(with.members[1].holders, 1U);
  EXPECT_EQ(chain.text.string(with.holders_of(with.members[1])[0].field), "input");
}

TEST(Replay, TheSameSaveTwiceCountsOnce) {
  const Chain chain;
  const World world(chain);
  const WhatIf both{{chain.by_relu, chain.by_conv}, {}, {}, {}};
  EXPECT_EQ(world.without(both, both).most_retained, Bytes{200});
}

TEST(Replay, WhatIsThereInsteadCountsWhereItIsInsteadOfSomething) {
  const Chain chain;
  const World world(chain);
  const WhatIf::Extra mask{chain.y, {Time{28}, Time{130}}, Bytes{7}};
  EXPECT_EQ(world.without(WhatIf{{chain.by_relu, chain.by_conv}, {}, {}, {mask}}).peak, Bytes{707});
  // The conv keeps y, so no mask is added.
  EXPECT_EQ(world.without(WhatIf{{chain.by_conv}, {}, {}, {mask}}).peak, Bytes{750});
  // In an interval without an event, the extra bytes add to the live bytes.
  EXPECT_EQ(world.without(WhatIf{{}, {}, {}, {{{}, {Time{106}, Time{107}}, Bytes{9}}}}).peak, Bytes{759});
}

TEST(Replay, WhatSomethingIsMadeOfStays) {
  const Chain chain;
  const World world(chain);
  WhatIf change{{chain.by_relu, chain.by_conv}, {}, {}, {}};
  change.keeps.push_back({chain.z, chain.y, Time{115}});
  const auto outcome = world.without(change);
  EXPECT_EQ(outcome.end(chain.process, chain.y), Time{115});
  EXPECT_EQ(outcome.peak, Bytes{750});
  // Not longer than the recorded lifetime.
  change.keeps[0].until = Time{1000};
  EXPECT_EQ(world.without(change).end(chain.process, chain.y), chain.process.freed(chain.y));
}

TEST(Replay, AProgramThatLetsGoEarlier) {
  const Chain chain;
  const World world(chain);
  EXPECT_EQ(world.without(WhatIf{{}, {{chain.z, Time{70}}}, {}, {}}).peak, Bytes{700});
  EXPECT_EQ(world.without(WhatIf{{}, {{chain.z, Time{0}}}, {}, {}}).peak, Bytes{350});
  // The replay never extends a lifetime.
  EXPECT_EQ(world.without(WhatIf{{}, {{chain.gradient, Time{1000}}}, {}, {}}).peak, Bytes{750});
}

TEST(Replay, ModulesHoldWhatTheyWereGiven) {
  ProcessBuilder b;
  const ModuleCallId outer = b.call(15, 90, b.module("M", "M")), inner = b.call(35, 70, b.module("M.a", "A"), outer);
  const OperatorId make = b.op(20, 25, "aten::mul");
  const AllocationId y = b.allocate(21, 100, make);
  const OperatorId use = b.op(40, 45, "aten::exp", {}, {}, {y});
  b.process.operators.module_call.raw[make.value] = outer.value;
  b.process.operators.module_call.raw[use.value] = inner.value;
  const NodeId node = b.node(42, "ExpBackward0", use);
  const SaveId save = b.save(42, node, "self", y);
  b.evaluate(100, 110, node, true);
  b.backward(95, 120);
  b.free(111, y);
  b.done();
  const World world(b);
  // The caller's frame of `a` holds it until `a` returns. M's frame made it itself.
  EXPECT_EQ(world.without(WhatIf{{save}, {}, {}, {}}).end(b.process, y), Time{70});
}

TEST(Replay, WhatKeepsACopyKeepsItsSource) {
  ProcessBuilder b;
  const AllocationId source = b.allocate(10, 100);
  const OperatorId clone = b.op(20, 25, "aten::clone", {}, {}, {source});
  const AllocationId copy = b.allocate(21, 100, clone);
  const OperatorId again = b.op(26, 28, "aten::clone", {}, {}, {copy});
  const AllocationId second = b.allocate(27, 100, again);
  b.free(30, source);
  b.free(31, copy);
  b.allocate(40, 50);
  b.free(60, second);
  b.done();
  const World world(b);
  EXPECT_EQ(world.provenance.copy_of(copy).source, source);
  const auto outcome = world.without(WhatIf{{}, {}, {{copy, source}, {second, copy}}, {}});
  EXPECT_EQ(outcome.peak, Bytes{150});
  EXPECT_EQ(outcome.end(b.process, source), Time{60});
  EXPECT_EQ(outcome.end(b.process, copy), Time{21});
}

TEST(Replay, RolesStayWhoeverSavesThem) {
  ProcessBuilder b;
  const AllocationId weight = b.allocate(10, 100);
  b.role(11, weight, Role::parameter, "w");
  const OperatorId mul = b.op(20, 25, "aten::mul", {}, {}, {weight});
  const SaveId save = b.save(22, b.node(22, "MulBackward0", mul), "other", weight);
  b.allocate(30, 10);
  b.done();
  const World world(b);
  EXPECT_EQ(world.without(WhatIf{{save}, {}, {}, {}}).peak, Bytes{110});
}

// ---- random processes, compared with a full recount

struct Random {
  ProcessBuilder b;
  WhatIf change;
};

// Saves are released by evaluations in a backward at the end; some allocations are freed with their last save, others
// later by the program.
void make(Random& r, uint32_t seed) {
  std::mt19937 random(seed);
  const auto upto = [&](uint32_t most) { return static_cast<uint32_t>(random() % most); };
  ProcessBuilder& b = r.b;
  int64_t now = 10;
  std::vector<AllocationId> all;
  std::vector<SaveId> saves;
  std::vector<NodeId> nodes;
  std::map<uint32_t, std::vector<uint32_t>> nodes_of;  // numbers in `nodes`, by allocation
  const uint32_t count = 20 + upto(600);
  for (uint32_t i = 0; i < count; ++i) {
    std::vector<AllocationId> inputs;
    for (uint32_t k = 0; k < upto(3) && !all.empty(); ++k)
      inputs.push_back(all[all.size() - 1 - upto(std::min<uint32_t>(8, static_cast<uint32_t>(all.size())))]);
    const OperatorId op = b.op(now, now + 5, "aten::op", {}, {}, inputs);
    const AllocationId out = b.allocate(now + 1, 1 + upto(1000), op);
    const NodeId node = b.node(now + 2, "OpBackward0", op);
    nodes.push_back(node);
    inputs.push_back(out);
    for (const AllocationId input : inputs) {
      if (upto(2) == 0) continue;
      saves.push_back(b.save(now + 2, node, "x", input));
      nodes_of[input.value].push_back(static_cast<uint32_t>(nodes.size() - 1));
    }
    all.push_back(out);
    now += 10;
  }
  const int64_t begin = now;
  std::map<uint32_t, std::vector<AllocationId>> freed_with;  // by number of the node evaluated: in reverse order
  std::vector<AllocationId> freed_later;
  for (const AllocationId id : all) {
    const auto of = nodes_of.find(id.value);
    if (of != nodes_of.end() && upto(4) != 0) {
      freed_with[*std::ranges::min_element(of->second)].push_back(id);
    } else {
      freed_later.push_back(id);
    }
  }
  for (uint32_t i = static_cast<uint32_t>(nodes.size()); i-- > 0;) {
    b.evaluate(now, now + 5, nodes[i], true);
    for (const AllocationId id : freed_with[i]) b.free(now + 6, id);
    now += 10;
  }
  b.backward(begin - 1, now);
  b.op(now + 1, now + 2, "aten::zero_");
  for (const AllocationId id : freed_later) b.free(now += 3, id);
  b.process.duration = Time{now};
  for (const SaveId save : saves)
    if (upto(3) == 0) r.change.without.push_back(save);
  for (const AllocationId id : freed_later)
    if (upto(5) == 0) r.change.ends.push_back({id, Time{begin}});
  for (int i = 0; i < 5; ++i) {
    const int64_t from = upto(static_cast<uint32_t>(now));
    r.change.extras.push_back({{}, {Time{from}, Time{from + 1 + upto(300)}}, Bytes{static_cast<int64_t>(upto(2000))}});
  }
  b.done();
}

// The end by the definition in replay.h, from the builder's rows alone.
Time naive_end(const Process& p, const WhatIf& change, AllocationId id) {
  const Time freed = p.freed(id);
  Time last_release{-1}, kept{-1};
  std::vector<uint32_t> savers;
  for (uint32_t row = 1; row <= p.saves.rows(); ++row) {
    const SaveId save{row};
    if (p.saves.allocation[save] != id) continue;
    savers.push_back(p.saves.node[save].value);
    last_release = std::max(last_release, p.saves.released[save]);
    if (std::ranges::find(change.without, save) == change.without.end()) kept = std::max(kept, p.saves.released[save]);
  }
  const bool by_save = last_release.ns >= 0 && freed.ns - last_release.ns == 1;
  Time program = freed;
  if (by_save) {
    program = p.operators.end[p.allocations.op[id]];
    uint32_t input = 1;
    for (uint32_t row = 1; row <= p.operators.rows(); ++row) {
      for (uint32_t k = 0; k < p.operators.input_count.raw[row]; ++k, ++input) {
        if (p.operators.inputs[input] == id.value) program = std::max(program, p.operators.end[OperatorId{row}]);
      }
    }
  }
  for (const WhatIf::End& end : change.ends)
    if (end.allocation == id) program = std::min(program, end.at);
  if (by_save && kept == last_release) return freed;
  return std::min(freed, std::max(program, kept));
}

TEST(Replay, IsWhatARecountSays) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Random r;
    make(r, seed);
    const Process& p = r.b.process;
    const World world(r.b);
    const auto outcome = world.without(r.change);
    // Checks the live bytes at every begin and end. Ends come before begins. Extra bytes add to the bytes that were
    // alive when they began.
    std::map<int64_t, int64_t> most_at;
    std::vector<std::pair<int64_t, int64_t>> steps;
    for (uint32_t row = 1; row <= p.allocations.rows(); ++row) {
      const AllocationId id{row};
      const Time end = naive_end(p, r.change, id);
      EXPECT_EQ(outcome.end(p, id), end) << row;
      steps.emplace_back(p.allocations.time[id].ns, p.allocations.bytes[id].value);
      if (end != kNever) steps.emplace_back(end.ns, -p.allocations.bytes[id].value);
    }
    const auto live_at = [&](int64_t time) {
      int64_t live = 0;
      for (const auto& [when, bytes] : steps)
        if (when <= time) live += bytes;
      return live;
    };
    int64_t most = 0;
    for (const auto& [when, bytes] : steps) {
      int64_t live = live_at(when);
      for (const WhatIf::Extra& extra : r.change.extras)
        if (extra.when.contains(Time{when})) live += extra.bytes.value;
      most = std::max(most, live);
    }
    for (const WhatIf::Extra& extra : r.change.extras) {
      int64_t live = live_at(extra.when.begin.ns);
      for (const WhatIf::Extra& other : r.change.extras)
        if (other.when.contains(extra.when.begin)) live += other.bytes.value;
      most = std::max(most, live);
    }
    // The replay has times only at events. It counts an extra beside all allocations alive at the event before it,
    // which may have ended in between. So its peak may be a little higher, never lower.
    EXPECT_GE(outcome.peak.value, most);
    WhatIf plain = r.change;
    plain.extras.clear();
    int64_t exact = 0;
    for (const auto& [when, bytes] : steps) exact = std::max(exact, live_at(when));
    EXPECT_EQ(world.without(plain).peak.value, exact);
    const WhatIf* const changes[] = {&plain};
    EXPECT_EQ(peak_set_without(p, r.b.text, kCpu, world.without(plain), changes).bytes.value, exact);
  }
}

}  // namespace
}  // namespace tapelens::peak
