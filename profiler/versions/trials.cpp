#include "profiler/versions/trials.h"

#include "base/mutex.h"

namespace tapelens::versions {

namespace {
constexpr uint32_t kSizesTried = 16;
}

Trials::State Trials::state(uint64_t chain, uint64_t key) {
  const base::MutexLock guard(lock_);
  const Outcome& known = outcomes_[chain];
  if (known.wrong) return State::wrong;
  return known.right >= kSizesTried || tried_.contains(key) ? State::right : State::untried;
}

void Trials::learn(uint64_t chain, uint64_t key, bool is_right) {
  const base::MutexLock guard(lock_);
  tried_.insert(key);
  Outcome& known = outcomes_[chain];
  known.wrong = known.wrong || !is_right;
  known.right += is_right ? 1 : 0;
}

}  // namespace tapelens::versions
