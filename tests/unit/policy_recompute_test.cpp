// Operators that may be recomputed, and the decision about it: policy/recompute.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <vector>

#include "policy/recompute/budget.h"
#include "policy/recompute/chain.h"
#include "policy/recompute/release.h"

namespace tapelens::recompute {
namespace {

using Sizes = std::vector<int64_t>;

uint64_t cost_of(std::string_view name, const std::vector<Sizes>& sizes, Machine machine = Machine::cpu,
                 uint32_t element_bytes = 4) {
  const std::vector<std::span<const int64_t>> views(sizes.begin(), sizes.end());
  return cost(product(name), {views, element_bytes, machine});
}

TEST(Recompute, OperatorsInPlaceAreAsCheapAsOthersButNotTheSame) {
  EXPECT_TRUE(cheap("aten::relu"));
  EXPECT_TRUE(cheap("aten::relu_"));
  EXPECT_NE(cheap("aten::relu").number, cheap("aten::relu_").number);
  EXPECT_EQ(cheap("aten::relu").passes, cheap("aten::relu_").passes);
  EXPECT_LT(cheap("aten::relu").passes, cheap("aten::tanh").passes);
  for (const char* dear : {"aten::mm", "aten::dropout", "aten::bernoulli_", "aten::relu__", "relu", ""}) {
    EXPECT_FALSE(cheap(dear)) << dear;
  }
}

TEST(Recompute, ProductsCostTheirMultiplications) {
  const uint64_t matrix = cost_of("aten::mm", {{48, 128}, {128, 256}});
  EXPECT_GT(matrix, 0u);
  EXPECT_EQ(cost_of("aten::mm", {{96, 128}, {128, 256}}), 2 * matrix);
  EXPECT_EQ(cost_of("aten::addmm", {{256}, {48, 128}, {128, 256}}), matrix);
  EXPECT_EQ(cost_of("aten::bmm", {{2, 48, 128}, {2, 128, 256}}), 2 * matrix);
  // A 1 x 1 convolution is a matrix product.
  EXPECT_EQ(cost_of("aten::convolution", {{1, 128, 6, 8}, {256, 128, 1, 1}}), matrix);
}

TEST(Recompute, OnAGpuProductsCostLessBesidePointwiseOperators) {
  const std::vector<Sizes> sizes = {{8192, 1024}, {1024, 4096}};
  constexpr uint64_t kResult = 8192 * 4096 * 2;
  const auto ratio = [&](Machine machine, uint32_t element_bytes) {
    return static_cast<double>(cost_of("aten::mm", sizes, machine, element_bytes)) /
           static_cast<double>(cost(cheap("aten::gelu"), kResult, machine));
  };
  EXPECT_GT(ratio(Machine::cpu, 2), 20);
  EXPECT_LT(ratio(Machine::gpu, 2), 4);
  EXPECT_GT(ratio(Machine::gpu, 4), 5 * ratio(Machine::gpu, 2));
  // TF32 is PyTorch's default for convolutions alone.
  const std::vector<Sizes> pictures = {{64, 128, 28, 28}, {128, 128, 1, 1}};
  EXPECT_LT(cost_of("aten::convolution", pictures, Machine::gpu),
            cost_of("aten::mm", {{64 * 28 * 28, 128}, {128, 128}}, Machine::gpu));
  // A kernel's start costs as much as some megabytes, and an equal version costs nothing.
  EXPECT_GT(cost(cheap("aten::relu"), 1, Machine::gpu), uint64_t{1} << 20);
  EXPECT_EQ(cost(Repeatable{}, kResult, Machine::gpu), 0u);
}

TEST(Recompute, SizesThatAreNoneCostNothing) {
  EXPECT_EQ(cost_of("aten::mm", {{}, {}}, Machine::gpu), 0u);
  EXPECT_EQ(cost_of("aten::mm", {}), 0u);
  EXPECT_EQ(cost_of("aten::mm", {{}, {}}), 0u);
  EXPECT_EQ(cost_of("aten::convolution", {{4}, {4}}), 0u);
  EXPECT_EQ(cost_of("aten::mkldnn_rnn_layer", {{4, 4, 4}, {4, 4}}), 0u);
  EXPECT_EQ(cost_of("aten::mm", {{int64_t{1} << 40, int64_t{1} << 40}, {8, 8}}), 0u);
  EXPECT_EQ(cost_of("aten::mm", {{-4, 4}, {4, 4}}), 0u);
  EXPECT_EQ(cost_of("aten::relu", {{4, 4}, {4, 4}}), 0u);
}

TEST(Recompute, WhatIsNewIsAllowedUntilTheBackwardEnds) {
  RecomputeBudget budget(0.1);
  budget.ran(1000);  // the budget is a tenth of three times the cost: 300
  EXPECT_TRUE(budget.allows(1, 100, 200));
  EXPECT_TRUE(budget.allows(2, 400, 200));
  budget.backward_ended();
  // Twice the bytes for the same cost: the budget suffices for one candidate only.
  EXPECT_FALSE(budget.allows(1, 100, 200));
  EXPECT_TRUE(budget.allows(2, 400, 200));
}

TEST(Recompute, WhatComesLaterIsComparedWithWhatWasThere) {
  RecomputeBudget budget(0.1);
  const auto step = [&] {
    const std::array allowed = {budget.allows(1, 100, 200), budget.allows(2, 1000, 200), budget.allows(3, 10, 50)};
    budget.ran(1000);
    budget.backward_ended();
    return allowed;
  };
  budget.allows(1, 100, 200);
  budget.ran(1000);
  budget.backward_ended();
  EXPECT_EQ(step(), (std::array{true, true, true}));
  // 300: the second frees most for its cost, and the third fits beside it.
  EXPECT_EQ(step(), (std::array{false, true, true}));
  EXPECT_EQ(step(), (std::array{false, true, true}));
}

TEST(Recompute, TheLastCandidateGetsAPartForItsFirstOccurrences) {
  RecomputeBudget budget(0.1);
  const auto step = [&] {
    std::vector<bool> allowed;
    for (int layer = 0; layer < 10; ++layer) {
      allowed.push_back(budget.allows(1, 1000, 10));
      allowed.push_back(budget.allows(2, 1000, 50));
    }
    budget.ran(1000);
    budget.backward_ended();
    return allowed;
  };
  EXPECT_EQ(std::ranges::count(step(), true), 20);
  // 300: 100 for all of the first candidate, 200 for four layers of the second.
  for (int round = 0; round < 3; ++round) {
    const std::vector<bool> allowed = step();
    for (size_t layer = 0; layer < 10; ++layer) {
      EXPECT_TRUE(allowed[2 * layer]);
      EXPECT_EQ(allowed[2 * layer + 1], layer < 4) << layer;
    }
  }
}

TEST(Recompute, DecisionsDoNotDependOnTheOrderInWhichCandidatesCome) {
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    struct Candidate {
      uint64_t key, bytes, cost;
    };
    std::vector<Candidate> candidates;
    for (uint64_t key = 1; key <= 30; ++key) candidates.push_back({key, 1 + random() % 4, 1 + random() % 4});
    const auto decided = [&] {
      RecomputeBudget budget(0.5);
      budget.ran(20);
      for (const Candidate& candidate : candidates) budget.allows(candidate.key, candidate.bytes, candidate.cost);
      budget.backward_ended();
      std::vector<bool> on(31);
      for (const Candidate& candidate : candidates)
        on[candidate.key] = budget.allows(candidate.key, candidate.bytes, candidate.cost);
      return on;
    };
    const auto before = decided();
    std::ranges::shuffle(candidates, random);
    EXPECT_EQ(decided(), before);
  }
}

// Contents by number; each has sources of lower numbers.
struct Graph {
  struct Content {
    uint64_t bytes = 1 << 20;
    const char* op = nullptr;  // null: no recipe
    std::vector<int> sources;
    bool is_there = false, is_encoded = false, is_kept = false;
  };
  std::vector<Content> contents;

