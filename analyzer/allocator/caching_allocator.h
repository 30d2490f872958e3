// A model of PyTorch's caching allocator of one CUDA device that allocates no memory. It maps each request to a block
// of a segment. It makes the choices of c10/cuda/CUDACachingAllocator.cpp in the same order, so that recorded requests
// yield the recorded segments and blocks, byte by byte.
//
// The device chooses the addresses of segments, and decides when memory is exhausted. `Device` answers both: from a
// recording, or for a given number of bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "analyzer/allocator/settings.h"

namespace tapelens::allocator {

// A private pool, with PyTorch's numbers: the pool of a captured graph, or of a torch.cuda.MemPool. 0, 0: none.
struct PoolId {
  uint32_t graph = 0, user = 0;
  auto operator<=>(const PoolId&) const = default;
  bool is_private() const { return graph != 0 || user != 0; }
};

// The source of segments. Addresses are not 0.
class Device {
 public:
  virtual ~Device() = default;
  // A segment, or none: out of memory.
  virtual std::optional<uint64_t> allocate(uint64_t bytes) = 0;
  virtual void free(uint64_t address, uint64_t bytes) = 0;
  // Addresses for an expandable segment, as many as kExpandableAddresses. This reserves no memory.
  virtual uint64_t reserve_addresses() = 0;
  // False: out of memory.
  virtual bool map(uint64_t address, uint64_t bytes) = 0;
  virtual void unmap(uint64_t address, uint64_t bytes) = 0;
};

// More than the memory of any device; PyTorch reserves 9/8 of the device's memory.
inline constexpr uint64_t kExpandableAddresses = uint64_t{1} << 44;

// The size of the block that a request searches for; it may be larger than the request.
uint64_t rounded(uint64_t bytes, const AllocatorSettings& settings);

class CachingAllocator {
 public:
  // The caller identifies each allocation by a number from 1 to `allocations`. Live allocations have different numbers.
  using Number = uint32_t;

  // `allowed`: the process's limit on the device (torch.cuda.set_per_process_memory_fraction). Without a limit the
  // allocator collects no garbage. The device must outlive the allocator.
  CachingAllocator(const AllocatorSettings& settings, Device& device, uint32_t allocations,
                   uint64_t allowed = kNoLimit);

  // False: out of memory, after the allocator freed the cached segments.
  bool allocate(Number number, uint64_t bytes, uint64_t stream, PoolId pool);
  // Whether a cached block is large enough for the request.
  bool is_cached(uint64_t bytes, uint64_t stream, PoolId pool);
  void free(Number number);
  // The program freed the block, and other streams still use it: until free(), or until the allocator waits for them.
  void request_free(Number number);

  // torch.cuda.empty_cache(): waits for the streams, then frees the cached segments.
  void empty_cache();
  // Frees the cached segments of one pool. From now on the allocator may free a private pool when memory runs out.
  void give_back(PoolId pool);
  // The bytes that give_back() would free.
  uint64_t could_give_back(PoolId pool) const;
  // The bytes that garbage collection would free if the next request needed a segment.
  uint64_t could_collect() const;

  uint64_t reserved() const { return reserved_; }
  uint64_t reserved_peak() const { return reserved_peak_; }
  // The address of an allocation; 0: it is not allocated.
  uint64_t address_of(Number number) const { return blocks_[block_of_[number]].address; }
  uint64_t bytes_of(Number number) const { return blocks_[block_of_[number]].size; }

  uint64_t rounded(uint64_t bytes) const { return allocator::rounded(bytes, settings_); }

  // The reserved memory by address: segments, and each mapped piece of expandable segments.
  struct Block {
    uint64_t address, size;
    Number number;  // 0: cached
  };
  struct Segment {
    uint64_t address, size, stream;
    PoolId pool;
    bool is_small, is_expandable;
    std::vector<Block> blocks;  // cover the whole segment
    uint64_t base = 0;          // expandable segments: start of the address range that contains it
  };
  std::vector<Segment> segments() const;
  // Adds existing segments, the oldest first, before the first allocation. Two cached blocks must not touch. Pieces of
  // one address range must be in the order of addresses.
  void adopt(std::span<const Segment> segments);
  // The ages of adopted segments may be wrong. If PyTorch chose the cached block at `given`, and the model would choose
  // another one of the same size, the segment of `given` becomes the older one. False: ages do not explain the
  // difference.
  bool learn_age(uint64_t bytes, uint64_t stream, PoolId pool, uint64_t given);
  // The age of the adopted segment that begins at `address`; 1 is the oldest.
  uint32_t age_of(uint64_t address) const { return ages_[adopted_.at(address)]; }

