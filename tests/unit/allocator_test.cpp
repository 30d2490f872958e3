// The model of PyTorch's caching allocator: cases computed by hand, a reference model of one page that shares no code
// with it, and invariants under random requests.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "analyzer/allocator/caching_allocator.h"

namespace tapelens::allocator {
namespace {

// A card that returns addresses in ascending order and records each request.
class Card : public Device {
 public:
  explicit Card(uint64_t bytes = kNoLimit) : bytes_(bytes) {}
  std::optional<uint64_t> allocate(uint64_t bytes) override {
    if (bytes > bytes_ - used) return std::nullopt;
    used += bytes;
    allocated.push_back(bytes);
    const uint64_t address = next_;
    next_ += bytes;
    return address;
  }
  void free(uint64_t, uint64_t bytes) override {
    used -= bytes;
    freed.push_back(bytes);
  }
  uint64_t reserve_addresses() override { return ++ranges_ << 48; }
  bool map(uint64_t address, uint64_t bytes) override {
    if (bytes > bytes_ - used) return false;
    used += bytes;
    for (uint64_t at = address; at < address + bytes; at += 2 * kMiB) EXPECT_TRUE(pages.emplace(at, true).second);
    return true;
  }
  void unmap(uint64_t address, uint64_t bytes) override {
    used -= bytes;
    for (uint64_t at = address; at < address + bytes; at += 2 * kMiB) EXPECT_EQ(pages.erase(at), 1u);
  }

  uint64_t used = 0;
  std::vector<uint64_t> allocated, freed;
  std::map<uint64_t, bool> pages;  // mapped bytes