  uint64_t bytes(int content) const { return contents[content].bytes; }
  bool is_encoded(int content) const { return contents[content].is_encoded; }
  bool has_recipe(int content) const { return contents[content].op != nullptr; }
  Repeatable maker(int content) const { return repeatable(contents[content].op); }
  uint64_t cost(int content) const { return recompute::cost(maker(content), bytes(content), Machine::cpu); }
  bool is_kept_once_made(int content) const { return contents[content].is_kept; }
  bool is_there(int content) const { return contents[content].is_there; }
  template <class Follow>
  bool all_sources(int content, Follow follow) const {
    return std::ranges::all_of(contents[content].sources, follow);
  }
};

std::optional<Chain> chain_of(const Graph& graph, int content) {
  Chain chain{.bytes = graph.contents[content].bytes};
  return can_be_made(graph, content, chain) ? std::optional(chain) : std::nullopt;
}

Graph row(uint32_t operators) {
  Graph graph{{{.sources = {}, .is_there = true}}};
  for (uint32_t i = 0; i < operators; ++i)
    graph.contents.push_back({.op = "aten::relu", .sources = {static_cast<int>(i)}});
  return graph;
}

TEST(Recompute, ARowOfCheapOperatorsIsFollowedToWhatIsThere) {
  const auto chain = chain_of(row(3), 3);
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->operators, 3u);
  EXPECT_EQ(chain->cost, 3 * 2 * (uint64_t{1} << 20));
  EXPECT_NE(chain->key, chain_of(row(2), 2)->key);
}

