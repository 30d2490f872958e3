// Small random numbers for random programs. A seed gives the same numbers on every machine.
#pragma once

#include <cstdint>
#include <random>

namespace tapelens::testing {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t upto(uint32_t most) { return static_cast<uint32_t>(engine_() % most); }
  bool one_of(uint32_t count) { return upto(count) == 0; }

 private:
  std::mt19937 engine_;
};

}  // namespace tapelens::testing
