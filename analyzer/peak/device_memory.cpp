#include "analyzer/peak/device_memory.h"

#include <algorithm>
#include <map>

#include "analyzer/peak/device_events.h"

namespace tapelens::peak {

int64_t StepCurve::at(Time when) const {
  const size_t after = time.after(when.ns);
  return after == 0 ? 0 : value[after - 1];
}

void StepCurve::add(Time when, int64_t change) {
  value.push_back((value.empty() ? 0 : value.back()) + change);
  time.push_back(when.ns);
}

namespace {

// Rows of blocks by allocation, 0: none.
std::vector<uint32_t> blocks_by_allocation(const Process& p) {
  std::vector<uint32_t> rows(p.allocations.rows() + 1, 0);
  for (uint32_t row = 1; row <= p.device_blocks.rows(); ++row) rows[p.device_blocks.allocation.raw[row]] = row;
  return rows;
}

bool gives_more(SegmentChange change) { return change == SegmentChange::allocated || change == SegmentChange::mapped; }

// Visits the events of a device's blocks in order of time. Within one nanosecond frees come first, as in Timeline.
class Walk {
 public:
  Walk(const Process& process, DeviceId device)
      : p_(process),
        device_(device),
        block_of_(blocks_by_allocation(process)),
        asked_(process.allocations.rows() + 1) {}

  DeviceMemory run() {
    // Each block has two events. The number includes blocks of other devices, so it is an upper bound.
    out_.allocated.time.reserve(2 * size_t{p_.device_blocks.rows()});
    out_.allocated.value.reserve(2 * size_t{p_.device_blocks.rows()});
    for (const AllocationId id : p_.allocations.ids()) {
      give_back_until(p_.allocations.time[id], id);
      if (!is_mine(id)) continue;
      out_.allocated.add(p_.allocations.time[id], rounded(id));
      out_.allocated_peak.value = std::max(out_.allocated_peak.value, out_.allocated.value.back());
      note_active();
    }
    give_back_until(kNever, AllocationId{UINT32_MAX});
    segments();
    return std::move(out_);
  }

 private:
  bool is_mine(AllocationId id) const { return p_.allocations.device[id] == device_ && block_of_[id.value] != 0; }
  int64_t rounded(AllocationId id) const { return p_.device_blocks.rounded[DeviceBlockId{block_of_[id.value]}].value; }
  static int64_t last(const StepCurve& curve) { return curve.value.empty() ? 0 : curve.value.back(); }
  void note_active() {
    out_.active_peak.value = std::max(out_.active_peak.value, last(out_.allocated) + last(out_.waiting));
  }

  // Handles the frees and the requests to free up to a time, for allocations before `before`.
  void give_back_until(Time time, AllocationId before) {
    const FreeRequests& requests = p_.free_requests;
    const auto fits = [&](const auto& table, uint32_t row) {
      return row <= table.rows() && table.time.raw[row] <= static_cast<uint64_t>(time.ns) &&
             table.of.raw[row] < before.value;
    };
    while (true) {
      const bool request = fits(requests, request_), free = fits(p_.frees, free_);
      if (!request && !free) return;
      if (request && (!free || requests.time.raw[request_] <= p_.frees.time.raw[free_])) {
        requested(AllocationId{requests.of.raw[request_]}, requests.time[FreeRequestId{request_}]);
        ++request_;
      } else {
        freed(FreeId{free_});
        ++free_;
      }
    }
  }

  void requested(AllocationId id, Time time) {
    if (!id || !is_mine(id) || asked_[id.value] != 0) return;
    asked_[id.value] = 1;
    out_.allocated.add(time, -rounded(id));
    out_.waiting.add(time, rounded(id));
  }

  void freed(FreeId row) {
    const AllocationId id = p_.frees.of[row];
    if (!id || !is_mine(id) || p_.allocations.free[id] != row) return;
    (asked_[id.value] != 0 ? out_.waiting : out_.allocated).add(p_.frees.time[row], -rounded(id));
  }

  void segments() {
    const SegmentEvents& s = p_.segment_events;
    for (const SegmentEventId row : s.ids()) {
      if (s.device[row] != device_) continue;
      const bool more = gives_more(s.change[row]);
      out_.reserved.add(s.time[row], more ? s.bytes[row].value : -s.bytes[row].value);
      out_.reserved_peak.value = std::max(out_.reserved_peak.value, out_.reserved.value.back());
      if (s.change[row] == SegmentChange::allocated) ++out_.segments;
    }
  }

  const Process& p_;
  const DeviceId device_;
  const std::vector<uint32_t> block_of_;
  std::vector<uint8_t> asked_;  // by allocation: the program freed it
  uint32_t request_ = 1, free_ = 1;
  DeviceMemory out_;
};

// The memory that the allocator has taken from a device, in pieces.
class Pieces {
 public:
  void add(const SegmentAt& piece) {
    remove(piece.address, piece.bytes.value);  // a damaged recording may repeat an event
    pieces_[piece.address] = piece;
  }

  // Pieces that the range covers only partly keep the rest.
  void remove(uint64_t address, int64_t bytes) {
    if (bytes <= 0) return;
    const uint64_t end = address + static_cast<uint64_t>(bytes);
    auto at = pieces_.upper_bound(address);
    if (at != pieces_.begin()) --at;
    while (at != pieces_.end() && at->first < end) {
      SegmentAt piece = at->second;
      const uint64_t piece_end = piece.address + static_cast<uint64_t>(piece.bytes.value);
      if (piece_end <= address) {
        ++at;
        continue;
      }
      at = pieces_.erase(at);
      if (piece.address < address) put(piece, piece.address, address);
      if (piece_end > end) put(piece, end, piece_end);
    }
  }

