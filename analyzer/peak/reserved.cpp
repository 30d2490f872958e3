#include "analyzer/peak/reserved.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

namespace tapelens::peak {
namespace {

using allocator::CachingAllocator;
using allocator::PoolId;

// A card with a number of bytes. A segment gets the address of the next recorded segment of its size, if that range is
// free, because addresses may decide which cached block is chosen. Otherwise it lies below all others.
class Card : public allocator::Device {
 public:
  Card(uint64_t bytes, const SegmentEvents& events, DeviceId device) : bytes_(bytes) {
    for (const SegmentEventId row : events.ids()) {
      if (events.device[row] != device || events.change[row] != SegmentChange::allocated) continue;
      const auto size = static_cast<uint64_t>(events.bytes[row].value);
      recorded_[size].push_back(events.address[row]);
      lowest_ = std::min(lowest_, events.address[row]);
    }
    for (auto& [size, addresses] : recorded_) std::ranges::reverse(addresses);
  }

  std::optional<uint64_t> allocate(uint64_t bytes) override {
    if (!take(bytes)) return std::nullopt;
    const uint64_t address = place_for(bytes);
    lowest_ = std::min(lowest_, address);
    there_[address] = address + bytes;
    return address;
  }
  void free(uint64_t address, uint64_t bytes) override {
    used_ -= bytes;
    there_.erase(address);
  }
  // Adds a segment from before the first request; false: it does not fit on the card.
  bool adopt(const CachingAllocator::Segment& segment) {
    if (!segment.is_expandable) there_[segment.address] = segment.address + segment.size;
    return take(segment.size);
  }
  uint64_t reserve_addresses() override {
    const uint64_t address = expandable_;
    expandable_ += allocator::kExpandableAddresses;
    return address;
  }
  bool map(uint64_t, uint64_t bytes) override { return take(bytes); }
  void unmap(uint64_t, uint64_t bytes) override { used_ -= bytes; }
  uint64_t used() const { return used_; }

 private:
  bool take(uint64_t bytes) {
    if (bytes > bytes_ - used_) return false;
    used_ += bytes;
    return true;
  }
  bool is_free(uint64_t address, uint64_t bytes) const {
    const auto behind = there_.lower_bound(address + bytes);
    return behind == there_.begin() || std::prev(behind)->second <= address;
  }
  uint64_t place_for(uint64_t bytes) {
    if (const auto of_size = recorded_.find(bytes); of_size != recorded_.end()) {
      for (std::vector<uint64_t>& left = of_size->second; !left.empty();) {
        const uint64_t address = left.back();
        left.pop_back();
        if (is_free(address, bytes)) return address;
      }
    }
    return lowest_ - bytes;
  }

  const uint64_t bytes_;
  uint64_t used_ = 0, expandable_ = uint64_t{1} << 60;
  uint64_t lowest_ = uint64_t{1} << 47;                           // lowest address of a segment
  std::unordered_map<uint64_t, std::vector<uint64_t>> recorded_;  // addresses by size, the next at the end
  std::map<uint64_t, uint64_t> there_;                            // begin to end, of each segment
};

// Frees and allocations at other times than recorded, in order of time.
struct Moved {
  Time time;
  uint32_t number = 0;  // the allocator's number of the block
  bool is_made = false;
  uint32_t row = 0;  // if made: the allocation that it replaces; else the changed allocation
  uint64_t bytes = 0;
};

class Run {
 public:
  Run(const Process& process, const DeviceRequests& requests, const ReservedSettings& settings, const Replayed* changed)
      : p_(process),
        requests_(requests),
        changed_(changed),
        numbers_(process.allocations.rows() + 1),
        moved_(moves()),
        card_(settings.card, process.segment_events, requests.device),
        allocator_(settings.settings, card_, numbers_, settings.allowed),
        block_of_(process.allocations.rows() + 1) {
    for (uint32_t row = 1; row <= p_.device_blocks.rows(); ++row) block_of_[p_.device_blocks.allocation.raw[row]] = row;
    is_as_it_was_ = settings.settings == requests.settings;
  }

  ReservedOutcome run() {
    if (!begin()) return out_;
    for (const Request& request : requests_.all) {
      while (next_ < moved_.size() && moved_[next_].time <= request.time) {
        if (!happens(moved_[next_++], request)) return out_;
      }
      if (!happens(request)) return out_;
    }
    return out_;
  }

 private:
  // Adds the segments from before the history unchanged, or, under other settings, as new requests.
  bool begin() {
    for (const CachingAllocator::Segment& segment : requests_.before) {
      if (is_as_it_was_ && !card_.adopt(segment)) return no_room(segment);
    }
    if (is_as_it_was_) allocator_.adopt(requests_.before);
    out_.peak = Bytes{static_cast<int64_t>(allocator_.reserved_peak())};
    for (const CachingAllocator::Segment& segment : requests_.before) {
      for (const CachingAllocator::Block& block : segment.blocks) {
        if (block.number == 0) continue;
        const bool is_there = is_changed_.empty() || is_changed_[block.number] != kNeverMade;
        if (is_as_it_was_ && !is_there) allocator_.free(block.number);
        if (is_as_it_was_ || !is_there) continue;
        const auto bytes = static_cast<uint64_t>(p_.allocations.bytes[AllocationId{block.number}].value);
        if (!allocate(block.number, bytes, block.number, {Time{}, block.number, Request::Kind::allocate})) return false;
      }
    }
    return true;
  }

