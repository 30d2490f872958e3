#include "analyzer/snapshot/history.h"

#include <algorithm>
#include <ranges>
#include <span>

#include "trace/address_map.h"

namespace tapelens::snapshot {

namespace {

constexpr uint64_t kFreed = UINT64_MAX;  // the allocation at an address was freed
constexpr uint64_t kMostDevices = 250;   // devices that a recording can name, with the host

class Follower {
 public:
  Follower(const Snapshot& snapshot, DeviceHistory& out, std::span<const Segment> segments)
      : s_(snapshot), out_(out), segments_(segments) {}

  void run() {
    each_event([&](uint64_t, const Event& event) { out_.has_history |= event.action < Action::snapshot; });
    follow_blocks();
    if (s_.has_segments) compare_blocks();
    follow_segments();
    std::ranges::sort(out_.before, {}, &HeldBlock::address);
    std::ranges::sort(out_.gone);
  }

 private:
  template <class Visit>
  void each_event(Visit visit) const {
    for (uint64_t i = 0; i < out_.events.count; ++i) visit(out_.events.first + i, s_.events[out_.events.first + i]);
  }

  void follow_blocks() {
    each_event([&](uint64_t i, const Event& event) {
      if (event.action != Action::alloc && event.action != Action::free_completed) return;
      if (event.address == 0) {
        ++out_.unmatched;
        return;
      }
      uint64_t* known = at_.find(event.address);
      if (event.action == Action::alloc) {
        if (known != nullptr) {
          out_.unmatched += *known != kFreed;
          *known = i;
        } else {
          at_.insert(event.address, i);
        }
      } else if (known == nullptr) {
        out_.before.push_back(
            {event.address, event.bytes, 0, s_.streams[event.stream], s_.pools[event.pool], 0, false});
        at_.insert(event.address, kFreed);
      } else {
        out_.unmatched += *known == kFreed;
        *known = kFreed;
      }
    });
  }

  // PyTorch ends the history with an entry for the snapshot, unless it has stopped the history.
  bool ends_with_snapshot() const {
    return out_.events.count > 0 && s_.events[out_.events.first + out_.events.count - 1].action == Action::snapshot;
  }

  void compare_blocks() {
    std::vector<HeldBlock> older;
    std::vector<uint64_t> there;
    for (const Segment& segment : segments_) {
      for (uint64_t i = 0; i < segment.blocks.count; ++i) {
        const Block& block = s_.blocks[segment.blocks.first + i];
        if (!block.is_active || block.address == 0) continue;
        const HeldBlock held{block.address, block.requested, block.bytes,     segment.stream,
                             segment.pool,  block.call,      block.is_pending};
        const uint64_t* known = at_.find(block.address);
        if (known == nullptr) {
          older.push_back(held);
        } else if (*known != kFreed && s_.events[*known].bytes == block.requested) {
          out_.known.push_back({*known, block.bytes});
          there.push_back(block.address);
        } else {
          out_.later.push_back(held);
        }
      }
    }
    std::ranges::sort(out_.known, {}, &KnownBlock::event);
    std::ranges::sort(there);
    find_gone(there);
    sort_out(older);
  }

  // Finds allocations of the history that it does not free, and that the snapshot does not contain.
  void find_gone(const std::vector<uint64_t>& there) {
    each_event([&](uint64_t i, const Event& event) {
      if (event.action != Action::alloc || event.address == 0) return;
      const uint64_t* last = at_.find(event.address);
      if (*last == i && !std::ranges::binary_search(there, event.address)) out_.gone.push_back(event.address);
    });
  }