  // Adjacent pieces of one expandable segment become one piece.
  std::vector<SegmentAt> joined() const {
    std::vector<SegmentAt> all;
    for (const auto& [address, piece] : pieces_) {
      if (!all.empty()) {
        SegmentAt& before = all.back();
        const bool touches = before.address + static_cast<uint64_t>(before.bytes.value) == address;
        if (touches && before.is_expandable && piece.is_expandable && before.stream == piece.stream &&
            before.graph_pool == piece.graph_pool && before.user_pool == piece.user_pool) {
          before.bytes += piece.bytes;
          continue;
        }
      }
      all.push_back(piece);
    }
    return all;
  }

 private:
  void put(SegmentAt piece, uint64_t begin, uint64_t end) {
    piece.address = begin;
    piece.bytes.value = static_cast<int64_t>(end - begin);
    pieces_[begin] = std::move(piece);
  }
  std::map<uint64_t, SegmentAt> pieces_;
};

void change(Pieces& pieces, const SegmentEvents& s, SegmentEventId row) {
  if (!gives_more(s.change[row])) return pieces.remove(s.address[row], s.bytes[row].value);
  pieces.add({s.address[row],
              s.bytes[row],
              s.stream[row],
              s.graph_pool[row],
              s.user_pool[row],
              s.change[row] == SegmentChange::mapped,
              {},
              {},
              {}});
}

Pieces pieces_at(const Process& p, DeviceId device, Time when) {
  Pieces pieces;
  const SegmentEvents& s = p.segment_events;
  for (const SegmentEventId row : s.ids()) {
    if (s.time[row] > when) break;
    if (s.device[row] == device) change(pieces, s, row);
  }
  return pieces;
}

void find_holes(SegmentAt& segment) {
  uint64_t end = segment.address;
  int64_t largest = 0;
  for (const BlockAt& block : segment.blocks) {
    if (block.address > end) largest = std::max(largest, static_cast<int64_t>(block.address - end));
    end = std::max(end, block.address + static_cast<uint64_t>(block.rounded.value));
    segment.used += block.rounded;
  }
  const uint64_t segment_end = segment.address + static_cast<uint64_t>(segment.bytes.value);
  if (segment_end > end) largest = std::max(largest, static_cast<int64_t>(segment_end - end));
  segment.largest_hole.value = largest;
}

// Puts each block into its segment. Both lists are sorted by address.
void put_into(std::vector<SegmentAt>& segments, const std::vector<BlockAt>& blocks) {
  auto block = blocks.begin();
  for (SegmentAt& segment : segments) {
    const uint64_t end = segment.address + static_cast<uint64_t>(segment.bytes.value);
    while (block != blocks.end() && block->address < segment.address) ++block;
    for (; block != blocks.end() && block->address < end; ++block) segment.blocks.push_back(*block);
    find_holes(segment);
  }
}

bool has_blocks(const Process& p, DeviceId device) {
  return std::ranges::any_of(p.device_blocks.ids(), [&](DeviceBlockId row) {
    return p.allocations.device[p.device_blocks.allocation[row]] == device;
  });
}

}  // namespace

DeviceMemory device_memory(const Process& process, DeviceId device) {
  return has_blocks(process, device) ? Walk(process, device).run() : DeviceMemory{};
}

std::vector<SegmentAt> segments_at(const Process& p, DeviceId device, const Moment& when) {
  std::vector<SegmentAt> segments = pieces_at(p, device, when.time).joined();
  if (segments.empty()) return segments;
  std::vector<uint32_t> waiting;  // allocations, sorted
  for (const FreeRequestId row : p.free_requests.ids()) {
    if (p.free_requests.time[row] > when.time) break;
    waiting.push_back(p.free_requests.of.raw[row.value]);
  }
  std::ranges::sort(waiting);
  std::vector<BlockAt> blocks;
  const DeviceBlocks& b = p.device_blocks;
  for (const DeviceBlockId row : b.ids()) {
    const AllocationId id = b.allocation[row];
    if (p.allocations.device[id] != device || !when.holds(p, id)) continue;
    blocks.push_back({id, b.address[row], b.rounded[row], std::ranges::binary_search(waiting, id.value)});
  }
  std::ranges::sort(blocks, {}, &BlockAt::address);
  put_into(segments, blocks);
  return segments;
}

std::vector<Bytes> largest_holes_out_of_memory(const Process& p, DeviceId device) {
  std::vector<Bytes> holes;
  Pieces pieces;
  std::map<uint64_t, BlockAt> alive;  // by address
  DeviceEvents events(p, device);
  const auto address = [&](const DeviceEvent& event) {
    return p.device_blocks.address[events.block_of(AllocationId{event.row})];
  };
  while (const auto event = events.next()) {
    switch (event->kind) {
      case DeviceEvent::Kind::segment:
        change(pieces, p.segment_events, SegmentEventId{event->row});
        break;
      case DeviceEvent::Kind::allocate: {
        const DeviceBlockId block = events.block_of(AllocationId{event->row});
        alive[address(*event)] = {AllocationId{event->row}, address(*event), p.device_blocks.rounded[block], false};
        break;
      }
      case DeviceEvent::Kind::free:
        alive.erase(address(*event));
        break;
      case DeviceEvent::Kind::request_free:
        break;
      case DeviceEvent::Kind::out_of_memory: {
        std::vector<SegmentAt> segments = pieces.joined();
        std::vector<BlockAt> blocks;
        for (const auto& [at, block] : alive) blocks.push_back(block);
        put_into(segments, blocks);
        Bytes& largest = holes.emplace_back();
        for (const SegmentAt& segment : segments) largest = std::max(largest, segment.largest_hole);
        break;
      }
    }
  }
  return holes;
}

}  // namespace tapelens::peak
