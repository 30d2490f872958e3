// Frees segments: on the program's request, in garbage collection, and when memory runs out.
#include <algorithm>

#include "analyzer/allocator/caching_allocator.h"

namespace tapelens::allocator {

void CachingAllocator::empty_cache() { release_cached(); }

void CachingAllocator::give_back(PoolId id) {
  const uint32_t small = pool_of(id, true), large = pool_of(id, false);
  release_pool_blocks(large);
  release_pool_blocks(small);
  pools_[small].is_released = pools_[large].is_released = true;
}

uint64_t CachingAllocator::could_give_back(PoolId id) const {
  const auto found = pool_numbers_.find(id);
  if (found == pool_numbers_.end()) return 0;
  uint64_t bytes = 0;
  for (const uint32_t pool : {found->second, found->second + 1}) {
    for (const Key& cached : pools_[pool].cached) {
      const Piece& piece = blocks_[cached.block];
      if (piece.is_expandable) {
        const auto [begin, end] = whole_pages(piece);
        bytes += end - begin;
      } else if (!is_split(piece)) {
        bytes += piece.size;
      }
    }
  }
  return bytes;
}

void CachingAllocator::release_segment(Index block) {
  const Piece piece = blocks_[block];
  pools_[piece.pool].cached.erase(key(block));
  delete_block(block);
  device_.free(piece.address, piece.size);
  changed(-static_cast<int64_t>(piece.size));
}

// The cached segments of the large pool to free until the reserved bytes do not exceed the threshold. Segments with at
// least the average age come first.
std::vector<CachingAllocator::Index> CachingAllocator::garbage() const {
  std::vector<Index> found;
  if (!has_collection()) return found;
  const auto threshold = static_cast<uint64_t>(settings_.garbage_collection_threshold * static_cast<double>(allowed_));
  if (reserved_ <= threshold) return found;
  const uint64_t wanted = reserved_ - threshold;
  struct Candidate {
    Index block;
    uint64_t age;
  };
  std::vector<Candidate> left;
  const Pool& large = pools_[1];
  uint64_t ages = 0, collected = 0;
  for (const Key& cached : large.cached) {
    if (!is_whole(cached.block)) continue;
    // PyTorch counts ages in 32 bits.
    const auto age = static_cast<uint64_t>(static_cast<int32_t>(large.searches - blocks_[cached.block].age_base));
    left.push_back({cached.block, age});
    ages += age;
  }
  bool was_one = true;
  while (collected < wanted && was_one && !left.empty()) {
    const double old = static_cast<double>(ages) / static_cast<double>(left.size());
    was_one = false;
    std::erase_if(left, [&](const Candidate& candidate) {
      if (static_cast<double>(candidate.age) < old) return false;
      was_one = true;
      collected += blocks_[candidate.block].size;
      ages -= candidate.age;
      found.push_back(candidate.block);
      return true;
    });
  }
  return found;
}

uint64_t CachingAllocator::could_collect() const {
  uint64_t bytes = 0;
  for (const Index block : garbage()) bytes += blocks_[block].size;
  return bytes;
}

// Frees cached blocks that are too large to be split, until their bytes are enough for the request. False: they are not
// enough.
bool CachingAllocator::release_for(const Request& request) {
  if (settings_.max_split_size == kNoLimit) return false;
  Keys& cached = pools_[request.pool].cached;
  const uint64_t size = std::max(request.size, settings_.max_split_size);
  auto at = cached.lower_bound(Key{request.stream, size, 0, 0});
  if (at != cached.end() && at->stream == request.stream) {
    if (blocks_[at->block].is_expandable) return false;
    release_segment(at->block);
    return true;
  }
  uint64_t released = 0;
  while (released < size && at != cached.begin()) {
    const Key largest = *std::prev(at);
    if (largest.size < settings_.max_split_size || largest.stream != request.stream) break;
    if (blocks_[largest.block].is_expandable) {
      --at;
      continue;
    }
    released += largest.size;
    release_segment(largest.block);
  }
  return released >= size;
}

// Frees all segments without a live block. First waits for the streams that still use freed blocks.
void CachingAllocator::release_cached() {
  for (const Number number : waiting_) free(number);
  waiting_.clear();
  release_pool_blocks(1);
  release_pool_blocks(0);
  for (uint32_t pool = 2; pool < pools_.size(); ++pool) {
    if (pools_[pool].is_released) release_pool_blocks(pool);
  }
}

void CachingAllocator::release_pool_blocks(uint32_t pool) {
  std::vector<Index> expandable;
  Keys& cached = pools_[pool].cached;
  for (auto at = cached.begin(); at != cached.end();) {
    const Index block = (at++)->block;
    if (blocks_[block].is_expandable) {
      expandable.push_back(block);
    } else if (is_whole(block)) {
      release_segment(block);
    }
  }
  for (const Index block : expandable) unmap(block);
}

}  // namespace tapelens::allocator
