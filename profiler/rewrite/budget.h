// The budget of this process, and what was found out about recipes by trying them.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "rewrites/recompute/budget.h"

namespace tapelens::rewrite {

// For all threads.
class Budget {
 public:
  static Budget& of_process();
  void ran(uint64_t cost) { ran_.fetch_add(cost, std::memory_order_relaxed); }
  bool allows(uint64_t site, uint64_t bytes, uint64_t cost);
  void backward_ended();

 private:
  Budget();
  std::atomic<uint64_t> ran_{0};
  std::mutex lock_;
  recompute::Budget budget_;
};

class Trials {
 public:
  enum class State : uint8_t { untried, right, wrong };
  static Trials& of_process();
  // `chain`: the operators; `key`: these and the sizes. Wrong once is wrong for all sizes; right for several is for
  // all.
  State state(uint64_t chain, uint64_t key);
  void learn(uint64_t chain, uint64_t key, bool is_right);

 private:
  std::mutex lock_;
  struct Chain {
    uint32_t right = 0;
    bool wrong = false;
  };
  std::unordered_map<uint64_t, Chain> chains_;
  std::unordered_map<uint64_t, bool> tried_;
};

}  // namespace tapelens::rewrite
