// Requests and blocks. expandable.cpp handles expandable segments; release.cpp frees segments.
#include "analyzer/allocator/caching_allocator.h"

#include <algorithm>
#include <bit>

namespace tapelens::allocator {
namespace {

constexpr uint64_t kBlock = 512;              // sizes are multiples of it
constexpr uint64_t kLargestSmall = kMiB;      // requests up to here are of the small pool
constexpr uint64_t kSmallSegment = 2 * kMiB;  // size of the segments for small blocks
constexpr uint64_t kOwnSegment = 10 * kMiB;   // least size of a request that gets a separate segment
constexpr uint64_t kSegmentMultiple = 2 * kMiB;

uint64_t up_to_multiple(uint64_t bytes, uint64_t of) { return (bytes + of - 1) / of * of; }

// Rounds up to a multiple of 1/`divisions` of the power of two below.
uint64_t up_to_division(uint64_t bytes, uint64_t divisions) {
  if (std::has_single_bit(bytes)) return bytes;
  const uint64_t power = std::bit_floor(bytes);
  const uint64_t part = power >> (std::bit_width(divisions) - 1);
  return part == 0 ? power << 1 : (bytes + part - 1) & ~(part - 1);
}

}  // namespace

CachingAllocator::CachingAllocator(const AllocatorSettings& settings, Device& device, uint32_t allocations,
                                   uint64_t allowed)
    : settings_(settings), device_(device), allowed_(allowed), blocks_(1), block_of_(size_t{allocations} + 1, 0) {
  pools_.emplace_back(&memory_, true, PoolId{});
  pools_.emplace_back(&memory_, false, PoolId{});
  pool_numbers_.emplace(PoolId{}, 0);
}

uint64_t rounded(uint64_t bytes, const AllocatorSettings& settings) {
  if (bytes < kBlock) return kBlock;
  const uint64_t divisions = settings.divisions_of(bytes);
  return divisions > 1 && bytes > kBlock * divisions ? up_to_division(bytes, divisions) : up_to_multiple(bytes, kBlock);
}

CachingAllocator::Request CachingAllocator::request(uint64_t bytes, uint64_t stream, PoolId pool) {
  const uint64_t size = rounded(bytes);
  const bool small = size <= kLargestSmall;
  const uint64_t segment = small                ? kSmallSegment
                           : size < kOwnSegment ? settings_.large_segment_size
                                                : up_to_multiple(size, kSegmentMultiple);
  return {size, segment, stream, pool_of(pool, small)};
}

uint32_t CachingAllocator::pool_of(PoolId id, bool small) {
  if (!id.is_private()) return small ? 0 : 1;
  const auto [at, is_new] = pool_numbers_.try_emplace(id, static_cast<uint32_t>(pools_.size()));
  if (is_new) {
    pools_.emplace_back(&memory_, true, id);
    pools_.emplace_back(&memory_, false, id);
  }
  return at->second + (small ? 0 : 1);
}

bool CachingAllocator::allocate(Number number, uint64_t bytes, uint64_t stream, PoolId pool) {
  const Request asked = request(bytes, stream, pool);
  Keys& cached = pools_[asked.pool].cached;
  if (has_collection()) ++pools_[asked.pool].searches;
  Index block = 0;
  if (const auto found = best_fit(asked); found != cached.end()) {
    block = found->block;
    cached.erase(found);
  } else {
    for (const Index old : garbage()) release_segment(old);
    block = new_segment(asked);
    if (block == 0 && release_for(asked)) block = new_segment(asked);
    // PyTorch frees no segments while it captures a graph. (Before 2.15, also not for a torch.cuda.MemPool.)
    if (block == 0 && pool.graph == 0) {
      release_cached();
      block = new_segment(asked);
    }
  }
  if (block == 0) return false;
  give_out(number, block, asked.size);
  return true;
}

bool CachingAllocator::is_cached(uint64_t bytes, uint64_t stream, PoolId pool) {
  const Request asked = request(bytes, stream, pool);
  return best_fit(asked) != pools_[asked.pool].cached.end();
}

// The first cached block in the pool's order that is large enough. end() if the settings permit no such block.
CachingAllocator::Keys::iterator CachingAllocator::best_fit(const Request& request) {
  Keys& cached = pools_[request.pool].cached;
  const auto none = cached.end();
  const auto is_mine = [&](Keys::iterator at) { return at != none && at->stream == request.stream; };
  auto at = cached.lower_bound(Key{request.stream, request.size, 0, 0});
  if (!is_mine(at)) return none;
  if (blocks_[at->block].is_expandable) {
    if (settings_.expandable_segments) {
      // The size of an expandable block includes the unmapped block after it.
      const auto can_be = [&](Keys::iterator it) {
        const Piece& piece = blocks_[it->block];
        const Piece& after = blocks_[piece.after];
        return piece.size + (piece.after != 0 && !after.is_mapped ? after.size : 0);
      };
      for (auto next = std::next(at); blocks_[at->block].is_expandable && is_mine(next) && can_be(next) < can_be(at);
           ++next) {
        at = next;
      }
    } else {
      do {
        ++at;
      } while (is_mine(at) && blocks_[at->block].is_expandable);
      if (!is_mine(at)) return none;
    }
  }
  const bool is_large = request.size >= settings_.max_split_size;
  if (!is_large && at->size >= settings_.max_split_size) return none;
  if (is_large && at->size >= request.size + settings_.max_non_split_rounding) return none;
  return at;
}

CachingAllocator::Index CachingAllocator::new_block(const Piece& piece) {
  if (unused_ == 0) {
    blocks_.push_back(piece);
    return static_cast<Index>(blocks_.size() - 1);
  }
  const Index block = unused_;
  unused_ = blocks_[block].after;
  blocks_[block] = piece;
  return block;
}

void CachingAllocator::delete_block(Index block) {
  blocks_[block] = Piece{};
  blocks_[block].after = unused_;
  unused_ = block;
}

CachingAllocator::Key CachingAllocator::key(Index block) const {
  const Piece& piece = blocks_[block];
  const uint32_t age = settings_.order == Order::by_age ? ages_[piece.segment] : 0;
  return {piece.stream, piece.size, age, piece.address, block};
}

CachingAllocator::Key CachingAllocator::unmapped_key(Index block) const {
  const Piece& piece = blocks_[block];
  return {piece.stream, 0, 0, piece.address, block};
}

void CachingAllocator::cache(Index block) {
  Pool& pool = pools_[blocks_[block].pool];
  blocks_[block].age_base = pool.searches;
  pool.cached.insert(key(block));
}

// Merges a free neighbour into the block `into`. The block must be in no set of the pool; the caller adds the merged
// block to a set.
void CachingAllocator::merge(Index into, Index neighbour) {
  if (neighbour == 0) return;
  const Piece& other = blocks_[neighbour];
  Piece& piece = blocks_[into];
  if (other.is_used || other.is_mapped != piece.is_mapped) return;
  Pool& pool = pools_[piece.pool];
  if (other.is_mapped) {
    pool.cached.erase(key(neighbour));
  } else {
    pool.unmapped.erase(unmapped_key(neighbour));
  }
  if (piece.before == neighbour) {
    piece.address = other.address;
    piece.before = other.before;
    if (piece.before != 0) blocks_[piece.before].after = into;
  } else {
    piece.after = other.after;
    if (piece.after != 0) blocks_[piece.after].before = into;
  }
  piece.size += other.size;
  delete_block(neighbour);
}

bool CachingAllocator::should_split(const Piece& block, uint64_t size) const {
  const uint64_t rest = block.size - size;
  if (pools_[block.pool].is_small || settings_.expandable_segments) return rest >= kBlock;
  return size < settings_.max_split_size && rest > kLargestSmall;
}

void CachingAllocator::give_out(Number number, Index block, uint64_t size) {
  if (should_split(blocks_[block], size)) {
    Piece first = blocks_[block];
    first.size = size;
    first.after = block;
    const Index given = new_block(first);
    if (first.before != 0) blocks_[first.before].after = given;
    Piece& rest = blocks_[block];
    rest.before = given;
    rest.address += size;
    rest.size -= size;
    cache(block);
    block = given;
  }
  Piece& piece = blocks_[block];
  piece.is_used = true;
  piece.number = number;
  block_of_[number] = block;
}

void CachingAllocator::free(Number number) {
  const Index block = block_of_[number];
  if (block == 0) return;  // the allocator waited for it and freed it already
  block_of_[number] = 0;
  free_block(block);
}

void CachingAllocator::request_free(Number number) { waiting_.push_back(number); }

void CachingAllocator::free_block(Index block) {
  Piece& piece = blocks_[block];
  piece.is_used = false;
  piece.number = 0;
  merge(block, piece.before);
  merge(block, piece.after);
  cache(block);
}

uint32_t CachingAllocator::new_number() {
  const auto number = static_cast<uint32_t>(ages_.size());
  ages_.push_back(number);
  return number;
}

CachingAllocator::Index CachingAllocator::new_segment(const Request& request) {
  if (allowed_ != kNoLimit && reserved_ + request.segment_size > allowed_) return 0;
  if (settings_.expandable_segments) return expand(request);
  const std::optional<uint64_t> address = device_.allocate(request.segment_size);
  if (!address) return 0;
  changed(static_cast<int64_t>(request.segment_size));
  Piece piece;
  piece.address = *address;
  piece.size = request.segment_size;
  piece.stream = request.stream;
  piece.pool = request.pool;
  piece.segment = new_number();
  return new_block(piece);
}

void CachingAllocator::changed(int64_t bytes) {
  reserved_ += static_cast<uint64_t>(bytes);
  reserved_peak_ = std::max(reserved_peak_, reserved_);
}

std::vector<CachingAllocator::Segment> CachingAllocator::segments() const {
  std::vector<Segment> all;
  for (const Piece& first : blocks_) {
    // Starts at the first block of each mapped piece. Deleted blocks have size 0.
    if (first.size == 0 || !first.is_mapped || (first.before != 0 && blocks_[first.before].is_mapped)) continue;
    const Pool& pool = pools_[first.pool];
    Segment segment{first.address, 0, first.stream, pool.id, pool.is_small, first.is_expandable, {}};
    if (first.is_expandable) segment.base = base_of(first.address);
    for (const Piece* piece = &first;; piece = &blocks_[piece->after]) {
      segment.size += piece->size;
      segment.blocks.push_back({piece->address, piece->size, piece->number});
      if (piece->after == 0 || !blocks_[piece->after].is_mapped) break;
    }
    all.push_back(std::move(segment));
  }
  std::ranges::sort(all, {}, &Segment::address);
  return all;
}

}  // namespace tapelens::allocator