 private:
  const uint64_t bytes_;
  uint64_t next_ = 1 << 20, ranges_ = 0;
};

constexpr uint32_t kNumbers = 5000;

AllocatorSettings settings(std::string_view text) {
  const ParsedSettings parsed = parse_settings(text);
  EXPECT_TRUE(parsed.unknown.empty()) << text;
  return parsed.settings;
}

TEST(AllocatorSettings, AreReadAsPyTorchReadsThem) {
  const AllocatorSettings s = settings(
      "expandable_segments:True, max_split_size_mb:64,garbage_collection_threshold:0.8,"
      "roundup_power2_divisions:[256:1,512:2,1024:4,>:8],pinned_use_background_threads:True,backend:native");
  EXPECT_TRUE(s.expandable_segments);
  EXPECT_EQ(s.max_split_size, 64 * kMiB);
  EXPECT_EQ(s.garbage_collection_threshold, 0.8);
  EXPECT_EQ(s.divisions_of(5000), 1u) << "before the first";
  EXPECT_EQ(s.divisions_of(300 * kMiB), 1u);
  EXPECT_EQ(s.divisions_of(512 * kMiB), 2u);
  EXPECT_EQ(s.divisions_of(1500 * kMiB), 4u);
  EXPECT_EQ(s.divisions_of(2048 * kMiB), 8u);
  EXPECT_EQ(s.divisions_of(uint64_t{1} << 40), 8u) << "beyond the last";
  EXPECT_EQ(settings("roundup_power2_divisions:4").divisions_of(7), 4u);
  EXPECT_EQ(settings("").max_split_size, kNoLimit);
}

TEST(AllocatorSettings, SayWhatTheyDoNotKnow) {
  EXPECT_EQ(parse_settings("some_new_one:3,max_split_size_mb:64").unknown, (std::vector<std::string>{"some_new_one"}));
  EXPECT_EQ(parse_settings("max_split_size_mb:many").unknown, (std::vector<std::string>{"max_split_size_mb"}));
  EXPECT_EQ(parse_settings("max_split_size_mb").unknown, (std::vector<std::string>{"max_split_size_mb"}));
  EXPECT_EQ(parse_settings("roundup_power2_divisions:[a:1]").unknown.size(), 1u);
  EXPECT_EQ(parse_settings("roundup_power2_divisions:[").unknown.size(), 1u);
  EXPECT_FALSE(parse_settings(":::,,[]").unknown.empty());
}

TEST(AllocatorSettings, HaveTheOrderOfTheVersionOfPyTorch) {
  EXPECT_EQ(order_of("2.11.0+cu130"), Order::by_address);
  EXPECT_EQ(order_of("2.12.1"), Order::by_age);
  EXPECT_EQ(order_of("3.0.0a0+git123"), Order::by_age);
  EXPECT_EQ(order_of("1.13"), Order::by_address);
  for (const char* none : {"", "2", "2.", "main"}) EXPECT_EQ(order_of(none), std::nullopt) << none;
}

// Returns addresses in descending order.
struct Descending : Card {
  std::optional<uint64_t> allocate(uint64_t bytes) override {
    return Card::allocate(bytes) ? std::optional(top -= bytes) : std::nullopt;
  }
  uint64_t top = uint64_t{1} << 40;
};

TEST(CachingAllocator, GivesOutTheOldestOrTheLowestOfBlocksOfOneSize) {
  for (const auto& [order, first] : {std::pair(Order::by_age, 1), std::pair(Order::by_address, 3)}) {
    Descending card;
    AllocatorSettings s;
    s.order = order;
    CachingAllocator a(s, card, kNumbers);
    std::map<uint64_t, int> number_of;
    for (int i = 1; i <= 3; ++i) {
      ASSERT_TRUE(a.allocate(static_cast<uint32_t>(i), 32 * kMiB, 0, {}));
      number_of[a.address_of(static_cast<uint32_t>(i))] = i;
    }
    for (uint32_t i = 1; i <= 3; ++i) a.free(i);
    ASSERT_TRUE(a.allocate(4, 32 * kMiB, 0, {}));
    EXPECT_EQ(number_of[a.address_of(4)], first);
  }
}

TEST(CachingAllocator, RoundsAndTakesSegmentsOfThreeKinds) {
  Card card;
  CachingAllocator a({}, card, kNumbers);
  EXPECT_TRUE(a.allocate(1, 1, 0, {}));
  EXPECT_TRUE(a.allocate(2, kMiB, 0, {})) << "the last of the small ones";
  EXPECT_TRUE(a.allocate(3, kMiB + 1, 0, {}));
  EXPECT_TRUE(a.allocate(4, 10 * kMiB, 0, {}));
  EXPECT_TRUE(a.allocate(5, 11 * kMiB + 5, 0, {}));
  EXPECT_EQ(card.allocated, (std::vector<uint64_t>{2 * kMiB, 20 * kMiB, 12 * kMiB}));
  EXPECT_EQ(a.bytes_of(1), 512u);
  EXPECT_EQ(a.address_of(2), a.address_of(1) + 512);
  EXPECT_EQ(a.bytes_of(3), kMiB + 512);
  EXPECT_EQ(a.address_of(4), a.address_of(3) + kMiB + 512);
  EXPECT_EQ(a.bytes_of(5), 12 * kMiB) << "a rest of a MiB or less is not split off";
  EXPECT_EQ(a.reserved(), 34 * kMiB);
}

TEST(CachingAllocator, GivesTheSmallestBlockOfTheStreamAndThePoolAndJoinsNeighbours) {
  Card card;
  CachingAllocator a({}, card, kNumbers);
  for (uint32_t i = 1; i <= 4; ++i) ASSERT_TRUE(a.allocate(i, 100 * 1024, 0, {}));
  const uint64_t first = a.address_of(1), third = a.address_of(3);
  a.free(1);
  a.free(3);
  ASSERT_TRUE(a.allocate(5, 100 * 1024, 0, {}));
  EXPECT_EQ(a.address_of(5), first) << "of two alike the lower";
  a.free(5);
  a.free(2);  // between two free blocks
  ASSERT_TRUE(a.allocate(6, 250 * 1024, 0, {}));
  EXPECT_EQ(a.address_of(6), first);
  EXPECT_GT(third, first);
  ASSERT_TRUE(a.allocate(7, 1024, 9, {}));
  ASSERT_TRUE(a.allocate(8, 1024, 0, {0, 1}));
  EXPECT_EQ(card.allocated.size(), 3u) << "another stream, another pool";
}

TEST(CachingAllocator, WaitsForStreamsOnlyWhereItHasNoMemory) {
  Card card(20 * kMiB);
  CachingAllocator a({}, card, kNumbers);
  ASSERT_TRUE(a.allocate(1, 20 * kMiB, 0, {}));
  a.request_free(1);
  EXPECT_FALSE(a.is_cached(20 * kMiB, 0, {}));
  ASSERT_TRUE(a.allocate(2, 20 * kMiB, 0, {}));
  EXPECT_EQ(card.freed, (std::vector<uint64_t>{20 * kMiB}));
  a.free(1);  // the notification comes later
  EXPECT_EQ(a.reserved(), 20 * kMiB);
  EXPECT_FALSE(a.allocate(3, 512, 0, {}));
  EXPECT_EQ(a.bytes_of(2), 20 * kMiB);
}

TEST(CachingAllocator, DoesNotSplitWhatIsTooLarge) {
  Card card(300 * kMiB);
  CachingAllocator a(settings("max_split_size_mb:64"), card, kNumbers);
  ASSERT_TRUE(a.allocate(1, 100 * kMiB, 0, {}));
  ASSERT_TRUE(a.allocate(2, 80 * kMiB, 0, {}));
  a.free(1);
  a.free(2);
  ASSERT_TRUE(a.allocate(3, 30 * kMiB, 0, {}));
  EXPECT_EQ(card.used, 210 * kMiB) << "not of the large ones";
  ASSERT_TRUE(a.allocate(4, 75 * kMiB, 0, {}));
  EXPECT_EQ(a.bytes_of(4), 80 * kMiB) << "whole, since it is not much larger";
  // 110 MiB are missing. The allocator frees only as many large cached segments as the request needs.
  EXPECT_FALSE(a.allocate(5, 200 * kMiB, 0, {}));
  EXPECT_EQ(card.freed, (std::vector<uint64_t>{100 * kMiB}));
}

TEST(CachingAllocator, CollectsWhatWasNotUsedForLongest) {
  Card card;
  CachingAllocator a(settings("garbage_collection_threshold:0.5"), card, kNumbers, 100 * kMiB);
  ASSERT_TRUE(a.allocate(1, 30 * kMiB, 0, {}));
  ASSERT_TRUE(a.allocate(2, 22 * kMiB, 0, {}));
  a.free(1);
  for (uint32_t i = 3; i < 8; ++i) {
    ASSERT_TRUE(a.allocate(i, 22 * kMiB - 512, 5, {}) || i > 4);
    if (i == 3) a.free(2);
  }
  EXPECT_EQ(card.freed.front(), 30 * kMiB);
  Card other;
  CachingAllocator b(settings("garbage_collection_threshold:0.5"), other, kNumbers);
  ASSERT_TRUE(b.allocate(1, 30 * kMiB, 0, {}));
  b.free(1);
  ASSERT_TRUE(b.allocate(2, 900 * kMiB, 0, {}));
  EXPECT_TRUE(other.freed.empty()) << "without a part of the device that it may have, nothing is collected";
}

TEST(CachingAllocator, ExpandsASegmentPageByPageAndGivesBackWholePages) {
  Card card;
  CachingAllocator a(settings("expandable_segments:True"), card, kNumbers);
  ASSERT_TRUE(a.allocate(1, 15 * kMiB, 0, {}));
  EXPECT_EQ(card.used, 20 * kMiB);
  ASSERT_TRUE(a.allocate(2, 30 * kMiB, 0, {}));
  EXPECT_EQ(card.used, 60 * kMiB) << "5 MiB were there: 25 more are two pages";
  EXPECT_EQ(a.address_of(2), a.address_of(1) + 15 * kMiB);
  ASSERT_EQ(a.segments().size(), 1u);
  EXPECT_TRUE(a.segments()[0].is_expandable);
  a.free(1);
  a.empty_cache();
  EXPECT_EQ(card.used, 60 * kMiB) << "no whole page is free";
  a.free(2);
  ASSERT_TRUE(a.allocate(3, 5 * kMiB, 0, {}));
  a.empty_cache();
  EXPECT_EQ(card.used, 20 * kMiB);
  a.free(3);
  a.empty_cache();
  EXPECT_EQ(card.used, 0u);
  EXPECT_TRUE(a.segments().empty());
}

TEST(CachingAllocator, GivesBackAPrivatePoolOnlyWhenNobodyUsesIt) {
  Card card;
  CachingAllocator a({}, card, kNumbers);
  const PoolId pool{3, 0};
  ASSERT_TRUE(a.allocate(1, 30 * kMiB, 0, pool));
  ASSERT_TRUE(a.allocate(2, 40 * kMiB, 0, {}));
  a.free(1);
  a.free(2);
  EXPECT_EQ(a.could_give_back(pool), 30 * kMiB);
  a.empty_cache();
  EXPECT_EQ(card.used, 30 * kMiB);
  a.give_back(pool);
  EXPECT_EQ(card.used, 0u);
}

// The same rules, on a plain list of blocks without cached state.
class OnePage {
 public:
  OnePage(uint64_t max_split, uint64_t divisions) : max_split_(max_split), divisions_(divisions) {}

