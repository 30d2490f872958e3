#include "profiler/bits/bits.h"

#include <algorithm>
#include <cstring>
#include <limits>

// ThreadSanitizer is not initialized when the loader selects a function version (target_clones). aarch64 needs only one
// version.
#if defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define TAPELENS_VECTORISED
#else
#define TAPELENS_VECTORISED __attribute__((target_clones("avx2", "default")))
#endif

namespace tapelens::bits {
namespace {

constexpr size_t kBlock = 64;

// Packs 64 flags, each 0 or 1, into 8 bytes: a product gathers eight flags at a time in its top byte.
__attribute__((always_inline)) inline void pack_block(const uint8_t* flags, uint8_t* bits, size_t count) {
  for (size_t i = 0; i < bit_bytes(count); ++i) {
    uint64_t eight;
    std::memcpy(&eight, flags + 8 * i, 8);
    bits[i] = static_cast<uint8_t>((eight * 0x0102040810204080ULL) >> 56);
  }
}

__attribute__((always_inline)) inline void spread_block(const uint8_t* bits, uint8_t* flags, size_t count) {
  for (size_t i = 0; i < bit_bytes(count); ++i) {
    // Isolate bit k of the byte in byte k, then reduce it to 0 or 1.
    uint64_t eight = (bits[i] * 0x0101010101010101ULL) & 0x8040201008040201ULL;
    eight = ((eight + 0x7f7f7f7f7f7f7f7fULL) >> 7) & 0x0101010101010101ULL;
    std::memcpy(flags + 8 * i, &eight, 8);
  }
}

template <class Value, class Flag>
__attribute__((always_inline)) inline uint8_t flag_block(const Value* values, size_t count, uint8_t* flags, Flag flag) {
  uint8_t bad = 0;
  for (size_t i = 0; i < count; ++i) flags[i] = flag(values[i], bad);
  return bad;
}

template <class Value, class Flag>
__attribute__((always_inline)) inline bool pack(const Value* values, size_t count, uint8_t* bits, Flag flag) {
  alignas(64) uint8_t flags[kBlock];
  uint8_t bad = 0;
  size_t at = 0;
  for (; at + kBlock <= count; at += kBlock) {
    bad |= flag_block(values + at, kBlock, flags, flag);
    pack_block(flags, bits + at / 8, kBlock);
  }
  if (at < count) {
    std::memset(flags, 0, sizeof flags);
    bad |= flag_block(values + at, count - at, flags, flag);
    pack_block(flags, bits + at / 8, count - at);
  }
  return bad == 0;
}

}  // namespace

#define TAPELENS_BETWEEN(Value)                                                                                       \
  template <>                                                                                                         \
  TAPELENS_VECTORISED bool pack_between<Value>(const Value* values, size_t count, Value low, Value high, bool closed, \
                                               uint8_t* bits) {                                                       \
    if (closed)                                                                                                       \
      return pack(values, count, bits, [=](Value v, uint8_t& bad) {                                                   \
        bad |= static_cast<uint8_t>(v != v);                                                                          \
        return static_cast<uint8_t>((v >= low) & (v <= high));                                                        \
      });                                                                                                             \
    const bool has_low = low > -std::numeric_limits<Value>::infinity();                                               \
    const bool has_high = high < std::numeric_limits<Value>::infinity();                                              \
    return pack(values, count, bits, [=](Value v, uint8_t& bad) {                                                     \
      bad |= static_cast<uint8_t>(v != v);                                                                            \
      return static_cast<uint8_t>(((v > low) | !has_low) & ((v < high) | !has_high));                                 \
    });                                                                                                               \
  }
TAPELENS_BETWEEN(float)
TAPELENS_BETWEEN(double)

#define TAPELENS_WORDS(W)                                                                               \
  template <>                                                                                           \
  TAPELENS_VECTORISED bool pack_equal<W>(const W* values, size_t count, W zero, W one, uint8_t* bits) { \
    return pack(values, count, bits, [=](W v, uint8_t& bad) {                                           \
      bad |= static_cast<uint8_t>((v != zero) & (v != one));                                            \
      return static_cast<uint8_t>(v == one);                                                            \
    });                                                                                                 \
  }                                                                                                     \
  template <>                                                                                           \
  TAPELENS_VECTORISED void spread<W>(const uint8_t* bits, size_t count, W zero, W one,                  \
                                     W* out) { /*NOLINT(bugprone-macro-parentheses): a type*/           \
    alignas(64) uint8_t flags[kBlock];                                                                  \
    for (size_t at = 0; at < count; at += kBlock) {                                                     \
      const size_t some = std::min(count - at, kBlock);                                                 \
      spread_block(bits + at / 8, flags, some);                                                         \
      for (size_t i = 0; i < some; ++i) out[at + i] = flags[i] != 0 ? one : zero;                       \
    }                                                                                                   \
  }
TAPELENS_WORDS(uint8_t)
TAPELENS_WORDS(uint16_t)
TAPELENS_WORDS(uint32_t)
TAPELENS_WORDS(uint64_t)

}  // namespace tapelens::bits