 private:
  using Index = uint32_t;  // index of a block; 0: none
  struct Piece {
    uint64_t address = 0, size = 0, stream = 0;
    int64_t age_base = 0;
    Index before = 0, after = 0;  // neighbours in the segment
    uint32_t pool = 0;
    uint32_t segment = 0;  // the segment's number
    Number number = 0;
    bool is_used = false, is_mapped = true, is_expandable = false;
  };
  // Cached blocks in search order.
  struct Key {
    uint64_t stream, size;
    uint32_t age;  // the segment's age, older first; 0 if addresses decide
    uint64_t address;
    Index block = 0;
    auto operator<=>(const Key&) const = default;
  };
  using Keys = std::pmr::set<Key>;
  struct Pool {
    Pool(std::pmr::memory_resource* memory, bool small, PoolId of)
        : cached(memory), unmapped(memory), is_small(small), id(of) {}
    Keys cached, unmapped;  // keys of `unmapped` have size and segment 0
    bool is_small;
    PoolId id;
    bool is_released = false;
    int64_t searches = 0;
  };
  struct Request {
    uint64_t size, segment_size, stream;
    uint32_t pool;
  };

  Request request(uint64_t bytes, uint64_t stream, PoolId pool);
  uint32_t pool_of(PoolId id, bool small);
  bool has_collection() const { return allowed_ != kNoLimit && settings_.garbage_collection_threshold > 0; }
  Keys::iterator best_fit(const Request& request);

  Index new_block(const Piece& piece);
  void delete_block(Index block);
  Key key(Index block) const;
  Key unmapped_key(Index block) const;
  bool is_split(const Piece& piece) const { return piece.before != 0 || piece.after != 0; }
  void cache(Index block);
  void merge(Index into, Index neighbour);
  bool should_split(const Piece& block, uint64_t size) const;
  void give_out(Number number, Index block, uint64_t size);
  void free_block(Index block);

  uint32_t new_number();
  Index new_segment(const Request& request);
  Index expand(const Request& request);
  Index find_expandable(const Request& request);
  uint64_t page_of(uint32_t pool) const;
  bool map(Index block, uint64_t size);
  void adopt_range(std::span<const Segment> pieces);
  Index adopt_blocks(const Segment& segment, uint32_t number, Index before);
  void unmap(Index block);
  struct Range {
    uint64_t begin, end;
  };
  Range whole_pages(const Piece& piece) const;
  uint64_t base_of(uint64_t address) const { return *std::prev(expandable_.upper_bound(address)); }

  std::vector<Index> garbage() const;
  bool is_whole(Index block) const { return !is_split(blocks_[block]) && !blocks_[block].is_expandable; }
  bool release_for(const Request& request);
  void release_cached();
  void release_pool_blocks(uint32_t pool);
  void release_segment(Index block);
  void changed(int64_t bytes);

  void cache_again(uint32_t pool);

  const AllocatorSettings settings_;
  Device& device_;
  const uint64_t allowed_;
  std::pmr::unsynchronized_pool_resource memory_;
  std::vector<Piece> blocks_;  // 0: none
  Index unused_ = 0;           // deleted blocks, linked by `after`
  std::vector<Index> block_of_;
  std::vector<Number> waiting_;
  std::vector<Pool> pools_;  // small and large alternate; the pools that are not private come first
  std::map<PoolId, uint32_t> pool_numbers_;
  std::set<uint64_t> expandable_;         // starts of the address ranges of expandable segments
  std::vector<uint32_t> ages_{0};         // by segment number
  uint32_t adopted_ages_ = 0;             // number of the adopted segments' ages, which are the oldest
  std::map<uint64_t, uint32_t> adopted_;  // numbers of the adopted segments, by address
  uint64_t reserved_ = 0, reserved_peak_ = 0;
};

}  // namespace tapelens::allocator
