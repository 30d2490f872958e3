// Takes over the segments that the allocator already has when a history begins.
#include <algorithm>

#include "analyzer/allocator/caching_allocator.h"

namespace tapelens::allocator {

void CachingAllocator::adopt(std::span<const Segment> segments) {
  while (!segments.empty()) {
    const Segment& first = segments.front();
    size_t count = 1;
    if (first.is_expandable) {
      while (count < segments.size() && segments[count].is_expandable && segments[count].base == first.base) ++count;
      adopt_range(segments.first(count));
    } else {
      adopt_blocks(first, new_number(), 0);
    }
    segments = segments.subspan(count);
  }
  adopted_ages_ = static_cast<uint32_t>(ages_.size()) - 1;
}

// Returns the segment's last block. `before`: the previous block in the same range of addresses.
CachingAllocator::Index CachingAllocator::adopt_blocks(const Segment& segment, uint32_t number, Index before) {
  adopted_[segment.address] = number;
  for (const Block& block : segment.blocks) {
    Piece piece;
    piece.address = block.address;
    piece.size = block.size;
    piece.stream = segment.stream;
    piece.before = before;
    piece.pool = pool_of(segment.pool, segment.is_small);
    piece.segment = number;
    piece.number = block.number;
    piece.is_used = block.number != 0;
    piece.is_expandable = segment.is_expandable;
    const Index made = new_block(piece);
    if (before != 0) blocks_[before].after = made;
    before = made;
    if (piece.is_used) {
      block_of_[block.number] = made;
    } else {
      cache(made);
    }
  }
  changed(static_cast<int64_t>(segment.size));
  return before;
}

void CachingAllocator::adopt_range(std::span<const Segment> pieces) {
  const Segment& first = pieces.front();
  const uint32_t number = new_number();
  const uint32_t pool = pool_of(first.pool, first.is_small);
  const uint64_t end = first.base + kExpandableAddresses / page_of(pool) * page_of(pool);
  expandable_.insert(first.base);
  Index before = 0;
  uint64_t at = first.base;
  const auto leave_unmapped = [&](uint64_t to) {
    if (at >= to) return;
    Piece hole;
    hole.address = at;
    hole.size = to - at;
    hole.stream = first.stream;
    hole.before = before;
    hole.pool = pool;
    hole.segment = number;
    hole.is_mapped = false;
    hole.is_expandable = true;
    const Index made = new_block(hole);
    if (before != 0) blocks_[before].after = made;
    before = made;
    pools_[pool].unmapped.insert(unmapped_key(made));
  };
  for (const Segment& piece : pieces) {
    leave_unmapped(piece.address);
    before = adopt_blocks(piece, number, before);
    at = piece.address + piece.size;
  }
  leave_unmapped(end);
}

bool CachingAllocator::learn_age(uint64_t bytes, uint64_t stream, PoolId pool, uint64_t given) {
  const Request asked = request(bytes, stream, pool);
  Keys& cached = pools_[asked.pool].cached;
  const auto first = best_fit(asked);
  if (settings_.order != Order::by_age || first == cached.end() || first->address == given) return false;
  auto wanted = first;
  while (wanted != cached.end() && wanted->stream == first->stream && wanted->size == first->size &&
         wanted->address != given) {
    ++wanted;
  }
  if (wanted == cached.end() || wanted->stream != first->stream || wanted->address != given) return false;
  const uint32_t young = first->age, old = wanted->age;
  if (wanted->size != first->size || old == young || std::max(old, young) > adopted_ages_) return false;
  // The segment of `wanted` gets the age of the segment of `first`. Segments between them become one step younger.
  for (uint32_t& age : ages_) {
    if (age == old) {
      age = young;
    } else if (age >= young && age < old) {
      ++age;
    }
  }
  for (uint32_t i = 0; i < pools_.size(); ++i) cache_again(i);
  return true;
}

// Sorts the cached blocks again after the ages of segments changed.
void CachingAllocator::cache_again(uint32_t pool) {
  std::vector<Index> blocks;
  for (const Key& cached : pools_[pool].cached) blocks.push_back(cached.block);
  pools_[pool].cached.clear();
  for (const Index block : blocks) pools_[pool].cached.insert(key(block));
}

}  // namespace tapelens::allocator
