#include "policy/recompute/budget.h"

#include <algorithm>

namespace tapelens::recompute {

bool RecomputeBudget::allows(uint64_t key, uint64_t bytes, uint64_t cost) {
  const auto [at, is_new] = by_key_.try_emplace(key, candidates_.size());
  if (is_new) candidates_.push_back({key});
  has_new_ = has_new_ || is_new;
  Candidate& candidate = candidates_[at->second];
  candidate.met = backwards_;
  candidate.bytes += bytes;
  candidate.cost += cost;
  return ++candidate.count <= candidate.allowed;
}

void RecomputeBudget::decide() {
  std::vector<Candidate*> met;
  for (Candidate& candidate : candidates_) {
    if (candidate.count != 0) met.push_back(&candidate);
  }
  // Ties are ordered by key, not by first occurrence, which may depend on threads.
  std::ranges::sort(met, [](const Candidate* a, const Candidate* b) {
    const double of_a = static_cast<double>(a->bytes) * static_cast<double>(b->cost);
    const double of_b = static_cast<double>(b->bytes) * static_cast<double>(a->cost);
    return of_a != of_b ? of_a > of_b : a->key < b->key;
  });
  double left = share_ * static_cast<double>(kForwardsOfStep) * static_cast<double>(ran_);
  for (Candidate* candidate : met) {
    const double each = static_cast<double>(candidate->cost) / static_cast<double>(candidate->count);
    const bool is_whole = static_cast<double>(candidate->cost) <= left;
    candidate->allowed = is_whole ? UINT64_MAX : static_cast<uint64_t>(left / each);
    left -= is_whole ? static_cast<double>(candidate->cost) : static_cast<double>(candidate->allowed) * each;
  }
}

void RecomputeBudget::backward_ended() {
  if (has_new_) decide();
  for (Candidate& candidate : candidates_) candidate.count = candidate.bytes = candidate.cost = 0;
  ran_ = 0;
  has_new_ = false;
  if (++backwards_ % kForgotten == 0) forget();
}

void RecomputeBudget::forget() {
  std::erase_if(candidates_, [&](const Candidate& candidate) { return backwards_ - candidate.met > kForgotten; });
  by_key_.clear();
  for (size_t i = 0; i < candidates_.size(); ++i) by_key_.emplace(candidates_[i].key, i);
}

}  // namespace tapelens::recompute
