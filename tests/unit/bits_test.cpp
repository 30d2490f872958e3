// Bits of tensors, compared with loops over single elements: profiler/bits. Vectors have exactly the needed length, so
// that AddressSanitizer detects accesses outside of them.
#include "profiler/bits/bits.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace tapelens::bits {
namespace {

// Around the blocks of 8, 64 and 512 elements that the loops work in.
constexpr size_t kCounts[] = {0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 130, 511, 512, 513, 1000, 1024, 1537};

bool bit(const std::vector<uint8_t>& bits, size_t i) { return (bits[i / 8] >> (i % 8) & 1) != 0; }

template <class Value>
std::vector<Value> some_values(std::mt19937& random, size_t count, Value low, Value high) {
  const Value inf = std::numeric_limits<Value>::infinity();
  const Value special[] = {low,
                           high,
                           std::nextafter(low, -inf),
                           std::nextafter(high, inf),
                           Value{0},
                           -Value{0},
                           inf,
                           -inf,
                           std::numeric_limits<Value>::denorm_min()};
  std::vector<Value> values(count);
  for (Value& value : values) {
    value = random() % 2 != 0 ? special[random() % std::size(special)]
                              : static_cast<Value>(static_cast<int32_t>(random())) / Value{1 << 28};
  }
  return values;
}

template <class Value>
void between_as_a_loop_says() {
  std::mt19937 random(1);
  const Value infinity = std::numeric_limits<Value>::infinity();
  const std::pair<Value, Value> bounds[] = {{0, infinity}, {0, 6}, {-3, 3}, {-infinity, 0}};
  for (const size_t count : kCounts) {
    for (const auto& [low, high] : bounds) {
      const auto values = some_values(random, count, low, high);
      for (const bool closed : {false, true}) {
        std::vector<uint8_t> bits(bit_bytes(count), 0xff);
        ASSERT_TRUE(pack_between(values.data(), count, low, high, closed, bits.data()));
        for (size_t i = 0; i < count; ++i) {
          const bool is_above = low == -infinity || (closed ? values[i] >= low : values[i] > low);
          const bool is_below = high == infinity || (closed ? values[i] <= high : values[i] < high);
          const bool is_in = is_above && is_below;
          ASSERT_EQ(bit(bits, i), is_in) << values[i] << " at " << i << " of " << count;
        }
        for (size_t i = count; i < 8 * bits.size(); ++i) ASSERT_FALSE(bit(bits, i)) << i << " is not one of " << count;
      }
    }
  }
}
TEST(Bits, BetweenTwoFloatsIsWhatALoopSays) { between_as_a_loop_says<float>(); }
TEST(Bits, BetweenTwoDoublesIsWhatALoopSays) { between_as_a_loop_says<double>(); }

template <class Value>
void no_bits_with_nan() {
  for (const size_t count : kCounts) {
    for (size_t at = 0; at < count; at += count < 70 ? 1 : 37) {
      std::vector<Value> values(count, Value{1});
      values[at] = at % 2 != 0 ? std::numeric_limits<Value>::quiet_NaN() : -std::numeric_limits<Value>::quiet_NaN();
      std::vector<uint8_t> bits(bit_bytes(count));
      for (const bool closed : {false, true})
        ASSERT_FALSE(pack_between(values.data(), count, Value{0}, Value{6}, closed, bits.data())) << at;
    }
  }
}
TEST(Bits, NoNanGoesUnseenWhereverItIs) {
  no_bits_with_nan<float>();
  no_bits_with_nan<double>();
}

// The upper half of a float, as bfloat16 is.
struct Upper {
  uint16_t word;
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(word) << 16); }
};

TEST(Bits, HalvesAreComparedAsTheFloatsThatTheyAre) {
  std::mt19937 random(2);
  for (const size_t count : kCounts) {
    std::vector<Upper> values(count);
    for (Upper& value : values) {
      do value.word = static_cast<uint16_t>(random());
      while (std::isnan(static_cast<float>(value)));
    }
    std::vector<uint8_t> bits(bit_bytes(count));
    ASSERT_TRUE(pack_between_half(values.data(), count, -1.0F, 64.0F, false, bits.data()));
    for (size_t i = 0; i < count; ++i) {
      const auto value = static_cast<float>(values[i]);
      ASSERT_EQ(bit(bits, i), value > -1 && value < 64) << value;
    }
    if (count == 0) continue;
    values[random() % count].word = 0x7fc0;
    EXPECT_FALSE(pack_between_half(values.data(), count, -1.0F, 64.0F, false, bits.data()));
  }
}

template <class W>
void two_words_come_back() {
  std::mt19937_64 random(3);
  for (const size_t count : kCounts) {
    const auto zero = static_cast<W>(random()), one = static_cast<W>(~zero);
    std::vector<W> values(count);
    for (W& value : values) value = random() % 3 != 0 ? zero : one;
    std::vector<uint8_t> bits(bit_bytes(count));
    ASSERT_TRUE(pack_equal(values.data(), count, zero, one, bits.data()));
    std::vector<W> back(count);
    spread(bits.data(), count, zero, one, back.data());
    ASSERT_EQ(back, values);
    // With two equal values, every element must have that value.
    ASSERT_TRUE(pack_equal(std::vector<W>(count, one).data(), count, one, one, bits.data()));
    for (size_t at = 0; at < count; at += count < 70 ? 1 : 41) {
      const W before = std::exchange(values[at], static_cast<W>(zero ^ 1));
      ASSERT_FALSE(pack_equal(values.data(), count, zero, one, bits.data())) << at << " of " << count;
      values[at] = before;
    }
  }
}
TEST(Bits, TwoValuesOfAnyWidthComeBack) {
  two_words_come_back<uint8_t>();
  two_words_come_back<uint16_t>();
  two_words_come_back<uint32_t>();
  two_words_come_back<uint64_t>();
}

}  // namespace
}  // namespace tapelens::bits