  uint64_t round(uint64_t bytes) const {
    if (bytes < 512) return 512;
    if (divisions_ > 1 && bytes > 512 * divisions_) {
      uint64_t power = 1;
      while (power * 2 <= bytes) power *= 2;
      for (uint64_t size = power; size < 2 * power; size += power / divisions_)
        if (size >= bytes) return size;
      return 2 * power;
    }
    return (bytes + 511) / 512 * 512;
  }

  std::tuple<uint64_t, uint64_t> allocate(uint32_t number, uint64_t bytes, uint64_t stream) {
    const uint64_t size = round(bytes);
    const bool small = size <= kMiB;
    Block* best = nullptr;
    for (Block& b : blocks_) {
      if (b.number != 0 || b.stream != stream || b.small != small || b.size < size) continue;
      if (best == nullptr || std::tuple(b.size, b.address) < std::tuple(best->size, best->address)) best = &b;
    }
    if (best != nullptr && size < max_split_ && best->size >= max_split_) best = nullptr;
    if (best != nullptr && size >= max_split_ && best->size >= size + 20 * kMiB) best = nullptr;
    if (best == nullptr) {
      const uint64_t segment = small              ? 2 * kMiB
                               : size < 10 * kMiB ? 20 * kMiB
                                                  : (size + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB);
      blocks_.push_back({next_, segment, next_, stream, small, 0});
      next_ += segment;
      reserved += segment;
      best = &blocks_.back();
    }
    const uint64_t rest = best->size - size;
    const Block whole = *best;
    best->number = number;
    if (small ? rest >= 512 : size < max_split_ && rest > kMiB) {
      best->size = size;
      blocks_.push_back({whole.address + size, rest, whole.segment, stream, small, 0});
    }
    const Block& given = *std::ranges::find(blocks_, number, &Block::number);
    return {given.address, given.size};
  }

