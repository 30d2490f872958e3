// One bit an element: packing what a predicate says of each, and spreading two values by it. Plain loops over blocks of
// 64 elements that the compiler turns into vector instructions; compiled for the machine's AVX2 where it has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tapelens::rewrite {

inline size_t bit_bytes(size_t count) { return (count + 7) / 8; }

// The type of the same width that holds the bits of a value.
template <size_t kBytes>
using Word =
    std::conditional_t<kBytes == 1, uint8_t,
                       std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>>;

// bit i = low < v < high, or low <= v <= high where `closed`. False: a NaN was among them, `bits` holds nothing of use.
template <class Value>  // float, double
bool pack_between(const Value* values, size_t count, Value low, Value high, bool closed, uint8_t* bits);
// The same for 16 bit floats, which are widened by `to_float` in blocks.
template <class Half>
bool pack_between_half(const Half* values, size_t count, float low, float high, bool closed, uint8_t* bits);

// bit i = (value i is `one`). False: some value is neither `one` nor `zero`.
template <class W>
bool pack_equal(const W* values, size_t count, W zero, W one, uint8_t* bits);

// out[i] = bit i ? one : zero
template <class W>
void spread(const uint8_t* bits, size_t count, W zero, W one, W* out);

}  // namespace tapelens::rewrite