  bool no_room(const CachingAllocator::Segment& segment) {
    const auto used = std::ranges::find_if(segment.blocks, [](const auto& block) { return block.number != 0; });
    const uint32_t row = used == segment.blocks.end() ? 0 : used->number;
    const Bytes bytes{static_cast<int64_t>(segment.size)};
    out_.failed = {{Time{}, row, Request::Kind::allocate}, bytes, Bytes{static_cast<int64_t>(card_.used())}};
    return false;
  }

  // The allocations with other lives than recorded, and the memory that replaces some.
  std::vector<Moved> moves() {
    std::vector<Moved> moved;
    if (changed_ == nullptr) return moved;
    is_changed_.resize(p_.allocations.rows() + 1);
    for (const auto& [allocation, end] : changed_->outcome.changed) {
      const bool is_made = end > p_.allocations.time[allocation];
      is_changed_[allocation.value] = is_made ? kEndsElsewhere : kNeverMade;
      if (is_made && end != kNever) moved.push_back({end, allocation.value, false, allocation.value, 0});
    }
    for (const WhatIf* change : changed_->changes) {
      for (const WhatIf::Extra& extra : change->extras) {
        if (extra.bytes.value <= 0 || extra.when.begin >= extra.when.end) continue;
        if (extra.instead_of && changed_->outcome.end(p_, extra.instead_of) >= p_.freed(extra.instead_of)) continue;
        ++numbers_;
        moved.push_back(
            {extra.when.begin, numbers_, true, extra.instead_of.value, static_cast<uint64_t>(extra.bytes.value)});
        if (extra.when.end != kNever) moved.push_back({extra.when.end, numbers_, false, 0, 0});
      }
    }
    std::ranges::stable_sort(moved, {}, &Moved::time);
    return moved;
  }

  bool allocate(uint32_t number, uint64_t bytes, uint32_t like, const Request& request) {
    const DeviceBlocks& b = p_.device_blocks;
    const DeviceBlockId block{block_of_[like]};
    const uint64_t stream = block ? b.stream[block] : 0;
    const PoolId pool = block ? PoolId{b.graph_pool[block], b.user_pool[block]} : PoolId{};
    const bool is_served = allocator_.allocate(number, bytes, stream, pool);
    if (const Bytes peak{static_cast<int64_t>(allocator_.reserved_peak())}; peak > out_.peak) {
      out_.peak = peak;
      out_.when = request.time;
    }
    if (is_served) return true;
    if (!out_.failed) {
      out_.failed = {request, Bytes{static_cast<int64_t>(allocator_.rounded(bytes))},
                     Bytes{static_cast<int64_t>(allocator_.reserved())}};
    }
    return false;
  }

  bool happens(const Moved& moved, const Request& before) {
    if (moved.is_made) return allocate(moved.number, moved.bytes, moved.row, before);
    allocator_.free(moved.number);
    return true;
  }

  bool happens(const Request& request) {
    const uint8_t changed =
        is_changed_.empty() || request.kind == Request::Kind::out_of_memory || request.kind == Request::Kind::give_back
            ? uint8_t{0}
            : is_changed_[request.row];
    switch (request.kind) {
      case Request::Kind::allocate:
        if (changed == kNeverMade) return true;
        return allocate(request.row, static_cast<uint64_t>(p_.allocations.bytes[AllocationId{request.row}].value),
                        request.row, request);
      case Request::Kind::request_free:
        if (changed == 0) allocator_.request_free(request.row);
        return true;
      case Request::Kind::free:
        if (changed == 0) allocator_.free(request.row);
        return true;
      case Request::Kind::give_back:
        allocator_.give_back(requests_.pools[request.row]);
        return true;
      case Request::Kind::out_of_memory:
        break;
    }
    const auto bytes = static_cast<uint64_t>(p_.out_of_memory.bytes[OutOfMemoryId{request.row}].value);
    const uint32_t number = p_.allocations.rows() + 1;
    if (allocate(number, bytes, 0, request)) {
      allocator_.free(number);
      ++out_.served;
    }
    return true;  // else as recorded: the program goes on, or ends
  }

  static constexpr uint8_t kNeverMade = 1, kEndsElsewhere = 2;

  const Process& p_;
  const DeviceRequests& requests_;
  const Replayed* changed_;
  std::vector<uint8_t> is_changed_;  // by allocation; empty: none changed
  uint32_t numbers_;                 // count of numbers: allocations, one for failed requests, replacements
  const std::vector<Moved> moved_;
  bool is_as_it_was_ = true;  // the settings equal the recorded ones
  size_t next_ = 0;
  Card card_;
  CachingAllocator allocator_;
  std::vector<uint32_t> block_of_;  // by allocation
  ReservedOutcome out_;
};

}  // namespace

ReservedOutcome ReservedReplay::run(const ReservedSettings& settings, const Replayed* changed) const {
  return Run(p_, requests_, settings, changed).run();
}

}  // namespace tapelens::peak
