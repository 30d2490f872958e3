// The recompute budget: a share of a step's cost, spent where it frees most bytes for its cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tapelens::recompute {

// The estimated cost of a step, in costs of its forward.
inline constexpr uint64_t kForwardsOfStep = 3;

// Costs are estimates (operators.h), so the same program makes the same decisions in every run. A step is assumed to
// cost three times its forward: the products and the cheap operators that ran outside of a backward.
//
// A candidate is a recomputation for one kind of user: equal layers have one candidate, which occurs once for each of
// them. A new candidate is allowed. When a backward ends that had a new one, all candidates that occurred are taken in
// the order of bytes per cost until the share is spent. One of them may get a part: then its first occurrences of each
// forward are allowed, those of the first layers, whose values would live longest. So a decision stays while nothing
// new occurs. A candidate that has not occurred in kForgotten backwards is forgotten: programs whose sizes change in
// each step would otherwise add candidates without limit.
class RecomputeBudget {
 public:
  static constexpr uint32_t kForgotten = 256;

  explicit RecomputeBudget(double share) : share_(share) {}
  // An operator ran in the forward.
  void ran(uint64_t cost) { ran_ += cost; }
  bool allows(uint64_t candidate, uint64_t bytes, uint64_t cost);
  void backward_ended();

 private:
  struct Candidate {
    uint64_t key = 0;
    uint64_t count = 0, bytes = 0, cost = 0;  // since the last backward
    uint64_t allowed = UINT64_MAX;            // occurrences between two backwards
    uint32_t met = 0;                         // number of the last backward in which it occurred
  };
  void decide();
  void forget();

  double share_;
  uint32_t backwards_ = 0;
  uint64_t ran_ = 0;      // since the last backward
  bool has_new_ = false;  // likewise
  std::vector<Candidate> candidates_;
  std::unordered_map<uint64_t, std::size_t> by_key_;
};

}  // namespace tapelens::recompute
