// Expandable segments: a range of addresses whose pages are mapped on demand.
#include <algorithm>

#include "analyzer/allocator/caching_allocator.h"

namespace tapelens::allocator {
namespace {

constexpr uint64_t kSmallPage = 2 * kMiB;

}  // namespace

uint64_t CachingAllocator::page_of(uint32_t pool) const {
  return pools_[pool].is_small ? kSmallPage : settings_.large_segment_size;
}

// The first block of the lowest range of cached and unmapped blocks that is large enough. Without such a range,
// reserves addresses for a new segment.
CachingAllocator::Index CachingAllocator::find_expandable(const Request& request) {
  Keys& unmapped = pools_[request.pool].unmapped;
  for (auto at = unmapped.lower_bound(Key{request.stream, 0, 0, 0});
       at != unmapped.end() && at->stream == request.stream; ++at) {
    Index first = at->block;
    if (const Index before = blocks_[first].before; before != 0 && !blocks_[before].is_used) first = before;
    uint64_t room = 0;
    for (Index block = first; room < request.size && block != 0 && !blocks_[block].is_used;
         block = blocks_[block].after) {
      room += blocks_[block].size;
    }
    if (room >= request.size) return first;
  }
  Piece all;
  all.address = device_.reserve_addresses();
  all.size = kExpandableAddresses / page_of(request.pool) * page_of(request.pool);
  all.stream = request.stream;
  all.pool = request.pool;
  all.segment = new_number();
  all.is_mapped = false;
  all.is_expandable = true;
  const Index block = new_block(all);
  expandable_.insert(all.address);
  pools_[request.pool].unmapped.insert(unmapped_key(block));
  return block;
}

// Maps memory until a block has at least the requested size. The block is in no set of the pool. 0: out of memory.
CachingAllocator::Index CachingAllocator::expand(const Request& request) {
  Index block = find_expandable(request);
  if (!blocks_[block].is_mapped && !map(block, std::min(blocks_[block].size, request.size))) return 0;
  while (blocks_[block].size < request.size) {
    const Index next = blocks_[block].after;
    if (!map(next, std::min(request.size - blocks_[block].size, blocks_[next].size))) return 0;
    block = next;  // map() merged the previous block into it
  }
  pools_[request.pool].cached.erase(key(block));
  return block;
}

bool CachingAllocator::map(Index block, uint64_t size) {
  // An unmapped block begins at a page boundary.
  const uint64_t page = page_of(blocks_[block].pool);
  const uint64_t bytes = (size + page - 1) / page * page;
  if (!device_.map(blocks_[block].address, bytes)) return false;
  Pool& pool = pools_[blocks_[block].pool];
  pool.unmapped.erase(unmapped_key(block));
  if (bytes < blocks_[block].size) {
    Piece rest = blocks_[block];
    rest.address += bytes;
    rest.size -= bytes;
    rest.before = block;
    const Index behind = new_block(rest);
    if (rest.after != 0) blocks_[rest.after].before = behind;
    blocks_[block].after = behind;
    blocks_[block].size = bytes;
    pool.unmapped.insert(unmapped_key(behind));
  }
  blocks_[block].is_mapped = true;
  merge(block, blocks_[block].before);
  merge(block, blocks_[block].after);
  cache(block);
  changed(static_cast<int64_t>(bytes));
  return true;
}

// Pages count from the begin of the segment's addresses.
CachingAllocator::Range CachingAllocator::whole_pages(const Piece& piece) const {
  const uint64_t page = page_of(piece.pool);
  const uint64_t all = base_of(piece.address);
  const uint64_t begin = all + (piece.address - all + page - 1) / page * page;
  return {begin, std::max(begin, all + (piece.address + piece.size - all) / page * page)};
}

// Unmaps the whole pages of a cached block.
void CachingAllocator::unmap(Index block) {
  const Piece piece = blocks_[block];
  const auto [begin, end] = whole_pages(piece);
  if (begin >= end) return;
  Pool& pool = pools_[piece.pool];
  pool.cached.erase(key(block));
  const auto put = [&](uint64_t address, uint64_t size, Index before, Index after) {
    Piece rest = piece;
    rest.address = address;
    rest.size = size;
    rest.before = before;
    rest.after = after;
    const Index made = new_block(rest);
    if (before != 0) blocks_[before].after = made;
    if (after != 0) blocks_[after].before = made;
    cache(made);
  };
  if (begin > piece.address) put(piece.address, begin - piece.address, piece.before, block);
  if (const uint64_t rest = piece.address + piece.size - end; rest > 0) put(end, rest, block, piece.after);
  blocks_[block].address = begin;
  blocks_[block].size = end - begin;
  blocks_[block].is_mapped = false;
  merge(block, blocks_[block].before);
  merge(block, blocks_[block].after);
  device_.unmap(begin, end - begin);
  changed(-static_cast<int64_t>(end - begin));
  if (blocks_[block].before == 0 && blocks_[block].after == 0) {
    expandable_.erase(blocks_[block].address);
    delete_block(block);
  } else {
    pool.unmapped.insert(unmapped_key(block));
  }
}

}  // namespace tapelens::allocator
