// The recompute budget (rewrites/recompute/budget.h) of a process, for all threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "rewrites/recompute/budget.h"

namespace tapelens::versions {

// Its lock is a leaf; ran() takes no lock.
class SharedBudget {
 public:
  explicit SharedBudget(double share) : budget_(share) {}
  void ran(uint64_t cost) { ran_.fetch_add(cost, std::memory_order_relaxed); }
  bool allows(uint64_t candidate, uint64_t bytes, uint64_t cost) {
    const std::lock_guard guard(lock_);
    return budget_.allows(candidate, bytes, cost);
  }
  void backward_ended() {
    const std::lock_guard guard(lock_);
    budget_.ran(ran_.exchange(0, std::memory_order_relaxed));
    budget_.backward_ended();
  }

 private:
  std::atomic<uint64_t> ran_{0};
  std::mutex lock_;
  recompute::Budget budget_;
};

}  // namespace tapelens::versions
