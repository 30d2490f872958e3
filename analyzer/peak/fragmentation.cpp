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

class Holes {
 public:
  Holes(const Process& process, const Text& text, const PeakSet& set) : p_(process), text_(text), set_(set) {
    for (size_t i = 0; i < set.members.size(); ++i) by_allocation_.push_back({set.members[i].allocation.value, i});
    std::ranges::sort(by_allocation_);
  }

  void add(const SegmentAt& segment) {
    Segment one{segment.bytes - segment.used, {}};
    for (const BlockAt& block : segment.blocks) {
      const auto at = std::ranges::lower_bound(by_allocation_, std::pair(block.allocation.value, size_t{0}));
      if (at == by_allocation_.end() || at->first != block.allocation.value) continue;
      const Member& member = set_.members[at->second];
      add(one.groups[key_of(member)], {at->second, 1, member.bytes});
    }
    for (const auto& [key, group] : one.groups) {
      Holding& of_key = keys_[key];
      of_key.unused += one.unused;
      of_key.segments.push_back(segments_.size());
      add(of_key.all, group);
    }
    segments_.push_back(std::move(one));
  }

  std::vector<Fragmentation::Hole> most(size_t count) const {
    std::vector<const std::pair<const Key, Holding>*> order;
    for (const auto& one : keys_) order.push_back(&one);
    std::ranges::stable_sort(order, [](const auto* a, const auto* b) {
      return std::tuple(-a->second.unused.value, a->second.all.bytes.value, a->second.all.member) <
             std::tuple(-b->second.unused.value, b->second.all.bytes.value, b->second.all.member);
    });
    std::vector<Fragmentation::Hole> holes;
    std::vector<bool> is_in_hole(segments_.size());
    for (const auto* one : order) {
      if (auto hole = hole_of(*one, is_in_hole); hole.segments > 0) holes.push_back(std::move(hole));
    }
    std::ranges::stable_sort(holes, std::ranges::greater(), &Fragmentation::Hole::unused);
    if (holes.size() > count) holes.resize(count);
    return holes;
  }

 private:
  using Group = Fragmentation::Group;
  using Key = std::tuple<uint8_t, uint32_t, uint32_t, uint32_t, uint32_t>;
  struct Segment {
    Bytes unused;
    std::map<Key, Group> groups;
  };
  struct Holding {
    Bytes unused;
    std::vector<size_t> segments;  // in segments_
    Group all;
  };

  static void add(Group& sum, const Group& more) {
    // Members are in the order of their bytes.
    sum.member = sum.allocations == 0 ? more.member : std::min(sum.member, more.member);
    sum.allocations += more.allocations;
    sum.bytes += more.bytes;
  }

  Key key_of(const Member& member) const {
    const Holder& holder = main_holder(set_.holders_of(member));
    return {static_cast<uint8_t>(holder.kind), p_.nodes.type[holder.node].value, holder.field.value,
            model::module_of(p_, member.allocation).value, model::stack_of(p_, text_, member.allocation).value};
  }

  // The segments of a group that no hole has yet.
  Fragmentation::Hole hole_of(const std::pair<const Key, Holding>& of, std::vector<bool>& is_in_hole) const {
    Fragmentation::Hole hole;
    std::map<Key, Group> groups;
    for (const size_t index : of.second.segments) {
      if (is_in_hole[index]) continue;
      is_in_hole[index] = true;
      ++hole.segments;
      hole.unused += segments_[index].unused;
      for (const auto& [key, group] : segments_[index].groups) add(groups[key], group);
    }
    if (hole.segments == 0) return hole;
    hole.groups.push_back(groups.at(of.first));
    groups.erase(of.first);
    for (const auto& [key, group] : groups) hole.groups.push_back(group);
    std::ranges::stable_sort(hole.groups.begin() + 1, hole.groups.end(), std::ranges::greater(), &Group::bytes);
    return hole;
  }

  const Process& p_;
  const Text& text_;
  const PeakSet& set_;
  std::vector<std::pair<uint32_t, size_t>> by_allocation_;
  std::vector<Segment> segments_;
  std::map<Key, Holding> keys_;
};

}  // namespace

Fragmentation fragmentation(const Process& process, const Text& text, const PeakSet& set,
                            std::span<const SegmentAt> segments, size_t most_holes) {
  Fragmentation out;
  const std::map<Asker, int64_t> smallest = smallest_blocks(process, set.device);
  const auto least = [&](const SegmentAt& segment, bool small) {
    const auto at = smallest.find({segment.stream, segment.graph_pool, segment.user_pool, small});
    return at == smallest.end() ? INT64_MAX : at->second;
  };
  Holes holes(process, text, set);
  for (const SegmentAt& segment : segments) {
    const int64_t asked = segment.is_expandable ? std::min(least(segment, true), least(segment, false))
                                                : least(segment, is_small(segment));
    if (segment.blocks.empty()) {
      out.empty += segment.bytes;
      continue;
    }
    if (asked != INT64_MAX) out.unusable.value += pieces_below(segment, asked);
    if (!segment.is_expandable && segment.used < segment.bytes) holes.add(segment);
  }
  out.holes = holes.most(most_holes);
  return out;
}

}  // namespace tapelens::peak
