// What was found out about rematerializations by trying them: a kernel that gives other bits the second time, a tensor
// that was written behind PyTorch's back.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace tapelens::versions {

// For all threads. Its lock is held for nothing else.
class Trials {
 public:
  enum class State : uint8_t { untried, right, wrong };
  // `chain`: the operators; `key`: these and the sizes. Wrong once is wrong for all sizes; right for several is right
  // for all.
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