  // A block without an entry in the history is older than the history, unless an entry allocates at its addresses.
  void sort_out(std::vector<HeldBlock>& older) {
    std::ranges::sort(older, {}, &HeldBlock::address);
    std::vector<bool> is_later(older.size());
    if (!ends_with_snapshot()) {
      // One allocation of the history may overlap many blocks of `older`. Adds 1 at the first of them, and subtracts it
      // after the last.
      std::vector<int64_t> begins(older.size() + 1);
      const auto index = [&](auto at) { return static_cast<size_t>(at - older.begin()); };
      each_event([&](uint64_t, const Event& event) {
        if (event.action != Action::alloc) return;
        auto first = std::ranges::upper_bound(older, event.address, {}, &HeldBlock::address);
        const auto end =
            std::ranges::lower_bound(first, older.end(), event.address + event.bytes, {}, &HeldBlock::address);
        if (first != older.begin() && std::prev(first)->address + std::prev(first)->bytes > event.address) --first;
        ++begins[index(first)];
        --begins[index(end)];
      });
      int64_t covering = 0;
      for (size_t i = 0; i < older.size(); ++i) is_later[i] = (covering += begins[i]) > 0;
    }
    for (size_t i = 0; i < older.size(); ++i) {
      (is_later[i] ? out_.later : out_.before).push_back(older[i]);
      out_.dropped += !is_later[i] && s_.calls[older[i].call].stack && out_.has_history;
    }
  }

  Piece piece_of(const Event& event) const {
    return {event.address, event.bytes, s_.streams[event.stream], s_.pools[event.pool],
            event.action == Action::segment_map || event.action == Action::segment_unmap};
  }

  void follow_segments() {
    Pieces at_end;
    for (const Segment& segment : segments_)
      at_end.add({segment.address, segment.bytes, segment.stream, segment.pool, segment.is_expandable});
    std::vector<uint64_t> changes;
    each_event([&](uint64_t i, const Event& event) {
      if (event.action >= Action::segment_alloc && event.action <= Action::segment_unmap) changes.push_back(i);
    });
    Pieces pieces = at_end;
    for (const uint64_t i : std::views::reverse(changes)) change(pieces, s_.events[i], false);
    out_.pieces_before = pieces.all();
    if (!s_.has_segments) return;
    for (const uint64_t i : changes) change(pieces, s_.events[i], true);
    out_.pieces_gone = pieces.without(at_end);
    out_.pieces_later = at_end.without(pieces);
  }

  void change(Pieces& pieces, const Event& event, bool forward) const {
    const bool is_more = event.action == Action::segment_alloc || event.action == Action::segment_map;
    if (is_more == forward) {
      pieces.add(piece_of(event));
    } else {
      pieces.remove(event.address, event.bytes);
    }
  }

  const Snapshot& s_;
  DeviceHistory& out_;
  std::span<const Segment> segments_;
  trace::AddressMap<uint64_t> at_;  // by address: the last event that allocated there, or kFreed
};

}  // namespace

trace::Result<std::vector<DeviceHistory>> histories(const Snapshot& snapshot) {
  size_t devices = snapshot.traces.size();
  const std::span<const Segment> all = snapshot.segments;
  const auto of_devices = all.subspan(snapshot.device_segments.first, snapshot.device_segments.count);
  for (const Segment& segment : of_devices) {
    if (segment.device < 0 || segment.device >= static_cast<int64_t>(kMostDevices))
      return trace::Error{"a segment is on device " + std::to_string(segment.device)};
    devices = std::max(devices, static_cast<size_t>(segment.device) + 1);
  }
  if (devices > kMostDevices) return trace::Error{"it is about " + std::to_string(devices) + " devices"};
  std::vector<std::vector<Segment>> of_device(devices);
  for (const Segment& segment : of_devices) of_device[static_cast<size_t>(segment.device)].push_back(segment);

  std::vector<DeviceHistory> out;
  const auto add = [&](std::string name, IndexRange events, std::span<const Segment> segments) {
    if (events.count == 0 && segments.empty()) return;
    DeviceHistory& history = out.emplace_back();
    history.device = std::move(name);
    history.events = events;
    Follower(snapshot, history, segments).run();
  };
  for (size_t i = 0; i < devices; ++i) {
    add("cuda:" + std::to_string(i), i < snapshot.traces.size() ? snapshot.traces[i] : IndexRange{}, of_device[i]);
  }
  add("pinned", snapshot.host_trace, all.subspan(snapshot.host_segments.first, snapshot.host_segments.count));
  return out;
}

}  // namespace tapelens::snapshot
