// Columns survive a round trip through their chunks, with any values.
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "trace/column_codec.h"
#include "trace/schema.h"

namespace tapelens::trace {
namespace {

template <class T>
struct Codec : ::testing::Test {
  ColumnEncoder encoder;
  ColumnDecoder decoder;

  // Encodes, decodes and compares. Returns the entry.
  ChunkEntry round_trip(const std::vector<T>& values, Transform transform) {
    const Column<T> key(Table::operators, 0, transform, "test");
    ChunkEntry entry{};
    const auto stored = encoder.encode(key, values.data(), values.size(), entry);
    EXPECT_EQ(entry.stored_bytes, stored.size());
    EXPECT_TRUE(is_plausible(entry, stored.data()));
    std::vector<T> decoded(values.size() + 1, T{77});
    EXPECT_TRUE(decoder.decode(entry, stored.data(), decoded.data()));
    EXPECT_EQ(decoded.back(), T{77}) << "written past the end";
    decoded.pop_back();
    EXPECT_EQ(decoded, values);
    return entry;
  }
};

using Widths = ::testing::Types<uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(Codec, Widths);

TYPED_TEST(Codec, ExtremesSurviveBothTransforms) {
  constexpr TypeParam kMost = std::numeric_limits<TypeParam>::max();
  for (const Transform transform : {Transform::plain, Transform::delta}) {
    this->round_trip({0}, transform);
    this->round_trip({kMost}, transform);
    this->round_trip({0, kMost, 0, kMost, 1, kMost - 1}, transform);
    this->round_trip({kMost / 2, kMost / 2 + 1, 0, kMost}, transform);
  }
}

TYPED_TEST(Codec, RandomValuesOfEverySizeSurvive) {
  std::mt19937_64 random(1);
  for (const size_t rows : {1U, 2U, 7U, 255U, 4096U, 65535U, 65536U}) {
    std::vector<TypeParam> values(rows);
    for (auto& value : values) value = static_cast<TypeParam>(random() >> random() % 64);
    this->round_trip(values, Transform::plain);
    this->round_trip(values, Transform::delta);
  }
}

TYPED_TEST(Codec, AConstantTakesNoBytes) {
  const std::vector<TypeParam> values(65536, TypeParam{123});
  EXPECT_EQ(this->round_trip(values, Transform::plain).stored_bytes, 0U);
  EXPECT_EQ(this->round_trip(values, Transform::delta).stored_bytes, 0U);
}

TYPED_TEST(Codec, ASteadyRiseTakesAlmostNoBytes) {
  std::vector<TypeParam> values(65536);
  std::iota(values.begin(), values.end(), TypeParam{0});
  EXPECT_LT(this->round_trip(values, Transform::delta).stored_bytes, 200U);
}

TYPED_TEST(Codec, OnlyPlanesThatHoldSomethingAreStored) {
  const ChunkEntry entry = this->round_trip({1, 2, 3}, Transform::plain);
  EXPECT_EQ(entry.planes, 1U);
  EXPECT_EQ(entry.base, 1U);
}

TYPED_TEST(Codec, AnEntryThatContradictsItsBytesIsNotPlausible) {
  const Column<TypeParam> key(Table::operators, 0, Transform::plain, "test");
  std::vector<TypeParam> values(1000);
  std::iota(values.begin(), values.end(), TypeParam{0});
  ChunkEntry entry{};
  const auto stored = this->encoder.encode(key, values.data(), values.size(), entry);
  ASSERT_TRUE(is_plausible(entry, stored.data()));
  const auto with = [&](auto change) {
    ChunkEntry other = entry;
    change(other);
    return is_plausible(other, stored.data());
  };
  EXPECT_FALSE(with([](ChunkEntry& e) { e.rows = 0; }));
  EXPECT_FALSE(with([](ChunkEntry& e) { e.rows = kChunkRows + 1; }));
  EXPECT_FALSE(with([](ChunkEntry& e) { --e.rows; }));
  EXPECT_FALSE(with([](ChunkEntry& e) { e.width = 3; }));
  EXPECT_FALSE(with([](ChunkEntry& e) { e.transform = 2; }));
  EXPECT_FALSE(with([](ChunkEntry& e) { e.encoding = 2; }));
  EXPECT_FALSE(with([](ChunkEntry& e) { e.planes = 0; }));
  if (sizeof(TypeParam) < 8) {
    EXPECT_FALSE(with([](ChunkEntry& e) { e.planes |= 0x80; }));
  }
}

}  // namespace
}  // namespace tapelens::trace
