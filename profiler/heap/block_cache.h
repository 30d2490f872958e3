// Freed blocks of the C library's heap that wait for the next allocation of their size.
//
// Rewrites free saved tensors early, and allocate them again for the backward. The C library returns large blocks to
// the system, and the kernel fills each page with zeros before its next use: the program would wait for that.
//
// The cache never raises the peak: the blocks that wait and those in use have together at most the bytes that the
// program used at once. Blocks that do not fit into that are freed before the heap allocates, the oldest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/mutex.h"

namespace tapelens::heap {

// The functions of the heap. None of them calls the cache.
struct Heap {
  void* (*allocate)(size_t bytes);  // never null; may throw
  void (*free)(void* block);
  size_t (*bytes_of)(void* block);  // that may be used: as many as requested, or some more
};

// Callable from any thread, but not in a forked child. Its lock is held during calls of Heap::free, and is else a leaf.
class BlockCache {
 public:
  // Smaller blocks stay in the C library's own heap. For larger ones glibc always asks the system (its
  // DEFAULT_MMAP_THRESHOLD_MAX), so they begin as zeros, and a program may rely on that by mistake.
  static constexpr size_t kLeast = size_t{1} << 20, kMost = size_t{32} << 20;

  // `limit`: the most bytes that wait.
  BlockCache(Heap heap, uint64_t limit);
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;
  ~BlockCache();

  // Throws what the heap throws, if it has no memory after all waiting blocks were freed.
  void* allocate(size_t bytes) TAPELENS_EXCLUDES(lock_);
  // `bytes`: Heap::bytes_of(block). The block may be older than the cache.
  void free(void* block, size_t bytes) noexcept TAPELENS_EXCLUDES(lock_);

  uint64_t waiting() const TAPELENS_EXCLUDES(lock_);  // bytes

 private:
  struct Block {
    void* at;
    size_t bytes;
  };

  void* allocate_new(size_t bytes) TAPELENS_EXCLUDES(lock_);
  void* take(size_t bytes) TAPELENS_REQUIRES(lock_);  // null: no block of this size waits
  // Frees the oldest blocks until at most `most` bytes wait.
  void shrink(uint64_t most) TAPELENS_REQUIRES(lock_);

  const Heap heap_;
  const uint64_t limit_;
  mutable base::Mutex lock_;
  std::vector<Block> blocks_ TAPELENS_GUARDED_BY(lock_);  // that wait, the oldest first; never grows
  uint64_t waiting_ TAPELENS_GUARDED_BY(lock_) = 0, used_ TAPELENS_GUARDED_BY(lock_) = 0;
  uint64_t most_used_ TAPELENS_GUARDED_BY(lock_) = 0;
};

}  // namespace tapelens::heap
