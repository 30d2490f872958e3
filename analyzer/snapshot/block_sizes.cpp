#include "analyzer/snapshot/block_sizes.h"

#include <algorithm>

#include "analyzer/allocator/caching_allocator.h"

namespace tapelens::snapshot {

namespace {
constexpr uint64_t kLargestSmall = allocator::kMiB;  // largest request for a block of the small pool
}

// The allocator splits a free block, except if the remainder would be too small to use. Then the request gets the whole
// block.
uint64_t BlockSizes::bytes_of(uint64_t address, uint64_t requested, const Pieces& pieces) const {
  const uint64_t size = allocator::rounded(requested, settings_);
  if (size <= kLargestSmall || settings_.expandable_segments) return size;
  const Piece* piece = pieces.at(address);
  if (piece == nullptr || piece->is_expandable || piece->end() - address <= size) return size;
  uint64_t end = piece->end();
  if (const auto next = large_.upper_bound(address); next != large_.end()) end = std::min(end, next->first);
  if (end - address < size) return size;
  const bool is_split = size < settings_.max_split_size && end - address - size > kLargestSmall;
  return is_split ? size : end - address;
}

void BlockSizes::add(uint64_t address, uint64_t bytes) {
  if (bytes > kLargestSmall) large_[address] = bytes;
}

void BlockSizes::remove(uint64_t address, uint64_t bytes) {
  if (bytes > kLargestSmall) large_.erase(address);
}

}  // namespace tapelens::snapshot
