#include "rewrites/recompute/budget.h"

#include <algorithm>

namespace tapelens::recompute {

namespace {
constexpr double kStepsOfForward = 3;
}

bool Budget::allows(uint64_t key, uint64_t bytes, uint64_t cost) {
  const auto [at, is_new] = by_key_.try_emplace(key, sites_.size());
  if (is_new) sites_.push_back({key});
  Site& site = sites_[at->second];
  site.bytes += bytes;
  site.cost += cost;
  return site.is_on;
}

void Budget::backward_ended() {
  double left = share_ * kStepsOfForward * static_cast<double>(ran_);
  std::vector<Site*> undecided;
  for (Site& site : sites_) {
    if (!site.is_decided) {
      undecided.push_back(&site);
    } else if (site.is_on) {
      left -= static_cast<double>(site.cost);
    }
  }
  // Equal ones by their keys: not by which came first, which may be a matter of threads.
  std::ranges::sort(undecided, [](const Site* a, const Site* b) {
    const double of_a = static_cast<double>(a->bytes) * static_cast<double>(b->cost);
    const double of_b = static_cast<double>(b->bytes) * static_cast<double>(a->cost);
    return of_a != of_b ? of_a > of_b : a->key < b->key;
  });
  for (Site* site : undecided) {
    site->is_decided = true;
    site->is_on = static_cast<double>(site->cost) <= left;
    if (site->is_on) left -= static_cast<double>(site->cost);
  }
  for (Site& site : sites_) site.bytes = site.cost = 0;
  ran_ = 0;
}

}  // namespace tapelens::recompute
