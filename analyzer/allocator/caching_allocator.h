// PyTorch's caching allocator of one CUDA device, as a model that gives out no memory: what is asked for goes in, and
// which block of which segment it gets comes out. It makes the choices of c10/cuda/CUDACachingAllocator.cpp, in its
// order, so that a recorded run of requests gives the recorded segments and blocks, byte by byte.
//
// Where a segment lies is the device's answer, not the allocator's; so is that there is no memory left. `Device` gives
// both: that of a recording, or one of so many bytes.
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

// A private pool, as PyTorch numbers them: of a graph that is captured, of a torch.cuda.MemPool. 0, 0: none.
struct PoolId {
  uint32_t graph = 0, user = 0;
  auto operator<=>(const PoolId&) const = default;
  bool is_private() const { return graph != 0 || user != 0; }
};

// Where memory comes from. Addresses are not 0.
class Device {
 public:
  virtual ~Device() = default;
  // A segment, or none: out of memory.
  virtual std::optional<uint64_t> allocate(uint64_t bytes) = 0;
  virtual void free(uint64_t address, uint64_t bytes) = 0;
  // Addresses for an expandable segment, as many as kExpandableAddresses; nothing is reserved by it.
  virtual uint64_t reserve_addresses() = 0;
  // False: out of memory.
  virtual bool map(uint64_t address, uint64_t bytes) = 0;
  virtual void unmap(uint64_t address, uint64_t bytes) = 0;
};

// More than a device has; PyTorch takes 9/8 of what it has.
inline constexpr uint64_t kExpandableAddresses = uint64_t{1} << 44;

// What a request becomes before a block is looked for, which may be larger.
uint64_t rounded(uint64_t bytes, const Settings& settings);

class CachingAllocator {
 public:
  // Who asks names each of its allocations by a number, from 1 to `allocations`, which is no other's as long as it
  // lives.
  using Number = uint32_t;

  // `allowed`: what the process may have of the device (torch.cuda.set_per_process_memory_fraction); without it there
  // is no garbage collection. The device outlives it.
  CachingAllocator(const Settings& settings, Device& device, uint32_t allocations, uint64_t allowed = kNoLimit);

  // False: out of memory; what had been cached was given back before.
  bool allocate(Number number, uint64_t bytes, uint64_t stream, PoolId pool);
  // Whether a cached block would be found for it.
  bool is_cached(uint64_t bytes, uint64_t stream, PoolId pool);
  void free(Number number);
  // The program gave it back, and other streams still use it: until free(), or until the allocator waits for them.
  void request_free(Number number);

  // torch.cuda.empty_cache(): waits for the streams, then gives back what is cached.
  void empty_cache();
  // Gives back what is cached in one pool. A private one may be given back from now on whenever there is no memory.
  void give_back(PoolId pool);
  // What give_back() would.
  uint64_t could_give_back(PoolId pool) const;
  // What garbage collection would, if the next request needed a segment.
  uint64_t could_collect() const;

  uint64_t reserved() const { return reserved_; }
  uint64_t reserved_peak() const { return reserved_peak_; }
  // Of what is allocated; 0: it is not.
  uint64_t address_of(Number number) const { return blocks_[block_of_[number]].address; }
  uint64_t bytes_of(Number number) const { return blocks_[block_of_[number]].size; }

  uint64_t rounded(uint64_t bytes) const { return allocator::rounded(bytes, settings_); }

  // What is reserved: a segment each, of an expandable one each piece that is mapped. By address.
  struct Block {
    uint64_t address, size;
    Number number;  // 0: cached
  };
  struct Segment {
    uint64_t address, size, stream;
    PoolId pool;
    bool is_small, is_expandable;
    std::vector<Block> blocks;  // all of it
    uint64_t base = 0;          // of an expandable one: where the addresses begin that it is mapped in
  };
  std::vector<Segment> segments() const;
  // What there is already, in the order of its age; before anything is allocated. Cached blocks do not touch, and
  // pieces of one range of addresses follow each other in the order of addresses.
  void adopt(std::span<const Segment> segments);
  // The ages of adopted segments may be wrong. PyTorch gave out the cached block at `given`, the model would give out
  // another of the same size: the segment of `given` becomes the older one. False: ages do not explain the difference.
  bool learn_age(uint64_t bytes, uint64_t stream, PoolId pool, uint64_t given);
  // How old the adopted segment is that begins there: 1 the oldest.
  uint32_t age_of(uint64_t address) const { return ages_[adopted_.at(address)]; }

 private:
  using Index = uint32_t;  // of a block; 0: none
  struct Piece {
    uint64_t address = 0, size = 0, stream = 0;
    int64_t age_base = 0;
    Index before = 0, after = 0;  // in its segment
    uint32_t pool = 0;
    uint32_t segment = 0;  // its number
    Number number = 0;
    bool is_used = false, is_mapped = true, is_expandable = false;
  };
  // Cached blocks in the order in which they are looked through.
  struct Key {
    uint64_t stream, size;
    uint32_t age;  // of its segment: older ones first; 0 where addresses decide
    uint64_t address;
    Index block = 0;
    auto operator<=>(const Key&) const = default;
  };
  using Keys = std::pmr::set<Key>;
  struct Pool {
    Pool(std::pmr::memory_resource* memory, bool small, PoolId of)
        : cached(memory), unmapped(memory), is_small(small), id(of) {}
    Keys cached, unmapped;  // of the second, size and segment are 0 in each key
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

  const Settings settings_;
  Device& device_;
  const uint64_t allowed_;
  std::pmr::unsynchronized_pool_resource memory_;
  std::vector<Piece> blocks_;  // 0: none
  Index unused_ = 0;           // deleted ones, linked by `after`
  std::vector<Index> block_of_;
  std::vector<Number> waiting_;
  std::vector<Pool> pools_;  // small and large by turns; first those that are not private
  std::map<PoolId, uint32_t> pool_numbers_;
  std::set<uint64_t> expandable_;         // where the addresses of such segments begin
  std::vector<uint32_t> ages_{0};         // by the number of a segment
  uint32_t adopted_ages_ = 0;             // the oldest are theirs
  std::map<uint64_t, uint32_t> adopted_;  // numbers of the segments that there were, by address
  uint64_t reserved_ = 0, reserved_peak_ = 0;
};

}  // namespace tapelens::allocator
