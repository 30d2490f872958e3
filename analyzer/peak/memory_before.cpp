#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/peak/requests.h"

namespace tapelens::peak {
namespace {

using allocator::CachingAllocator;
using allocator::kExpandableAddresses;
using allocator::kMiB;
using Segment = CachingAllocator::Segment;
using Block = CachingAllocator::Block;

constexpr uint64_t kSmallPoolSegment = 2 * kMiB;

allocator::PoolId pool_of(const SegmentEvents& events, SegmentEventId row) {
  return {events.graph_pool[row], events.user_pool[row]};
}

// Adjacent pieces of an expandable segment become one segment.
std::vector<Segment> segments_before(const Process& p, DeviceId device) {
  const SegmentEvents& events = p.segment_events;
  std::vector<Segment> all;
  for (const SegmentEventId row : events.ids()) {
    if (!is_before(p, events.time[row])) break;
    if (events.device[row] != device) continue;
    const bool is_expandable = events.change[row] == SegmentChange::mapped;
    all.push_back({events.address[row],
                   static_cast<uint64_t>(events.bytes[row].value),
                   events.stream[row],
                   pool_of(events, row),
                   false,
                   is_expandable,
                   {}});
  }
  std::ranges::sort(all, {}, &Segment::address);
  std::vector<Segment> joined;
  for (Segment& one : all) {
    const bool goes_on = !joined.empty() && one.is_expandable && joined.back().is_expandable &&
                         joined.back().address + joined.back().size == one.address &&
                         joined.back().stream == one.stream && joined.back().pool == one.pool;
    if (goes_on) {
      joined.back().size += one.size;
    } else {
      joined.push_back(std::move(one));
    }
  }
  return joined;
}

std::vector<Block> blocks_before(const Process& p, DeviceId device) {
  const DeviceBlocks& b = p.device_blocks;
  std::vector<Block> all;
  for (const DeviceBlockId row : b.ids()) {
    const AllocationId of = b.allocation[row];
    if (!is_before(p, p.allocations.time[of])) break;
    if (p.allocations.device[of] != device) continue;
    all.push_back({b.address[row], static_cast<uint64_t>(b.rounded[row].value), of.value});
  }
  std::ranges::sort(all, {}, &Block::address);
  return all;
}

// The small pool has segments of 2 MiB and pages of 2 MiB. The size decides for an expandable segment without blocks.
bool is_small(const Segment& segment, const allocator::AllocatorSettings& settings) {
  if (!segment.is_expandable) return segment.size == kSmallPoolSegment;
  for (const Block& block : segment.blocks) {
    if (block.number != 0) return block.size <= kMiB;
  }
  return segment.size % settings.large_segment_size != 0;
}

// Expandable segments of one pool of one stream share a range of addresses.
using RangeOwner = std::tuple<uint64_t, allocator::PoolId, bool>;  // stream, pool, whether its blocks are small

// The mapped addresses of each range, in ascending order.
std::map<RangeOwner, std::vector<uint64_t>> mapped_addresses(const Process& p, DeviceId device,
                                                             const allocator::AllocatorSettings& settings) {
  const SegmentEvents& events = p.segment_events;
  std::map<RangeOwner, std::vector<uint64_t>> mapped;
  for (const SegmentEventId row : events.ids()) {
    if (events.device[row] != device || events.change[row] != SegmentChange::mapped) continue;
    const bool is_small = static_cast<uint64_t>(events.bytes[row].value) % settings.large_segment_size != 0;
    mapped[{events.stream[row], pool_of(events, row), is_small}].push_back(events.address[row]);
  }
  for (auto& [owner, addresses] : mapped) std::ranges::sort(addresses);
  return mapped;
}

// Finds the base address of each expandable segment: the lowest address that is mapped, or that becomes mapped.
void find_bases(const Process& p, DeviceId device, const allocator::AllocatorSettings& settings,
                std::vector<Segment>& all) {
  if (std::ranges::none_of(all, &Segment::is_expandable)) return;
  const auto mapped = mapped_addresses(p, device, settings);
  std::map<RangeOwner, uint64_t> last;  // the highest base so far
  for (Segment& one : all) {
    if (!one.is_expandable) continue;
    const RangeOwner owner{one.stream, one.pool, one.is_small};
    const auto [base, is_first] = last.try_emplace(owner, one.address);
    if (is_first || one.address - base->second >= kExpandableAddresses) {
      base->second = one.address;
      const auto addresses = mapped.find(owner);
      if (addresses != mapped.end()) {
        const uint64_t reach = one.address - std::min(one.address, kExpandableAddresses - 1);
        const auto lowest = std::ranges::lower_bound(addresses->second, reach);
        if (lowest != addresses->second.end()) base->second = std::min(one.address, *lowest);
      }
    }
    one.base = base->second;
  }
  // Makes the segments of one range adjacent.
  std::ranges::stable_sort(all, {}, [](const Segment& s) { return s.is_expandable ? s.base : s.address; });
}

}  // namespace

MemoryBefore memory_before(const Process& p, DeviceId device, const allocator::AllocatorSettings& settings) {
  std::vector<Segment> all = segments_before(p, device);
  const std::vector<Block> blocks = blocks_before(p, device);
  size_t next = 0;
  for (Segment& segment : all) {
    uint64_t at = segment.address;
    const uint64_t end = segment.address + segment.size;
    for (; next < blocks.size() && blocks[next].address < end; ++next) {
      const Block& block = blocks[next];
      if (block.address < at || block.address + block.size > end) return std::nullopt;
      if (block.address > at) segment.blocks.push_back({at, block.address - at, 0});
      segment.blocks.push_back(block);
      at = block.address + block.size;
    }
    if (at < end) segment.blocks.push_back({at, end - at, 0});
    segment.is_small = is_small(segment, settings);
  }
  if (next != blocks.size()) return std::nullopt;
  find_bases(p, device, settings, all);
  return all;
}

}  // namespace tapelens::peak
