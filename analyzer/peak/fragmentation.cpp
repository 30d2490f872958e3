#include "analyzer/peak/fragmentation.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/model/attribution.h"

namespace tapelens::peak {
namespace {

constexpr int64_t kSmallSegment = int64_t{2} << 20;  // the size of a segment of the small pool
constexpr int64_t kLargestSmall = int64_t{1} << 20;

// The requests that may share a segment: stream, pool, and whether the segment is for small blocks.
using Asker = std::tuple<uint64_t, uint32_t, uint32_t, bool>;

bool is_small(const SegmentAt& segment) { return !segment.is_expandable && segment.bytes.value == kSmallSegment; }

// The smallest block of each kind of request. Expandable segments do not show whether they are for small blocks.
std::map<Asker, int64_t> smallest_blocks(const Process& p, DeviceId device) {
  std::map<Asker, int64_t> smallest;
  const DeviceBlocks& b = p.device_blocks;
  for (const DeviceBlockId row : b.ids()) {
    if (p.allocations.device[b.allocation[row]] != device) continue;
    const int64_t bytes = b.rounded[row].value;
    const Asker asker{b.stream[row], b.graph_pool[row], b.user_pool[row], bytes <= kLargestSmall};
    const auto [at, is_new] = smallest.try_emplace(asker, bytes);
    if (!is_new) at->second = std::min(at->second, bytes);
  }
  return smallest;
}

// Sum of a segment's free pieces that are smaller than `bytes`.
int64_t pieces_below(const SegmentAt& segment, int64_t bytes) {
  int64_t sum = 0;
  uint64_t end = segment.address;
  const auto piece = [&](uint64_t until) {
    const auto size = until > end ? static_cast<int64_t>(until - end) : 0;
    sum += size < bytes ? size : 0;
  };
  for (const BlockAt& block : segment.blocks) {
    piece(block.address);
    end = std::max(end, block.address + static_cast<uint64_t>(block.rounded.value));
  }
  piece(segment.address + static_cast<uint64_t>(segment.bytes.value));
  return sum;
}

class Pins {
 public:
  Pins(const Process& process, const Text& text, const PeakSet& set) : p_(process), text_(text), set_(set) {
    for (size_t i = 0; i < set.members.size(); ++i) by_allocation_.push_back({set.members[i].allocation.value, i});
    std::ranges::sort(by_allocation_);
  }

  void add(const SegmentAt& segment) {
    std::map<Key, bool> seen;
    for (const BlockAt& block : segment.blocks) {
      const auto at = std::ranges::lower_bound(by_allocation_, std::pair(block.allocation.value, size_t{0}));
      if (at == by_allocation_.end() || at->first != block.allocation.value) continue;
      const Member& member = set_.members[at->second];
      const Key key = key_of(member);
      const auto [entry, is_first] = pins_.try_emplace(key);
      Fragmentation::Pin& pin = entry->second;
      // Members are in the order of their bytes.
      pin.member = is_first ? at->second : std::min(pin.member, at->second);
      ++pin.allocations;
      pin.bytes += member.bytes;
      if (seen.emplace(key, true).second) {
        ++pin.segments;
        pin.unused += segment.bytes - segment.used;
      }
    }
  }

  std::vector<Fragmentation::Pin> most(size_t count) const {
    std::vector<Fragmentation::Pin> all;
    for (const auto& [key, pin] : pins_) all.push_back(pin);
    std::ranges::stable_sort(all, [](const auto& a, const auto& b) {
      return std::tuple(-a.unused.value, a.bytes.value, a.member) <
             std::tuple(-b.unused.value, b.bytes.value, b.member);
    });
    if (all.size() > count) all.resize(count);
    return all;
  }

 private:
  using Key = std::tuple<uint8_t, uint32_t, uint32_t, uint32_t, uint32_t>;
  Key key_of(const Member& member) const {
    const Holder& holder = main_holder(set_.holders_of(member));
    return {static_cast<uint8_t>(holder.kind), p_.nodes.type[holder.node].value, holder.field.value,
            model::module_of(p_, member.allocation).value, model::stack_of(p_, text_, member.allocation).value};
  }

  const Process& p_;
  const Text& text_;
  const PeakSet& set_;
  std::vector<std::pair<uint32_t, size_t>> by_allocation_;
  std::map<Key, Fragmentation::Pin> pins_;
};

}  // namespace

Fragmentation fragmentation(const Process& process, const Text& text, const PeakSet& set,
                            std::span<const SegmentAt> segments, size_t most_pins) {
  Fragmentation out;
  const std::map<Asker, int64_t> smallest = smallest_blocks(process, set.device);
  const auto least = [&](const SegmentAt& segment, bool small) {
    const auto at = smallest.find({segment.stream, segment.graph_pool, segment.user_pool, small});
    return at == smallest.end() ? INT64_MAX : at->second;
  };
  Pins pins(process, text, set);
  for (const SegmentAt& segment : segments) {
    const int64_t asked = segment.is_expandable ? std::min(least(segment, true), least(segment, false))
                                                : least(segment, is_small(segment));
    if (segment.blocks.empty()) {
      out.empty += segment.bytes;
      continue;
    }
    if (asked != INT64_MAX) out.unusable.value += pieces_below(segment, asked);
    if (!segment.is_expandable && segment.used < segment.bytes) pins.add(segment);
  }
  out.pins = pins.most(most_pins);
  return out;
}

}  // namespace tapelens::peak
