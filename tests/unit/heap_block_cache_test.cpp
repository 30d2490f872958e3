// Tests of the cache of freed blocks, over a heap that counts: reused blocks, limits, and frees.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "profiler/heap/block_cache.h"

namespace tapelens::heap {
namespace {

constexpr size_t kMib = size_t{1} << 20;

// A heap of the system's blocks with a limit; the bytes before each block hold its size.
struct Counted {
  static inline std::atomic<uint64_t> now{0}, most{0}, allocated{0};
  static inline std::atomic<uint64_t> limit{UINT64_MAX};
  static void reset() {
    now = most = allocated = 0;
    limit = UINT64_MAX;
  }
  static void* allocate(size_t bytes) {
    if (now.fetch_add(bytes) + bytes > limit) {
      now -= bytes;
      throw std::bad_alloc();
    }
    ++allocated;
    for (uint64_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    auto* start = static_cast<std::byte*>(std::malloc(bytes + 64));
    std::memcpy(start, &bytes, sizeof(bytes));
    return start + 64;
  }
  static void free(void* block) {
    now -= bytes_of(block);
    std::free(static_cast<std::byte*>(block) - 64);
  }
  static size_t bytes_of(void* block) {
    size_t bytes = 0;
    std::memcpy(&bytes, static_cast<std::byte*>(block) - 64, sizeof(bytes));
    return bytes;
  }
};

class HeapBlockCache : public testing::Test {
 protected:
  HeapBlockCache() { Counted::reset(); }
  void free(void* block) { cache_.free(block, Counted::bytes_of(block)); }

