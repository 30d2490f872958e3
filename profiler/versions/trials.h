// Results of trial rematerializations: kernels that give other bits the second time, tensors that were written without
// PyTorch's knowledge.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "base/mutex.h"

namespace tapelens::versions {

// For all threads. Its lock is a leaf.
class Trials {
 public:
  enum class State : uint8_t { untried, right, wrong };
  // `chain`: the operators; `key`: operators and sizes. One wrong result means wrong for all sizes; right results for
  // several sizes mean right for all.
  State state(uint64_t chain, uint64_t key);
  void learn(uint64_t chain, uint64_t key, bool is_right);

 private:
  struct Outcome {
    uint32_t right = 0;
    bool wrong = false;
  };
  base::Mutex lock_;
  std::unordered_map<uint64_t, Outcome> outcomes_ TAPELENS_GUARDED_BY(lock_);
  std::unordered_set<uint64_t> tried_ TAPELENS_GUARDED_BY(lock_);  // keys
};

}  // namespace tapelens::versions
