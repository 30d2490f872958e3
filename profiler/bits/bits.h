// One bit per element: packs a predicate of each element, and expands bits to two values. Plain loops over blocks of 64
// elements, which the compiler vectorizes; compiled also for AVX2, for machines with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tapelens::bits {

inline size_t bit_bytes(size_t count) { return (count + 7) / 8; }

// bit i = low < v < high, or low <= v <= high if `closed`; an infinite bound always holds. False: a value was NaN, and
// `bits` is invalid.
template <class Value>  // float, double
bool pack_between(const Value* values, size_t count, Value low, Value high, bool closed, uint8_t* bits);
// The same for 16-bit types, which are converted to float, a few hundred values at a time.
template <class Half>
bool pack_between_half(const Half* values, size_t count, float low, float high, bool closed, uint8_t* bits) {
  constexpr size_t kAtOnce = 512;
  float wide[kAtOnce];
  for (size_t at = 0; at < count; at += kAtOnce) {
    const size_t some = std::min(count - at, kAtOnce);
    for (size_t i = 0; i < some; ++i) wide[i] = static_cast<float>(values[at + i]);
    if (!pack_between(wide, some, low, high, closed, bits + at / 8)) return false;
  }
  return true;
}

// bit i = (value i is `one`). False: a value is neither `one` nor `zero`.
template <class W>  // unsigned, of 8 to 64 bits
bool pack_equal(const W* values, size_t count, W zero, W one, uint8_t* bits);

// out[i] = bit i ? one : zero
template <class W>
void spread(const uint8_t* bits, size_t count, W zero, W one, W* out);

}  // namespace tapelens::bits
