#include "profiler/rewrite/budget.h"

#include <algorithm>
#include <vector>

#include "profiler/rewrite/settings.h"

namespace tapelens::rewrite {
namespace {
constexpr uint32_t kStepsMeasured = 3;  // the first is slow: everything is tried in it
constexpr uint32_t kSizesTried = 16;
}  // namespace

Budget& Budget::of_process() {
  static auto* made = new Budget;
  return *made;
}

bool Budget::allows(uint64_t site, uint64_t bytes, uint64_t ns) {
  const std::lock_guard guard(lock_);
  Site& known = sites_[site];
  known.bytes += bytes;
  known.ns += ns;
  return known.is_on;
}

void Budget::spent(uint64_t site, uint64_t ns) {
  const std::lock_guard guard(lock_);
  sites_[site].spent += ns;
}

void Budget::step_ended(uint64_t ns) {
  const std::lock_guard guard(lock_);
  if (++steps_ == kStepsMeasured) decide(ns);
  for (auto& [key, site] : sites_) site.bytes = site.ns = site.spent = 0;
}

void Budget::decide(uint64_t step_ns) {
  std::vector<Site*> order;
  uint64_t again = 0;
  for (auto& [key, site] : sites_) {
    if (site.cost() == 0) continue;
    order.push_back(&site);
    again += site.spent;
  }
  std::ranges::sort(order, [](const Site* a, const Site* b) {
    return static_cast<double>(a->bytes) * static_cast<double>(b->cost()) >
           static_cast<double>(b->bytes) * static_cast<double>(a->cost());
  });
  // What was computed again is in the step's time.
  auto left = static_cast<double>(step_ns - std::min(step_ns, again)) * settings().recompute_budget;
  for (Site* site : order) {
    site->is_on = static_cast<double>(site->cost()) <= left;
    if (site->is_on) left -= static_cast<double>(site->cost());
  }
}

Trials& Trials::of_process() {
  static auto* made = new Trials;
  return *made;
}

Trials::State Trials::state(uint64_t chain, uint64_t key) {
  const std::lock_guard guard(lock_);
  const Chain& known = chains_[chain];
  if (known.wrong) return State::wrong;
  return known.right >= kSizesTried || tried_.contains(key) ? State::right : State::untried;
}

void Trials::learn(uint64_t chain, uint64_t key, bool is_right) {
  const std::lock_guard guard(lock_);
  tried_.try_emplace(key, is_right);
  Chain& known = chains_[chain];
  known.wrong = known.wrong || !is_right;
  known.right += is_right ? 1 : 0;
}

}  // namespace tapelens::rewrite
