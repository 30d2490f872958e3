#include "profiler/heap/block_cache.h"

#include <algorithm>

namespace tapelens::heap {
namespace {

// A block may have so many bytes more than its next use requests: the heap rounds to pages and to its alignment.
constexpr size_t kRounding = 8192;

}  // namespace

BlockCache::BlockCache(Heap heap, uint64_t limit) : heap_(heap), limit_(limit) { blocks_.reserve(limit / kLeast); }

BlockCache::~BlockCache() {
  const base::MutexLock guard(lock_);
  shrink(0);
}

void* BlockCache::allocate(size_t bytes) {
  {
    const base::MutexLock guard(lock_);
    if (void* block = take(bytes)) return block;
    used_ += bytes;
    shrink(most_used_ > used_ ? most_used_ - used_ : 0);
  }
  void* block = nullptr;
  try {
    block = allocate_new(bytes);
  } catch (...) {
    const base::MutexLock guard(lock_);
    used_ -= std::min<uint64_t>(used_, bytes);
    throw;
  }
  const base::MutexLock guard(lock_);
  used_ += heap_.bytes_of(block) - bytes;
  most_used_ = std::max(most_used_, used_);
  return block;
}

void* BlockCache::allocate_new(size_t bytes) {
  try {
    return heap_.allocate(bytes);
  } catch (...) {
    const base::MutexLock guard(lock_);
    if (blocks_.empty()) throw;
    shrink(0);
  }
  return heap_.allocate(bytes);
}

void BlockCache::free(void* block, size_t bytes) noexcept {
  {
    const base::MutexLock guard(lock_);
    used_ -= std::min<uint64_t>(used_, bytes);
    if (bytes >= kLeast && bytes < kMost && bytes <= limit_) {
      shrink(limit_ - bytes);
      if (used_ + waiting_ + bytes <= most_used_) {
        blocks_.push_back({block, bytes});
        waiting_ += bytes;
        return;
      }
    }
  }
  heap_.free(block);
}

uint64_t BlockCache::waiting() const {
  const base::MutexLock guard(lock_);
  return waiting_;
}

void* BlockCache::take(size_t bytes) {
  // The newest first: its memory may still be in the processor's cache.
  const auto found = std::find_if(blocks_.rbegin(), blocks_.rend(), [bytes](const Block& block) {
    return block.bytes >= bytes && block.bytes - bytes < kRounding;
  });
  if (found == blocks_.rend()) return nullptr;
  void* const block = found->at;
  waiting_ -= found->bytes;
  used_ += found->bytes;
  blocks_.erase(std::next(found).base());
  return block;
}

void BlockCache::shrink(uint64_t most) {
  size_t freed = 0;
  for (; waiting_ > most; ++freed) {
    waiting_ -= blocks_[freed].bytes;
    heap_.free(blocks_[freed].at);
  }
  blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(freed));
}

}  // namespace tapelens::heap
