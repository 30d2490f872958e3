// Which values of a pickle are referred to again: a pickle numbers every container and text, millions, and refers to
// some thousands of them. They are found by reading the opcodes once before the values are made, so that only what is
// needed again is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/pickle/window.h"

namespace tapelens::pickle {

inline constexpr uint32_t kNotKept = 0;

class MemoUse {
 public:
  // Throws Malformed: also for every opcode that is refused, wherever it is. `progress` is told how many bytes were
  // read.
  static MemoUse of(Window& window, const std::function<void(uint64_t)>& progress);

  // From 1 to kept(); kNotKept: nothing refers to that number.
  uint32_t slot(uint64_t number) const {
    const uint64_t word = words_[number / 64], bit = uint64_t{1} << number % 64;
    if ((word & bit) == 0) return kNotKept;
    return before_[number / 64] + static_cast<uint32_t>(__builtin_popcountll(word & (bit - 1))) + 1;
  }
  uint32_t kept() const { return kept_; }
  uint64_t numbers() const { return numbers_; }

 private:
  void put() {
    if (numbers_++ % 64 == 0) words_.push_back(0);
  }
  void get(uint64_t number, uint64_t offset);

  std::vector<uint64_t> words_;   // a bit each number: it is referred to
  std::vector<uint32_t> before_;  // of a word: how many bits there are in those before it
  uint64_t numbers_ = 0;
  uint32_t kept_ = 0;
};

}  // namespace tapelens::pickle
