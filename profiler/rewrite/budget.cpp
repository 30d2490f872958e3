#include "profiler/rewrite/budget.h"

#include "profiler/rewrite/settings.h"

namespace tapelens::rewrite {
namespace {
constexpr uint32_t kSizesTried = 16;
}

Budget::Budget() : budget_(settings().recompute_budget) {}

Budget& Budget::of_process() {
  static auto* made = new Budget;
  return *made;
}

bool Budget::allows(uint64_t site, uint64_t bytes, uint64_t cost) {
  const std::lock_guard guard(lock_);
  return budget_.allows(site, bytes, cost);
}

void Budget::backward_ended() {
  const std::lock_guard guard(lock_);
  budget_.ran(ran_.exchange(0, std::memory_order_relaxed));
  budget_.backward_ended();
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
