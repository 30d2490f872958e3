// The recompute budget (policy/recompute/budget.h) of a process, for all threads.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/mutex.h"
#include "policy/recompute/budget.h"

namespace tapelens::versions {

// Its lock is a leaf; ran() takes no lock.
class SharedBudget {
 public:
  explicit SharedBudget(double share) : budget_(share) {}
  void ran(uint64_t cost) { ran_.fetch_add(cost, std::memory_order_relaxed); }
  bool allows(uint64_t candidate, uint64_t bytes, uint64_t cost) {
    const base::MutexLock guard(lock_);
    return budget_.allows(candidate, bytes, cost);
  }
  void backward_ended() {
    const base::MutexLock guard(lock_);
    budget_.ran(ran_.exchange(0, std::memory_order_relaxed));
    budget_.backward_ended();
  }

 private:
  std::atomic<uint64_t> ran_{0};
  base::Mutex lock_;
  recompute::RecomputeBudget budget_ TAPELENS_GUARDED_BY(lock_);
};

}  // namespace tapelens::versions
