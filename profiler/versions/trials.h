// Results of trial rematerializations: kernels that give other bits the second time, tensors that were written without
// PyTorch's knowledge.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

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
  std::mutex lock_;
  std::unordered_map<uint64_t, Outcome> outcomes_;
  std::unordered_set<uint64_t> tried_;  // keys
};

}  // namespace tapelens::versions
