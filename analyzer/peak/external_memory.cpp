#include "analyzer/peak/external_memory.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyzer/model/attribution.h"
#include "analyzer/peak/external_allocations.h"
#include "analyzer/peak/groups.h"

namespace tapelens::peak {
namespace {

using model::OutsideChange;
using model::OutsideEventId;
using model::OutsideMemory;

// A segment of PyTorch, or a piece of an expandable one.
struct OwnSegment {
  int64_t begin, end;
  uint64_t address, past;
};

bool is_of_device(OutsideMemory memory) { return memory == OutsideMemory::device || memory == OutsideMemory::managed; }

std::vector<OwnSegment> segments_of(const Process& p, DeviceId device) {
  std::vector<OwnSegment> all;
  std::unordered_map<uint64_t, size_t> alive;
  const auto& events = p.segment_events;
  for (const model::SegmentEventId row : events.ids()) {
    if (events.device[row] != device) continue;
    const uint64_t address = events.address[row];
    if (const auto found = alive.find(address); found != alive.end()) {
      all[found->second].end = events.time[row].ns;
      alive.erase(found);
    }
    const bool more =
        events.change[row] == model::SegmentChange::allocated || events.change[row] == model::SegmentChange::mapped;
    if (!more) continue;
    alive.emplace(address, all.size());
    all.push_back({events.time[row].ns, kNever.ns, address, address + static_cast<uint64_t>(events.bytes[row].value)});
  }
  return all;
}

// The two clocks agree only to a millisecond, so the order of events cannot match allocations with segments. Among
// those at one address, an allocation is the segment whose life overlaps most of the shorter of both lives.
class Segments {
 public:
  explicit Segments(std::vector<OwnSegment> all) {
    for (const OwnSegment& segment : all) {
      by_address_.emplace(segment.address, segment);
      longest_ = std::max(longest_, segment.past - segment.address);
    }
  }

  bool has(const ExternalAllocation& allocation) const {
    if (allocation.address == 0) return false;  // physical memory that is nowhere
    // Candidates begin at or before its address; a candidate must contain the address.
    for (auto at = by_address_.upper_bound(allocation.address); at != by_address_.begin();) {
      --at;
      const OwnSegment& s = at->second;
      if (s.past > allocation.address && share(s, allocation) > 0.5) return true;
      if (allocation.address - s.address > longest_) break;
    }
    return false;
  }

 private:
  // The overlap as a fraction of the shorter life.
  static double share(const OwnSegment& a, const ExternalAllocation& b) {
    const double both = static_cast<double>(std::min(a.end, b.end)) - static_cast<double>(std::max(a.begin, b.begin));
    const double shorter = static_cast<double>(std::min(a.end - a.begin, b.end - b.begin));
    if (shorter <= 0) return both >= -kClocks ? 1 : 0;
    return both / shorter;
  }
  static constexpr double kClocks = 1e6;
  std::multimap<uint64_t, OwnSegment> by_address_;
  uint64_t longest_ = 0;
};

struct Change {
  int64_t time, bytes;
};

StepCurve curve_of(std::vector<Change>& changes) {
  // Memory that is freed and allocated again at one time does not raise the sum in between.
  std::ranges::stable_sort(
      changes, [](const Change& a, const Change& b) { return a.time != b.time ? a.time < b.time : a.bytes < b.bytes; });
  StepCurve curve;
  for (const Change& change : changes) curve.add(Time{change.time}, change.bytes);
  return curve;
}

void add(std::vector<Change>& changes, const ExternalAllocation& allocation) {
  changes.push_back({allocation.begin, allocation.bytes});
  if (allocation.end != kNever.ns) changes.push_back({allocation.end, -allocation.bytes});
}

int64_t most(const StepCurve& curve) { return curve.value.empty() ? 0 : std::ranges::max(curve.value); }

std::optional<DeviceUse> most_in_use(const Process& p, DeviceId device, const DeviceMemory& memory,
                                     const StepCurve& external, const StepCurve& unused, Time until) {
  std::optional<DeviceUse> found;
  const auto& all = p.device_usage;
  for (const model::DeviceUsageId row : all.ids()) {
    const Time time = all.time[row];
    if (all.device[row] != device || time > until || (found && all.used[row] <= found->used)) continue;
    found = {time, all.total[row], all.used[row], {memory.reserved.at(time)}, {external.at(time)}, {unused.at(time)}};
  }
  return found;
}

FirstRequest request_of(const Process& p, const model::Text& text, model::OperatorId op) {
  const model::FrameId frame = model::source_frame(text, model::stack_of(p, text, op));
  return {std::string(text.string(p.operators.name[op])),
          std::string(text.string(text.module_path[model::module_of(p, op)])),
          frame ? frame_text(text, frame) : std::string()};
}

// The allocations of one library.
struct OfLibrary {
  std::vector<Change> changes;
  uint64_t allocations = 0;
  int64_t first_time = kNever.ns;
  model::OperatorId first;

  void take(const ExternalAllocation& allocation) {
    add(changes, allocation);
    ++allocations;
    if (!allocation.op || allocation.begin >= first_time) return;
    first_time = allocation.begin;
    first = allocation.op;
  }
};

}  // namespace

std::optional<ExternalMemory> external_memory(const Process& p, const model::Text& text, DeviceId device,
                                              const DeviceMemory& memory, Time moment) {
  if (p.outside_events.rows() == 0 && p.virtual_memory.rows() == 0 && p.memory_pools.rows() == 0) return {};
  ExternalMemory out;
  for (const OutsideEventId row : p.outside_events.ids()) {
    if (p.outside_events.change[row] == OutsideChange::ended && !out.until) out.until = p.outside_events.time[row];
  }
  const Segments own(segments_of(p, device));
  std::vector<Change> all, host;
  std::map<std::string, OfLibrary> by_library;
  for (const ExternalAllocation& allocation : external_allocations(p, device, out.unmatched)) {
    if (allocation.memory == OutsideMemory::host) add(host, allocation);
    if (!is_of_device(allocation.memory) || own.has(allocation)) continue;
    add(all, allocation);
    by_library[std::string(allocation.library ? text.string(allocation.library) : "")].take(allocation);
  }
  const StepCurve curve = curve_of(all);
  out.host_peak.value = most(curve_of(host));
  out.at_peak.value = curve.at(moment);
  out.peak.value = most(curve);
  if (!curve.value.empty()) {
    out.peak_time = Time{curve.time[static_cast<size_t>(std::ranges::max_element(curve.value) - curve.value.begin())]};
  }
  for (auto& [library, of] : by_library) {
    const StepCurve of_library = curve_of(of.changes);
    out.libraries.push_back({library, {of_library.at(moment)}, {most(of_library)}, of.allocations, {}});
    if (of.first) out.libraries.back().first = request_of(p, text, of.first);
  }
  std::ranges::stable_sort(out.libraries, [](const ExternalLibrary& a, const ExternalLibrary& b) {
    return a.at_peak != b.at_peak ? a.at_peak > b.at_peak : a.peak > b.peak;
  });
  StepCurve reserved, unused;
  for (const PoolDelta& change : pool_changes(p, device)) {
    reserved.add(Time{change.time}, change.reserved);
    unused.add(Time{change.time}, change.unused);
  }
  if (!reserved.value.empty()) out.pools = {{reserved.at(moment)}, {unused.at(moment)}, {most(unused)}};
  out.use = most_in_use(p, device, memory, curve, unused, out.until.value_or(kNever));
  return out;
}

}  // namespace tapelens::peak
