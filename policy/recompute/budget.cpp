#include "policy/recompute/budget.h"

#include <algorithm>

namespace tapelens::recompute {

namespace {
constexpr double kStepsOfForward = 3;
}

bool Budget::allows(uint64_t key, uint64_t bytes, uint64_t cost) {
  const auto [at, is_new] = by_key_.try_emplace(key, candidates_.size());
  if (is_new) candidates_.push_back({key});
  Candidate& candidate = candidates_[at->second];
  candidate.met = backwards_;
  candidate.bytes += bytes;
  candidate.cost += cost;
  return candidate.is_on;
}

void Budget::backward_ended() {
  double left = share_ * kStepsOfForward * static_cast<double>(ran_);
  std::vector<Candidate*> undecided;
  for (Candidate& candidate : candidates_) {
    if (!candidate.is_decided) {
      undecided.push_back(&candidate);
    } else if (candidate.is_on) {
      left -= static_cast<double>(candidate.cost);
    }
  }
  // Ties are ordered by key, not by first occurrence, which may depend on threads.
  std::ranges::sort(undecided, [](const Candidate* a, const Candidate* b) {
    const double of_a = static_cast<double>(a->bytes) * static_cast<double>(b->cost);
    const double of_b = static_cast<double>(b->bytes) * static_cast<double>(a->cost);
    return of_a != of_b ? of_a > of_b : a->key < b->key;
  });
  for (Candidate* candidate : undecided) {
    candidate->is_decided = true;
    candidate->is_on = static_cast<double>(candidate->cost) <= left;
    if (candidate->is_on) left -= static_cast<double>(candidate->cost);
  }
  for (Candidate& candidate : candidates_) candidate.bytes = candidate.cost = 0;
  ran_ = 0;
  if (++backwards_ % kForgotten == 0) forget();
}

void Budget::forget() {
  std::erase_if(candidates_, [&](const Candidate& candidate) { return backwards_ - candidate.met > kForgotten; });
  by_key_.clear();
  for (size_t i = 0; i < candidates_.size(); ++i) by_key_.emplace(candidates_[i].key, i);
}

}  // namespace tapelens::recompute
