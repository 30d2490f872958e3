#include "analyzer/snapshot/process_writer.h"

#include <algorithm>
#include <ranges>

#include "analyzer/model/device_traits.h"

namespace tapelens::snapshot {

namespace table = trace::table;
using trace::Bytes;
using trace::SegmentChange;
using trace::Time;

namespace {

constexpr uint64_t kBetweenProgress = 1 << 16;  // events
constexpr int64_t kNsOfUs = 1000;

Bytes bytes_of(uint64_t bytes) { return {static_cast<int64_t>(bytes)}; }

}  // namespace

ProcessWriter::ProcessWriter(const Snapshot& snapshot, const std::vector<DeviceHistory>& histories,
                             trace::ProcessSinks& tables, trace::SharedTables& shared)
    : s_(snapshot), tables_(tables), roles_(snapshot), shared_(shared) {
  const allocator::AllocatorSettings settings = allocator::parse_settings(snapshot.settings).settings;
  for (const DeviceHistory& history : histories) {
    Device& device = *devices_.emplace_back(std::make_unique<Device>(history, settings));
    device.id = shared.device(shared.string(history.device));
    device.has_segments = model::device_type(history.device).has_segments;
    if (history.events.count == 0) continue;
    const int64_t first = s_.events[history.events.first].time_us;
    if (first > 0 && (begin_us_ == 0 || first < begin_us_)) begin_us_ = first;
  }
}

void ProcessWriter::run(const std::function<void(double)>& progress) {
  for (const auto& device : devices_) begin(*device);
  uint64_t count = 0;
  while (Device* device = earliest()) {
    if (++count % kBetweenProgress == 0 && progress)
      progress(static_cast<double>(count) / static_cast<double>(s_.events.size()));
    const uint64_t number = device->history.events.first + device->next++;
    const auto place =
        static_cast<size_t>(std::ranges::find(devices_, device, &std::unique_ptr<Device>::get) - devices_.begin());
    annotate_until(s_.events[number].time_us);
    advance(s_.events[number].time_us);
    if (s_.events[number].action != Action::annotate) ranges_.noted(place, s_.notes[s_.events[number].note], last_);
    event(*device, number);
  }
  annotate_until(INT64_MAX);
  advance(0);
  ordered_until_ = last_;
  for (const auto& device : devices_) end(*device);
  ranges_.write(tables_);
  roles_.write(tables_, shared_);
}

// The device whose next event is the earliest; null if no device has events left.
ProcessWriter::Device* ProcessWriter::earliest() {
  Device* earliest = nullptr;
  int64_t time = 0;
  for (const auto& device : devices_) {
    if (device->next == device->history.events.count) continue;
    const int64_t next = s_.events[device->history.events.first + device->next].time_us;
    if (earliest != nullptr && next >= time) continue;
    earliest = device.get();
    time = next;
  }
  return earliest;
}

// Moves the clock to the time of an event. Events of one microsecond get times that are a nanosecond apart, to keep
// their order. Older versions of PyTorch write no times; their events get times that are a microsecond apart.
void ProcessWriter::advance(int64_t time_us) {
  const int64_t said = time_us > 0 ? (time_us - begin_us_) * kNsOfUs : (begin_us_ == 0 ? last_.ns + kNsOfUs : 0);
  last_.ns = std::max(last_.ns + 1, said);
}

void ProcessWriter::annotate_until(int64_t time_us) {
  for (; next_annotation_ < s_.annotations.size(); ++next_annotation_) {
    const Annotation& annotation = s_.annotations[next_annotation_];
    if (annotation.time_us > time_us) return;
    const int64_t said = begin_us_ == 0 ? 0 : (annotation.time_us - begin_us_) * kNsOfUs;
    ranges_.annotated(annotation, Time{std::max(last_.ns, said)});
    last_.ns = std::max(last_.ns, said);
  }
}

// ---- before and after the history ----------------------------------------------------------------------------------

void ProcessWriter::begin(Device& device) {
  for (const Piece& piece : device.history.pieces_before) {
    change(device, piece.is_expandable ? SegmentChange::mapped : SegmentChange::allocated, piece);
  }
  std::vector<HeldBlock> before = device.history.before;
  // From the highest address down, because the size of a block depends on the next block.
  for (HeldBlock& held : std::views::reverse(before)) {
    if (!device.has_segments) break;
    if (held.bytes == 0) held.bytes = device.sizes.bytes_of(held.address, held.requested, device.pieces);
    device.sizes.add(held.address, held.bytes);
  }
  for (const HeldBlock& held : before) allocate(device, held);
}

void ProcessWriter::end(Device& device) {
  const DeviceHistory& history = device.history;
  for (const HeldBlock& held : history.before) {
    if (held.is_pending) request_free(device, held.address, 0);  // no entry of the history has its time
  }
  for (const uint64_t address : history.gone) free(device, address, 0);
  for (const Piece& piece : history.pieces_gone) {
    change(device, piece.is_expandable ? SegmentChange::unmapped : SegmentChange::freed, piece);
  }
  for (const Piece& piece : history.pieces_later) {
    change(device, piece.is_expandable ? SegmentChange::mapped : SegmentChange::allocated, piece);
  }
  for (const HeldBlock& held : history.later) {
    allocate(device, held);
    if (held.is_pending) request_free(device, held.address, 0);
  }
}

// ---- events ---------------------------------------------------------------------------------------------------------

void ProcessWriter::event(Device& device, size_t number) {
  const Event& event = s_.events[number];
  const Piece piece{event.address, event.bytes, s_.streams[event.stream], s_.pools[event.pool], false};
  switch (event.action) {
    case Action::alloc:
      if (event.address != 0) allocate(device, held_of(device, event, number));
      return;
    case Action::free_requested: {
      // The next entry nearly always completes the free at once, because no stream uses the block.
      const IndexRange& all = device.history.events;
      const uint64_t next = number + 1;
      const bool is_completed = next < all.first + all.count && s_.events[next].action == Action::free_completed &&
                                s_.events[next].address == event.address;
      if (!is_completed) request_free(device, event.address, event.call);
      return;
    }
    case Action::free_completed:
      return free(device, event.address, event.call);
    case Action::segment_alloc:
      return change(device, SegmentChange::allocated, piece);
    case Action::segment_free:
      return change(device, SegmentChange::freed, piece);
    case Action::segment_map:
      return change(device, SegmentChange::mapped, piece);
    case Action::segment_unmap:
      return change(device, SegmentChange::unmapped, piece);
    case Action::oom:
      return full(device, event);
    case Action::annotate:
      ++annotations_of_tensors_;
      return;
    case Action::unknown:
      ++unknown_actions_;
      return;
    case Action::snapshot:
      return;
  }
}

HeldBlock ProcessWriter::held_of(Device& device, const Event& event, uint64_t number) {
  HeldBlock held{event.address, event.bytes, 0, s_.streams[event.stream], s_.pools[event.pool], event.call, false};
  const std::vector<KnownBlock>& known = device.history.known;
  // An inconsistent snapshot may have two blocks of one allocation: use the first.
  while (device.next_known < known.size() && known[device.next_known].event < number) ++device.next_known;
  if (device.next_known < known.size() && known[device.next_known].event == number)
    held.bytes = known[device.next_known++].bytes;
  return held;
}

void ProcessWriter::allocate(Device& device, const HeldBlock& held) {
  if (held.address == 0) return;
  if (device.live.find(held.address) != nullptr) free(device, held.address, 0);
  const uint64_t bytes = !device.has_segments ? held.requested
                         : held.bytes > 0     ? held.bytes
                                              : device.sizes.bytes_of(held.address, held.requested, device.pieces);
  const trace::AllocationId id = tables_.push<table::Allocations>({.time = last_,
                                                                   .bytes = bytes_of(held.requested),
                                                                   .device = device.id,
                                                                   .origin = trace::Origin::allocator,
                                                                   .op = {},
                                                                   .evaluation = {},
                                                                   .stack = s_.calls[held.call].stack,
                                                                   .module_call = {}});
  roles_.allocated(id, held.call);
  device.live.insert(held.address, {id, held.requested, bytes, false});
  device.requested += held.requested;
  device.peak = std::max(device.peak, device.requested);
  if (!device.has_segments) return;
  device.allocated += bytes;
  device.sizes.add(held.address, bytes);
  // Older versions of PyTorch write the pool only in the segment.
  const Piece* const piece = held.pool.is_private() ? nullptr : device.pieces.at(held.address);
  const PoolId pool = piece != nullptr ? piece->pool : held.pool;
  tables_.push<table::DeviceBlocks>({.allocation = id,
                                     .rounded = bytes_of(bytes),
                                     .address = held.address,
                                     .stream = held.stream,
                                     .graph_pool = pool.graph,
                                     .user_pool = pool.user});
}

void ProcessWriter::request_free(Device& device, uint64_t address, uint32_t call) {
  Live* live = address == 0 ? nullptr : device.live.find(address);
  if (live == nullptr || std::exchange(live->is_waiting, true)) return;
  roles_.given_back(live->id, call);
  if (!device.has_segments) return;
  device.allocated -= live->bytes;
  tables_.push<table::FreeRequests>({.of = live->id, .time = last_});
}

void ProcessWriter::free(Device& device, uint64_t address, uint32_t call) {
  const Live* live = address == 0 ? nullptr : device.live.find(address);
  if (live == nullptr) return;  // DeviceHistory::unmatched counts it
  roles_.given_back(live->id, call);
  tables_.push<table::Frees>({.of = live->id, .time = last_});
  device.requested -= live->requested;
  if (device.has_segments) {
    if (!live->is_waiting) device.allocated -= live->bytes;
    device.sizes.remove(address, live->bytes);
  }
  device.live.erase(address);
}

void ProcessWriter::change(Device& device, SegmentChange change, const Piece& piece) {
  if (!device.has_segments) return;
  const bool is_more = change == SegmentChange::allocated || change == SegmentChange::mapped;
  if (is_more) {
    Piece known = piece;
    known.is_expandable = change == SegmentChange::mapped;
    device.pieces.add(known);
    device.reserved += piece.bytes;
  } else {
    device.pieces.remove(piece.address, piece.bytes);
    device.reserved -= std::min(device.reserved, piece.bytes);
  }
  tables_.push<table::SegmentEvents>({.time = last_,
                                      .device = device.id,
                                      .change = change,
                                      .address = piece.address,
                                      .bytes = bytes_of(piece.bytes),
                                      .stream = piece.stream,
                                      .graph_pool = piece.pool.graph,
                                      .user_pool = piece.pool.user});
}

void ProcessWriter::full(Device& device, const Event& event) {
  ++out_of_memory_;
  tables_.push<table::OutOfMemory>({.time = last_,
                                    .device = device.id,
                                    .bytes = bytes_of(event.bytes),
                                    .allocated = bytes_of(device.allocated),
                                    .reserved = bytes_of(device.reserved),
                                    .free = event.address,
                                    .op = {},
                                    .stack = s_.calls[event.call].stack,
                                    .module_call = {}});
}

std::vector<trace::DeviceSeal> ProcessWriter::peaks() const {
  std::vector<trace::DeviceSeal> peaks;
  for (const auto& device : devices_) {
    if (device->peak > 0) peaks.push_back({device->history.device, bytes_of(device->peak)});
  }
  return peaks;
}

}  // namespace tapelens::snapshot
