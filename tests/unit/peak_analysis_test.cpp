// Cached results of a process: each part equals the part computed alone, and is computed once, by the first thread that
// requests it. Also the bytes kept for the backward.
#include <gtest/gtest.h>

#include <thread>

#include "analyzer/peak/analysis.h"
#include "analyzer/peak/replay.h"
#include "testing/model_builder.h"

namespace tapelens::peak {
namespace {

using testing::kCpu;
using testing::kCuda;
using testing::ProcessBuilder;

// Two steps of a layer whose result is saved, with a parameter that is saved as well; in the
// second step something lives on another device.
struct TwoSteps : ProcessBuilder {
  AllocationId weight, results[2];
  SaveId saves[2];

  explicit TwoSteps(int64_t first = 100, int64_t second = 300) {
    weight = allocate(5, 1000);
    role(5, weight, Role::parameter, "weight");
    for (int step = 0; step < 2; ++step) {
      const int64_t now = 100 * (step + 1);
      const OperatorId relu = op(now, now + 10, "aten::relu", {}, {}, {weight});
      results[step] = allocate(now + 1, step == 0 ? first : second, relu);
      const NodeId made = node(now + 2, "ReluBackward0", relu);
      saves[step] = save(now + 3, made, "result", results[step]);
      save(now + 3, made, "self", weight);
      if (step == 1) allocate(now + 4, 5000, relu, kCuda);
      evaluate(now + 50, now + 55, made, true);
      free(now + 55, results[step]);
      backward(now + 45, now + 60);
      optimizer_step(now + 70, now + 80);
    }
    done();
  }
};

TEST(Analysis, EveryPartIsWhatItIsMadeAlone) {
  const TwoSteps b;
  const Analysis analysis(b.process, b.text);
  const DeviceAnalysis cpu(analysis, kCpu);

  ASSERT_EQ(analysis.steps().size(), 2U);
  EXPECT_EQ(analysis.steps()[1].when.begin, find_steps(b.process)[1].when.begin);
  EXPECT_EQ(analysis.phases().at(Time{150}), Phase::backward);
  EXPECT_EQ(analysis.provenance().saves(b.results[1]).size(), 1U);
  EXPECT_EQ(&analysis.lifetimes().provenance(), &analysis.provenance());
  EXPECT_EQ(analysis.lifetimes().program_end(b.results[0]), Time{110});
  EXPECT_EQ(analysis.longest_lifetimes().program_end(b.results[0]), Time{145}) << "a variable may have it so long";
  ASSERT_EQ(analysis.devices().size(), 2U);
  EXPECT_EQ(analysis.devices()[1].peak, Bytes{5000});
  EXPECT_EQ(cpu.timeline().events(), 5U);
  EXPECT_EQ(cpu.largest().bytes, Bytes{1300});
  EXPECT_EQ(cpu.peak().bytes, Bytes{1300});
  EXPECT_EQ(cpu.peak().members.size(), 2U);
  EXPECT_EQ(DeviceAnalysis(analysis, kCuda).peak().bytes, Bytes{5000});
  EXPECT_EQ(cpu.replay().without({.without = {b.saves[1]}, .ends = {}, .aliases = {}, .extras = {}}).peak, Bytes{1300});
}

TEST(Analysis, APartIsMadeOnceByWhoeverAsksFirst) {
  const TwoSteps b;
  const Analysis analysis(b.process, b.text);
  const DeviceAnalysis cpu(analysis, kCpu);
  struct Seen {
    const void *lifetimes = nullptr, *phases = nullptr, *peak = nullptr;
    bool operator==(const Seen&) const = default;
  };
  const auto ask = [&] { return Seen{&analysis.lifetimes(), &analysis.phases(), &cpu.peak()}; };
  std::vector<Seen> seen(8);
  std::vector<std::thread> threads;
  for (Seen& one : seen) threads.emplace_back([&] { one = ask(); });
  for (std::thread& thread : threads) thread.join();
  for (const Seen& one : seen) EXPECT_EQ(one, ask());
}

TEST(Analysis, WhatCouldNotBeMadeIsMadeByTheNextThatAsks) {
  const Lazy<int> lazy;
  int made = 0;
  EXPECT_THROW(lazy.get([]() -> int { throw std::bad_alloc(); }), std::bad_alloc);
  const auto make = [&] { return ++made; };
  EXPECT_EQ(lazy.get(make), 1);
  EXPECT_EQ(lazy.get(make), 1);
}

TEST(Analysis, PeaksAreLookedForFromTheFirstStepThatWasWatched) {
  TwoSteps b(600, 300);
  {
    const Analysis all(b.process, b.text);
    EXPECT_EQ(all.since(), Time{0});
    EXPECT_EQ(DeviceAnalysis(all, kCpu).peak().bytes, Bytes{1600});
  }
  b.process.information.push_back({b.string("steps"), b.string("1:2")});
  const Analysis analysis(b.process, b.text);
  EXPECT_EQ(analysis.since(), analysis.steps()[1].when.begin);
  EXPECT_EQ(analysis.information("steps"), "1:2");
  EXPECT_EQ(analysis.information("torch_version"), "");
  const DeviceAnalysis cpu(analysis, kCpu);
  EXPECT_EQ(cpu.largest().bytes, Bytes{1300});
  EXPECT_EQ(cpu.peak().bytes, Bytes{1300});
  b.process.information.back().value = b.string("7:9");
  EXPECT_EQ(Analysis(b.process, b.text).since(), Time{0}) << "unknown step";
}

Bytes saved(const ProcessBuilder& b, DeviceId device = kCpu, const WhatIf* change = nullptr) {
  const Analysis analysis(b.process, b.text);
  const DeviceAnalysis on(analysis, device);
  if (change == nullptr) return saved_for_backward(analysis.lifetimes(), on.timeline(), analysis.since());
  const WhatIf* const changes[] = {change};
  const Replay::Outcome outcome = on.replay().without(changes);
  const Replayed predicted{outcome, changes};
  return saved_for_backward(analysis.lifetimes(), on.timeline(), analysis.since(), &predicted);
}

TEST(SavedForBackward, APredictionWithoutAnyChangeIsWhatIsMeasured) {
  const TwoSteps b;
  const WhatIf nothing;
  EXPECT_EQ(saved(b), Bytes{300}) << "the parameter stays without its save";
  EXPECT_EQ(saved(b, kCpu, &nothing), Bytes{300});
  EXPECT_EQ(saved(b, kCuda), Bytes{0});
  EXPECT_EQ(saved(b, kCuda, &nothing), Bytes{0});
}

TEST(SavedForBackward, APredictionHasNothingOfWhatIsGoneAndAllOfWhatIsThereInstead) {
  const TwoSteps b;
  WhatIf change;
  change.without = {b.saves[1]};
  EXPECT_EQ(saved(b, kCpu, &change), Bytes{100});
  change.extras.push_back({b.results[1], {Time{210}, Time{250}}, Bytes{120}, true});
  change.extras.push_back({b.results[1], {Time{210}, Time{250}}, Bytes{9999}, false});
  EXPECT_EQ(saved(b, kCpu, &change), Bytes{120});
}

TEST(SavedForBackward, TheRewrittenRunMeasuresWhatWasPredictedOfTheBareOne) {
  TwoSteps bare;
  WhatIf change;
  change.without = {bare.saves[1]};
  change.extras.push_back({bare.results[1], {Time{210}, Time{255}}, Bytes{10}, true});
  TwoSteps rewritten;
  rewritten.rewrite(210, "wide-save", 1, NodeId{2}, "result", 300, 10);
  rewritten.process.frees.time.raw[2] = 210;
  rewritten.done();
  EXPECT_EQ(saved(bare, kCpu, &change), Bytes{100});
  EXPECT_EQ(saved(rewritten), Bytes{100});
  change.without.push_back(bare.saves[0]);
  EXPECT_EQ(saved(bare, kCpu, &change), Bytes{10});
  rewritten.process.rewrites = {};
  rewritten.rewrite(110, "wide-save", 1, NodeId{1}, "result", 100, 0);
  rewritten.rewrite(210, "wide-save", 1, NodeId{2}, "result", 300, 10);
  rewritten.process.frees.time.raw[1] = 110;
  rewritten.done();
  EXPECT_EQ(saved(rewritten), Bytes{10});
  EXPECT_EQ(saved(rewritten, kCuda), Bytes{0}) << "the replacement is on the device of the saved tensor";
}

TEST(SavedForBackward, WhatKeepsACopyThatIsNotMadeKeepsItsSource) {
  ProcessBuilder b;
  const AllocationId source = b.allocate(10, 70);
  const OperatorId clone = b.op(20, 25, "aten::clone", {}, {}, {source});
  const AllocationId copy = b.allocate(21, 70, clone), copy_of_copy = b.allocate(22, 70, clone);
  const NodeId node = b.node(30, "MulBackward0");
  b.save(31, node, "self", copy);
  b.save(31, node, "other", copy_of_copy);
  b.free(40, source);
  b.backward(50, 60);
  b.release(55, node);
  b.free(55, copy);
  b.free(55, copy_of_copy);
  b.done();
  EXPECT_EQ(saved(b), Bytes{140});
  WhatIf change;
  change.aliases = {{copy_of_copy, copy}};
  EXPECT_EQ(saved(b, kCpu, &change), Bytes{70});
  change.aliases.push_back({copy, source});
  EXPECT_EQ(saved(b, kCpu, &change), Bytes{70});
  b.role(5, source, Role::parameter, "weight");
  EXPECT_EQ(saved(b, kCpu, &change), Bytes{0}) << "a parameter stays in any case";
}

// A graph releases a storage, and much later another graph saves it. In between only the program holds it.
TEST(SavedForBackward, IsTakenOfEachSaveWhenABackwardBegins) {
  ProcessBuilder b;
  const NodeId first = b.node(1, "MulBackward0"), second = b.node(2, "MulBackward0");
  const AllocationId kept = b.allocate(5, 50);
  b.save(6, first, "self", kept);
  b.release(10, first);
  b.save(30, second, "self", kept);
  b.backward(20, 25);
  b.backward(40, 45);
  b.release(41, second);
  b.free(41, kept);
  b.done();
  EXPECT_EQ(saved(b), Bytes{50});
  b.process.backwards.pop_back();
  EXPECT_EQ(saved(b), Bytes{0});
}

}  // namespace
}  // namespace tapelens::peak
