// The values of a pickle to which later opcodes refer. A pickle numbers millions of containers and texts, and refers to
// some thousands of them. A first pass over the opcodes finds these, so that the second one keeps only them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/pickle/window.h"

namespace tapelens::pickle {

inline constexpr uint32_t kNotKept = 0;

class MemoUse {
 public:
  // Throws Malformed, also for every refused opcode at any position. Calls `progress` with the number of bytes read.
  static MemoUse of(Window& window, const std::function<void(uint64_t)>& progress);

  // A slot from 1 to kept(); kNotKept if nothing refers to that number.
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

  std::vector<uint64_t> words_;   // one bit a number: whether it is referred to
  std::vector<uint32_t> before_;  // by word: number of bits set in the words before it
  uint64_t numbers_ = 0;
  uint32_t kept_ = 0;
};

}  // namespace tapelens::pickle