TEST(Recompute, RowsEndAtTheMostOperators) {
  EXPECT_TRUE(chain_of(row(kMostOperators), kMostOperators));
  EXPECT_FALSE(chain_of(row(kMostOperators + 1), kMostOperators + 1));
}

TEST(Recompute, WhatIsMuchLargerIsNotMadeOnTheWay) {
  Graph graph = row(2);
  graph.contents[1].bytes = 4 << 20;
  EXPECT_TRUE(chain_of(graph, 2));
  graph.contents[1].bytes = 8 << 20;
  EXPECT_FALSE(chain_of(graph, 2));
}

TEST(Recompute, WhatIsKeptOnceMadeCostsNothingMore) {
  Graph graph = row(3);
  graph.contents[1].op = graph.contents[2].op = "aten::_softmax";
  const auto chain = chain_of(graph, 3);
  ASSERT_TRUE(chain);
  EXPECT_TRUE(chain->is_costly);
  graph.contents[2].is_kept = true;
  const auto shared = chain_of(graph, 3);
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->cost, cheap("aten::relu").passes * graph.contents[3].bytes);
  EXPECT_EQ(shared->operators, chain->operators);
  Dependents dependents;
  dependents.add(1 << 20, 1);
  EXPECT_EQ(cost_of(*shared, dependents), shared->cost);
}

TEST(Recompute, CostlyOperatorsAreNotCheap) {
  for (const char* name : {"aten::mm", "aten::convolution", "aten::_softmax"}) {
    EXPECT_FALSE(cheap(name)) << name;
    EXPECT_TRUE(repeatable(name).is_costly) << name;
  }
  EXPECT_FALSE(repeatable("aten::relu").is_costly);
  EXPECT_EQ(repeatable("aten::relu").number, cheap("aten::relu").number);
  for (const char* name : {"aten::mkldnn_rnn_layer", "aten::bernoulli", "aten::mm_", ""})
    EXPECT_FALSE(repeatable(name)) << name;
  EXPECT_NE(repeatable("aten::mm").number, repeatable("aten::bmm").number);
}

TEST(Recompute, WithoutARecipeOnlyAnEncodingHelps) {
  Graph graph = row(2);
  graph.contents[0].is_there = false;
  EXPECT_FALSE(chain_of(graph, 2));
  graph.contents[0].is_encoded = true;
  EXPECT_TRUE(chain_of(graph, 2));
}

TEST(RecomputeBudget, ACandidateThatIsNotMetAnyMoreIsDecidedAnew) {
  RecomputeBudget budget(0.1);
  EXPECT_TRUE(budget.allows(1, 100, 200));
  budget.backward_ended();
  EXPECT_FALSE(budget.allows(1, 100, 200));  // no operator ran, so the budget is zero
  for (uint32_t i = 0; i <= 2 * RecomputeBudget::kForgotten; ++i) {
    EXPECT_EQ(budget.allows(2, 100, 0), true);
    budget.backward_ended();
  }
  EXPECT_TRUE(budget.allows(1, 100, 200));
}

}  // namespace
}  // namespace tapelens::recompute