  BlockCache cache_{{Counted::allocate, Counted::free, Counted::bytes_of}, 64 * kMib};
};

TEST_F(HeapBlockCache, ABlockIsUsedAgain) {
  void* const first = cache_.allocate(4 * kMib);
  free(first);
  EXPECT_EQ(cache_.waiting(), 4 * kMib);
  EXPECT_EQ(cache_.allocate(4 * kMib), first);
  EXPECT_EQ(cache_.waiting(), 0u);
  EXPECT_EQ(Counted::allocated, 1u);
  free(first);
}

TEST_F(HeapBlockCache, ABlockServesARequestOfFewerBytesOnlyWithinTheRounding) {
  void* const block = cache_.allocate(4 * kMib);
  free(block);
  void* const smaller = cache_.allocate(4 * kMib - 10000);
  EXPECT_EQ(Counted::allocated, 2u);  // addresses say nothing: the heap may give the freed block's again
  free(smaller);
  void* const rounded = cache_.allocate(4 * kMib - 10100);
  EXPECT_EQ(rounded, smaller);
  EXPECT_EQ(Counted::allocated, 2u);
  free(rounded);
}

TEST_F(HeapBlockCache, BlocksThatAreTooLargeOrTooSmallDoNotWait) {
  for (const size_t bytes : {size_t{100}, BlockCache::kLeast - 1, BlockCache::kMost, 100 * kMib}) {
    free(cache_.allocate(bytes));
    EXPECT_EQ(cache_.waiting(), 0u);
  }
  EXPECT_EQ(Counted::now, 0u);
}

TEST_F(HeapBlockCache, WaitingBlocksNeverRaiseThePeak) {
  void* const first = cache_.allocate(10 * kMib);
  void* const second = cache_.allocate(10 * kMib);
  free(first);
  free(second);
  EXPECT_EQ(cache_.waiting(), 20 * kMib);
  // The program has used 20 MiB at once: for 16 MiB, both have to go.
  void* const third = cache_.allocate(16 * kMib);
  EXPECT_EQ(cache_.waiting(), 0u);
  EXPECT_EQ(Counted::most, 20 * kMib);
  free(third);
}

TEST_F(HeapBlockCache, TheOldestGoFirst) {
  std::vector<void*> blocks(4);
  for (void*& block : blocks) block = cache_.allocate(5 * kMib);
  for (void* block : blocks) free(block);
  free(cache_.allocate(6 * kMib));  // 14 of 20 MiB may stay
  EXPECT_EQ(cache_.waiting(), 16 * kMib);
  EXPECT_EQ(cache_.allocate(5 * kMib), blocks[3]);
  EXPECT_EQ(cache_.allocate(5 * kMib), blocks[2]);
  free(blocks[2]);
  free(blocks[3]);
}

TEST_F(HeapBlockCache, NoMoreThanTheLimitWaits) {
  std::vector<void*> blocks(10);
  for (void*& block : blocks) block = cache_.allocate(10 * kMib);
  for (void* block : blocks) free(block);
  EXPECT_EQ(cache_.waiting(), 60 * kMib);
  EXPECT_EQ(Counted::now, 60 * kMib);
}

TEST_F(HeapBlockCache, WaitingBlocksGoBeforeAnAllocationFails) {
  void* const held = cache_.allocate(20 * kMib);
  void* const waiting = cache_.allocate(20 * kMib);
  free(waiting);
  Counted::limit = 45 * kMib;  // less than the program had: another part of it uses memory
  void* const block = cache_.allocate(15 * kMib);
  EXPECT_NE(block, nullptr);
  Counted::limit = 30 * kMib;
  EXPECT_THROW(cache_.allocate(15 * kMib), std::bad_alloc);
  free(block);
  free(held);
  EXPECT_THROW(cache_.allocate(31 * kMib), std::bad_alloc);
  EXPECT_EQ(cache_.waiting(), 0u) << "nothing waits when an allocation failed";
}

TEST_F(HeapBlockCache, BlocksFromBeforeTheCacheAreFreed) {
  void* const older = Counted::allocate(8 * kMib);
  free(older);
  EXPECT_EQ(cache_.waiting(), 0u) << "the program has not used so many bytes through the cache";
  EXPECT_EQ(Counted::now, 0u);
}

TEST(HeapBlockCacheAtTheEnd, AllBlocksAreFreed) {
  Counted::reset();
  {
    BlockCache cache({Counted::allocate, Counted::free, Counted::bytes_of}, 64 * kMib);
    void* const block = cache.allocate(3 * kMib);
    cache.free(block, Counted::bytes_of(block));
    EXPECT_EQ(Counted::now, 3 * kMib);
  }
  EXPECT_EQ(Counted::now, 0u);
}

// A heap without memory: addresses and sizes.
struct Addresses {
  static inline std::map<void*, size_t> blocks;
  static inline uintptr_t next = uintptr_t{1} << 40;
  static inline uint64_t now = 0;
  static void* allocate(size_t bytes) {
    void* const block = reinterpret_cast<void*>(next);
    next += size_t{64} << 20;
    blocks[block] = bytes;
    now += bytes;
    return block;
  }
  static void free(void* block) {
    now -= blocks.at(block);
    blocks.erase(block);
  }
  static size_t bytes_of(void* block) { return blocks.at(block); }
};

// Against a model that shares no code: no block is given twice, and the heap never has more than the program's own
// peak.
TEST(HeapBlockCacheRandom, NeverMoreThanTheProgramsPeak) {
  uint64_t reused = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    BlockCache cache({Addresses::allocate, Addresses::free, Addresses::bytes_of}, 64 * kMib);
    std::map<void*, size_t> used;
    uint64_t now = 0, most = 0;
    for (int step = 0; step < 2000; ++step) {
      if (used.empty() || (random() % 2 == 0 && used.size() < 12)) {
        const size_t bytes = (1 + random() % 40) * kMib / (1 + random() % 2) + random() % 3 * 4096;
        const uintptr_t newest = Addresses::next;
        void* const block = cache.allocate(bytes);
        reused += Addresses::next == newest;
        const size_t usable = Addresses::bytes_of(block);
        ASSERT_GE(usable, bytes);
        ASSERT_TRUE(used.emplace(block, usable).second);
        now += usable;
        most = std::max(most, now);
      } else {
        const auto at = std::next(used.begin(), static_cast<std::ptrdiff_t>(random() % used.size()));
        now -= at->second;
        cache.free(at->first, at->second);
        used.erase(at);
      }
      ASSERT_LE(cache.waiting(), 64 * kMib);
      ASSERT_EQ(Addresses::now, now + cache.waiting());
      ASSERT_LE(Addresses::now, most);
    }
    for (const auto& [block, bytes] : used) cache.free(block, bytes);
  }
  EXPECT_GT(reused, 500u);
}

TEST(HeapBlockCacheThreads, SeveralThreadsNeverHaveTheSameBlock) {
  Counted::reset();
  BlockCache cache({Counted::allocate, Counted::free, Counted::bytes_of}, 64 * kMib);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&cache, &wrong, thread] {
      std::mt19937 random(static_cast<uint32_t>(thread));
      std::vector<std::byte*> blocks;
      const auto mark = std::byte{static_cast<uint8_t>(thread)};
      for (int step = 0; step < 1000; ++step) {
        if (blocks.size() < 4 && random() % 2 == 0) {
          blocks.push_back(static_cast<std::byte*>(cache.allocate((1 + random() % 3) * kMib)));
          std::memset(blocks.back(), thread, 4096);
        } else if (!blocks.empty()) {
          wrong += static_cast<int>(std::count(blocks.back(), blocks.back() + 4096, mark) != 4096);
          cache.free(blocks.back(), Counted::bytes_of(blocks.back()));
          blocks.pop_back();
        }
      }
      for (std::byte* block : blocks) cache.free(block, Counted::bytes_of(block));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tapelens::heap
