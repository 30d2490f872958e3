// How much may be computed again: a share of a step's time, spent where it frees most bytes for a nanosecond. And what was
// found out about recipes by trying them.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace tapelens::rewrite {

// Like torch.compile's min-cut, but decided from measured times: in the first steps everything goes that can, and what it
// costs is added up by site (what is made again, for whom). Then the sites are taken in the order of bytes for a
// nanosecond until the share is spent; the rest is kept.
class Budget {
 public:
  static Budget& of_process();
  // Counts this one, too. `ns`: that it took the first time.
  bool allows(uint64_t site, uint64_t bytes, uint64_t ns);
  // It was made again.
  void spent(uint64_t site, uint64_t ns);
  // A backward ended: `ns` after the one before it.
  void step_ended(uint64_t ns);

 private:
  struct Site {
    uint64_t bytes = 0, ns = 0, spent = 0;  // of the step that is under way
    uint64_t cost() const { return spent > 0 ? spent : ns; }
    bool is_on = true;
  };
  void decide(uint64_t step_ns);

  std::mutex lock_;
  std::unordered_map<uint64_t, Site> sites_;
  uint32_t steps_ = 0;
};

class Trials {
 public:
  enum class State : uint8_t { untried, right, wrong };
  static Trials& of_process();
  // `chain`: the operators; `key`: these and the sizes. Wrong once is wrong for all sizes; right for several is for all.
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
