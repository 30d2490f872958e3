// The pinned memory that offloaded versions take: its limit, and the pieces of one version.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

namespace tapelens::versions {

// For all threads, without a lock.
class HostMemory {
 public:
  explicit HostMemory(uint64_t limit) : limit_(limit) {}

  // False, without a change: the limit has no room for so many bytes.
  bool take(uint64_t bytes) {
    uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit_.load(std::memory_order_relaxed) || used > limit_.load(std::memory_order_relaxed) - bytes)
        return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void give(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  // The system refused more: the limit becomes the used bytes.
  void is_full() { limit_.store(used(), std::memory_order_relaxed); }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> limit_;
  std::atomic<uint64_t> used_{0};
};

// PyTorch's allocator of pinned memory rounds a size up to a power of two. So the bytes of a version lie in blocks of
// such sizes, in descending order: at most kSmaller times too small ones remain to be rounded up, an eighth at most.
inline std::vector<uint64_t> pinned_blocks(uint64_t bytes) {
  constexpr uint64_t kSmallest = 8;  // parts of the first block
  std::vector<uint64_t> blocks;
  if (bytes == 0) return blocks;
  const uint64_t least = std::max<uint64_t>(std::bit_floor(bytes) / kSmallest, 1);
  while (bytes >= least) {
    blocks.push_back(std::bit_floor(bytes));
    bytes -= blocks.back();
  }
  if (bytes > 0) blocks.push_back(least);
  return blocks;
}

}  // namespace tapelens::versions