  void free(uint32_t number) {
    std::ranges::find(blocks_, number, &Block::number)->number = 0;
    std::ranges::sort(blocks_, {}, &Block::address);
    for (size_t i = 0; i + 1 < blocks_.size();) {
      Block &a = blocks_[i], &b = blocks_[i + 1];
      if (a.number != 0 || b.number != 0 || a.segment != b.segment) {
        ++i;
        continue;
      }
      a.size += b.size;
      blocks_.erase(blocks_.begin() + static_cast<int64_t>(i) + 1);
    }
  }

  void empty_cache() {
    for (size_t i = 0; i < blocks_.size();) {
      const Block& b = blocks_[i];
      const bool whole = b.number == 0 && std::ranges::count(blocks_, b.segment, &Block::segment) == 1;
      if (whole) reserved -= b.size;
      whole ? void(blocks_.erase(blocks_.begin() + static_cast<int64_t>(i))) : void(++i);
    }
  }

  uint64_t reserved = 0;

 private:
  struct Block {
    uint64_t address, size, segment, stream;
    bool small;
    uint32_t number;
  };
  const uint64_t max_split_, divisions_;
  std::vector<Block> blocks_;
  uint64_t next_ = 1 << 20;
};

// Invariants of any state: blocks tile their segments, cached neighbours are joined, and the sizes sum to the reserved
// bytes.
void expect_sound(const CachingAllocator& a, const Card& card) {
  uint64_t sum = 0, end = 0;
  for (const CachingAllocator::Segment& segment : a.segments()) {
    ASSERT_GE(segment.address, end);
    uint64_t at = segment.address;
    bool was_cached = false;
    for (const CachingAllocator::Block& block : segment.blocks) {
      ASSERT_EQ(block.address, at);
      ASSERT_GT(block.size, 0u);
      ASSERT_FALSE(was_cached && block.number == 0);
      was_cached = block.number == 0;
      at += block.size;
    }
    end = segment.address + segment.size;
    ASSERT_EQ(at, end);
    sum += segment.size;
  }
  ASSERT_EQ(sum, a.reserved());
  ASSERT_EQ(sum, card.used);
}

uint64_t random_size(std::mt19937& random) {
  return 1 + static_cast<uint64_t>(std::exp2(std::uniform_real_distribution<double>(0, 27)(random)));
}

TEST(CachingAllocator, DoesWhatTheModelOfAPageDoes) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const uint64_t split = seed % 3 == 0 ? 32 : 0, divisions = seed % 4 == 1 ? 4 : 0;
    AllocatorSettings s;
    if (split != 0) s.max_split_size = split * kMiB;
    s.roundup_divisions.fill(divisions);
    Card card;
    CachingAllocator a(s, card, kNumbers);
    OnePage page(s.max_split_size, divisions);
    std::vector<uint32_t> live;
    for (uint32_t number = 1; number < 500; ++number) {
      if (random() % 100 == 0) {
        a.empty_cache();
        page.empty_cache();
      }
      while (!live.empty() && random() % 5 < 2) {
        std::swap(live[random() % live.size()], live.back());
        a.free(live.back());
        page.free(live.back());
        live.pop_back();
      }
      const uint64_t bytes = random_size(random), stream = random() % 3;
      ASSERT_TRUE(a.allocate(number, bytes, stream, {}));
      const auto [address, size] = page.allocate(number, bytes, stream);
      ASSERT_EQ(a.address_of(number), address) << seed << " " << number;
      ASSERT_EQ(a.bytes_of(number), size);
      ASSERT_EQ(a.reserved(), page.reserved);
      live.push_back(number);
    }
    expect_sound(a, card);
  }
}

