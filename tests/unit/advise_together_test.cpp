// The best set of findings to fix together, compared with all sets, on random processes.
#include <gtest/gtest.h>

#include <map>

#include "analyzer/advise/advice.h"
#include "analyzer/advise/together.h"
#include "testing/model_builder.h"
#include "tests/unit/support/random.h"

namespace tapelens::advise {
namespace {

using namespace check;

using peak::WhatIf;
using testing::kCpu;
using testing::ProcessBuilder;
using testing::Random;

// A forward whose operators save some of their inputs and results, and a backward that releases the saves.
struct Recorded : ProcessBuilder {
  std::vector<AllocationId> all;
  std::vector<SaveId> saves;
  int64_t backward_begin = 0, end = 0;

  explicit Recorded(Random& random) {
    int64_t now = 10;
    std::vector<NodeId> nodes;
    std::map<uint32_t, uint32_t> first_saver;  // node's index, by allocation
    for (uint32_t i = 0; i < 8 + random.upto(25); ++i, now += 10) {
      std::vector<AllocationId> tensors;
      for (uint32_t k = 0; k < random.upto(3) && !all.empty(); ++k) {
        tensors.push_back(all[all.size() - 1 - random.upto(std::min<uint32_t>(4, static_cast<uint32_t>(all.size())))]);
      }
      const OperatorId op = this->op(now, now + 5, "aten::op", {}, {}, tensors);
      const AllocationId out = allocate(now + 1, 1 + random.upto(1000), op);
      nodes.push_back(node(now + 2, "OpBackward0", op));
      tensors.push_back(out);
      all.push_back(out);
      for (const AllocationId tensor : tensors) {
        if (random.one_of(3)) continue;
        saves.push_back(save(now + 2, nodes.back(), "x", tensor));
        first_saver.try_emplace(tensor.value, i);
      }
    }
    backward_begin = now;
    for (uint32_t i = static_cast<uint32_t>(nodes.size()); i-- > 0; now += 10) {
      const EvaluationId evaluation = evaluate(now, now + 5, nodes[i], true);
      const AllocationId gradient = allocate(now + 1, random.upto(700), {}, kCpu, evaluation);
      for (const AllocationId tensor : all) {
        const auto saver = first_saver.find(tensor.value);
        if (saver != first_saver.end() && saver->second == i) free(now + 6, tensor);
      }
      free(now + 8, gradient);
    }
    backward(backward_begin - 1, now);
    for (const AllocationId tensor : all) {
      if (!first_saver.contains(tensor.value)) free(++now, tensor);
    }
    end = now;
    process.duration = Time{now};
    done();
  }

  // A change that a check could emit: removed saves with a replacement, copies, tensors that end earlier.
  WhatIf change(Random& random) const {
    WhatIf change;
    for (const SaveId save : saves) {
      if (!random.one_of(4)) continue;
      change.without.push_back(save);
      const AllocationId of = process.saves.allocation[save];
      const int64_t bytes = process.allocations.bytes[of].value;
      if (random.one_of(2)) {
        const Time from = process.saves.time[save], until = process.saves.released[save];
        change.extras.push_back({of, {from, until}, Bytes{random.upto(static_cast<uint32_t>(bytes) + 1)}});
      }
      if (random.one_of(4)) change.keeps.push_back({of, any(random), process.saves.released[save]});
    }
    if (random.one_of(2)) change.ends.push_back({any(random), Time{random.upto(static_cast<uint32_t>(end))}});
    if (random.one_of(3)) {
      const AllocationId copy = any(random), source{1 + random.upto(copy.value)};
      if (source != copy) change.aliases.push_back({copy, source});
    }
    for (uint32_t i = 0; i < random.upto(3); ++i) {
      const int64_t from = random.upto(static_cast<uint32_t>(end));
      change.extras.push_back({{}, {Time{from}, Time{from + 1 + random.upto(60)}}, Bytes{random.upto(900)}});
    }
    return change;
  }

 private:
  AllocationId any(Random& random) const { return all[random.upto(static_cast<uint32_t>(all.size()))]; }
};

TEST(Together, NoSetOfFindingsHasALowerPeak) {
  uint32_t not_all = 0, lower_than_all = 0;
  for (uint32_t seed = 1; seed <= 250; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Recorded recorded(random);
    const Process& p = recorded.process;
    const Provenance provenance(p, recorded.text);
    const peak::Lifetimes lifetimes(p, provenance);
    const peak::Timeline timeline(p, kCpu);
    const peak::Replay replay(lifetimes, timeline);
    std::vector<WhatIf> changes;
    for (uint32_t i = 0; i < 1 + random.upto(6); ++i) changes.push_back(recorded.change(random));
    std::vector<const WhatIf*> pointers;
    std::vector<Bytes> alone;
    for (const WhatIf& change : changes) {
      pointers.push_back(&change);
      alone.push_back(replay.without(change).peak);
    }
    const Together together(p, replay, pointers);
    const Together::Set all = together.all(), lowest = together.lowest(alone, all);
    EXPECT_EQ(together.of(lowest.has).outcome.peak, lowest.outcome.peak);
    std::vector<bool> has(changes.size());
    for (uint32_t set = 0; set < 1U << changes.size(); ++set) {
      for (size_t i = 0; i < has.size(); ++i) has[i] = (set >> i & 1) != 0;
      EXPECT_LE(lowest.outcome.peak, together.of(has).outcome.peak) << set;
    }
    // Adding any finding that is not in the set would raise the peak.
    for (size_t i = 0; i < has.size(); ++i) {
      has = lowest.has;
      if (has[i]) continue;
      has[i] = true;
      EXPECT_GT(together.of(has).outcome.peak, lowest.outcome.peak) << i;
      ++not_all;
    }
    lower_than_all += lowest.outcome.peak < all.outcome.peak ? 1 : 0;
  }
  // The loops must have tested such sets.
  EXPECT_GT(not_all, 50U);
  EXPECT_GT(lower_than_all, 50U);
}

}  // namespace
}  // namespace tapelens::advise