TEST(CachingAllocator, StaysSoundWhateverIsAsked) {
  const char* all[] = {"",
                       "expandable_segments:True",
                       "max_split_size_mb:32",
                       "garbage_collection_threshold:0.3",
                       "expandable_segments:True,max_split_size_mb:24,garbage_collection_threshold:0.4",
                       "roundup_power2_divisions:8,large_segment_size_mb:32,max_non_split_rounding_mb:40"};
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const uint64_t limit = seed % 2 == 0 ? 400 * kMiB : kNoLimit;
    Card card(limit);
    CachingAllocator a(settings(all[seed % std::size(all)]), card, kNumbers, seed % 5 == 0 ? 300 * kMiB : kNoLimit);
    std::vector<uint32_t> live;
    uint32_t failures = 0;
    for (uint32_t number = 1; number < 800; ++number) {
      if (random() % 70 == 0) a.empty_cache();
      if (random() % 90 == 0) a.give_back({static_cast<uint32_t>(random() % 2), 0});
      while (!live.empty() && (random() % 5 < 2 || live.size() > 40)) {
        std::swap(live[random() % live.size()], live.back());
        if (random() % 4 == 0) a.request_free(live.back());
        if (random() % 4 != 0) a.free(live.back());
        live.pop_back();
      }
      const bool is_served = a.allocate(number, random_size(random), random() % 2, {random() % 8 == 0 ? 1u : 0u, 0});
      failures += is_served ? 0 : 1;
      if (is_served) live.push_back(number);
      if (number % 50 == 0) expect_sound(a, card);
      if (HasFatalFailure()) return;
    }
    EXPECT_TRUE(failures == 0 || limit != kNoLimit || seed % 5 == 0);
    for (const uint32_t number : live) a.free(number);
    a.empty_cache();
    expect_sound(a, card);
  }
}

// An allocator that adopts the segments of another one answers like the other one from then on.
TEST(CachingAllocator, GoesOnFromWhatItAdopted) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const char* all[] = {"", "expandable_segments:True", "max_split_size_mb:32", "roundup_power2_divisions:8"};
    AllocatorSettings s = settings(all[seed % std::size(all)]);
    s.order = Order::by_address;
    Card card;
    CachingAllocator a(s, card, kNumbers);
    std::optional<Card> other_card;
    std::optional<CachingAllocator> other;
    std::vector<uint32_t> live;
    for (uint32_t number = 1; number < 600; ++number) {
      if (number == 300) {
        other.emplace(s, other_card.emplace(card), kNumbers);
        std::vector<CachingAllocator::Segment> segments = a.segments();
        std::ranges::stable_sort(segments, {},
                                 [](const auto& one) { return one.is_expandable ? one.base : one.address; });
        other->adopt(segments);
        ASSERT_EQ(other->reserved(), a.reserved());
      }
      if (random() % 60 == 0) {
        a.empty_cache();
        if (other) other->empty_cache();
      }
      while (!live.empty() && random() % 5 < 2) {
        std::swap(live[random() % live.size()], live.back());
        a.free(live.back());
        if (other) other->free(live.back());
        live.pop_back();
      }
      const uint64_t bytes = random_size(random), stream = random() % 2;
      const PoolId pool{random() % 8 == 0 ? 1u : 0u, 0};
      ASSERT_TRUE(a.allocate(number, bytes, stream, pool));
      live.push_back(number);
      if (!other) continue;
      ASSERT_TRUE(other->allocate(number, bytes, stream, pool));
      ASSERT_EQ(other->address_of(number), a.address_of(number)) << seed << " " << number;
      ASSERT_EQ(other->bytes_of(number), a.bytes_of(number));
      ASSERT_EQ(other->reserved(), a.reserved());
    }
    expect_sound(*other, *other_card);
  }
}

}  // namespace
}  // namespace tapelens::allocator
