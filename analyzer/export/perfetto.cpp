// The format of Perfetto (https://ui.perfetto.dev) and compatible viewers: counters of each device, slices of each
// thread, steps and phases, a flow from each save to its release, and a heap profile of each device.
#include <algorithm>
#include <array>

#include "analyzer/export/export.h"
#include "analyzer/export/packets.h"
#include "analyzer/export/perfetto_heap.h"
#include "analyzer/export/perfetto_threads.h"
#include "analyzer/model/steps.h"
#include "analyzer/peak/grouping.h"

namespace tapelens::exporting {
namespace {

using perfetto::TrackEvent;

class ProcessTrace {
 public:
  ProcessTrace(ExportedProcesses& processes, const ExportedProcess& exported, Packets& out)
      : processes_(processes), exported_(exported), out_(out), p_(exported.process), tracks_{exported.index} {}

  void write() {
    describe();
    steps_and_phases();
    ranges();
    ThreadSlices slices(processes_, exported_, tracks_, out_);
    const uint64_t rows = slices.rows() + counted_rows();
    Counted counted(processes_, exported_, rows);
    slices.write(counted);
    for (const DeviceId device : exported_.devices) counters(device, counted);
  }

 private:
  void describe() {
    auto& track = out_.track(tracks_.of_process(), "");
    const int32_t rank = p_.summary.rank;
    track.mutable_process()->set_pid(static_cast<int32_t>(p_.summary.pid));
    track.mutable_process()->set_process_name((rank >= 0 ? "rank " + std::to_string(rank) + ": " : "") +
                                              processes_.command());
    track.set_child_ordering(perfetto::TrackDescriptor::EXPLICIT);
    out_.put();
  }

  TrackId named_track(TrackId id, std::string_view name) {
    out_.track(id, name, tracks_.of_process()).set_sibling_order_rank(rank_++);
    out_.put();
    return id;
  }

  void begin(TrackId track, Time time, EventCategory category, uint64_t name) {
    out_.event(TrackEvent::TYPE_SLICE_BEGIN, track, time);
    out_.name(category, name);
    out_.put();
  }

  void slice(TrackId track, Interval when, EventCategory category, uint64_t name) {
    begin(track, when.begin, category, name);
    out_.end(track, std::min(when.end, p_.duration));
  }

  void steps_and_phases() {
    const Bands all = bands(p_, exported_.analysis.steps(), exported_.analysis.phases());
    const TrackId steps = named_track(tracks_.steps(), "steps");
    uint32_t number = all.first_step;
    for (const Interval& step : all.steps) {
      const uint64_t name = out_.event_name(NameOf::step, number, [&] { return "step " + std::to_string(number); });
      slice(steps, step, EventCategory::step, name);
      ++number;
    }
    const TrackId phases = named_track(tracks_.phases(), "phases");
    for (const Bands::Band& band : all.phases) {
      const uint64_t name =
          out_.event_name(NameOf::phase, static_cast<uint64_t>(band.phase), [&] { return phase_name(band.phase); });
      slice(phases, band.when, EventCategory::phase, name);
    }
  }

  // Ranges of one thread nest; each thread has its own track.
  void ranges() {
    std::vector<std::pair<uint32_t, TrackId>> of_thread;
    std::vector<const Range*> all;
    for (const Range& range : p_.ranges) all.push_back(&range);
    std::ranges::stable_sort(all, [](const Range* a, const Range* b) {
      return a->when.begin != b->when.begin ? a->when.begin < b->when.begin : a->when.end > b->when.end;
    });
    std::vector<std::vector<Time>> open;
    for (const Range* range : all) {
      auto at = std::ranges::find(of_thread, range->os_thread, &std::pair<uint32_t, TrackId>::first);
      if (at == of_thread.end()) {
        const auto number = static_cast<uint32_t>(of_thread.size());
        const std::string name = "record_function, thread " + std::to_string(range->os_thread);
        of_thread.emplace_back(range->os_thread, named_track(tracks_.range(number), name));
        open.emplace_back();
        at = of_thread.end() - 1;
      }
      std::vector<Time>& around = open[static_cast<size_t>(at - of_thread.begin())];
      for (; !around.empty() && around.back() <= range->when.begin; around.pop_back())
        out_.end(at->second, around.back());
      Time end = std::min(range->when.end, p_.duration);
      if (!around.empty()) end = std::min(end, around.back());
      const uint64_t name =
          out_.event_name(NameOf::range, range->name.value, [&] { return processes_.names()[range->name]; });
      begin(at->second, range->when.begin, EventCategory::range, name);
      around.push_back(end);
    }
    for (size_t i = 0; i < open.size(); ++i) {
      for (; !open[i].empty(); open[i].pop_back()) out_.end(of_thread[i].second, open[i].back());
    }
  }

  uint64_t counted_rows() const {
    return (uint64_t{p_.allocations.rows()} + p_.frees.rows()) * exported_.devices.size();
  }

  TrackId counter_track(DeviceId device, uint8_t number, const std::string& what) {
    const TrackId id = tracks_.counter(device, number);
    auto& track = out_.track(id, device_name(device) + " " + what, tracks_.of_process());
    track.mutable_counter()->set_unit(perfetto::CounterDescriptor::UNIT_SIZE_BYTES);
    track.set_sibling_order_rank(rank_++);
    out_.put();
    return id;
  }

  std::string device_name(DeviceId device) const {
    return std::string(processes_.names()[processes_.text().device_name[device]]);
  }

  void curve(DeviceId device, uint8_t number, const char* what, const peak::StepCurve& curve) {
    const TrackId track = counter_track(device, number, what);
    for (size_t i = 0; i < curve.value.size(); ++i) out_.counter(track, Time{curve.time[i]}, Bytes{curve.value[i]});
  }

  // All live bytes, and those of each category, after each allocation and free.
  void counters(DeviceId device, Counted& counted) {
    const peak::DeviceAnalysis& of = exported_.of->device(device).analysis();
    const peak::Timeline& timeline = of.timeline();
    const peak::Grouping grouping = peak::group(p_, processes_.text(), {}, {}, peak::By::category);
    std::array<int64_t, peak::kHolderKinds> bytes{};
    std::array<TrackId, peak::kHolderKinds> tracks{};
    const TrackId all = counter_track(device, 0, "live bytes");
    for (const uint8_t kind : grouping.stacked) {
      const char* name = peak::category_name(static_cast<peak::HolderKind>(kind));
      tracks[kind] = counter_track(device, static_cast<uint8_t>(kind + 1), name);
    }
    int64_t before = 0;
    for (uint32_t event = 0; event < timeline.events(); ++event) {
      const int64_t after = timeline.live_after(event).value;
      const uint8_t kind = grouping.of[timeline.allocation_of(event).value];
      bytes[kind] += after - before;
      before = after;
      const Time time = timeline.time_of(event);
      out_.counter(all, time, Bytes{after});
      out_.counter(tracks[kind], time, Bytes{bytes[kind]});
      counted.one();
    }
    if (!exported_.analysis.traits(device).has_blocks) return;
    const peak::DeviceMemory& memory = exported_.analysis.memory(device);
    curve(device, 30, "blocks allocated", memory.allocated);
    if (!memory.waiting.value.empty()) curve(device, 31, "blocks waiting for another stream", memory.waiting);
    if (exported_.analysis.traits(device).has_segments) curve(device, 32, "reserved", memory.reserved);
  }

  ExportedProcesses& processes_;
  const ExportedProcess& exported_;
  Packets& out_;
  const Process& p_;
  const ProcessTracks tracks_;
  int32_t rank_ = 0;
};

// Recognizes the first packet: the names of our categories, then the track that names the writer.
bool is_perfetto(std::string_view head) {
  const size_t category = head.find(std::string_view("\x08\x01\x12\x08operator", 12));
  return head.starts_with("\n") && category < 32 && head.find("Tapelens ", category) != std::string_view::npos;
}

void write_perfetto(ExportedProcesses& processes, ByteSink& sink) {
  Packets out(sink);
  // This track comes first. Its name identifies the writer, for is_perfetto().
  out.track(TrackId{1}, "Tapelens " + std::string(processes.wanted().version));
  out.put();
  out.clocks();
  uint32_t sequence = kEventSequence;
  processes.each([&](const ExportedProcess& exported) {
    ProcessTrace(processes, exported, out).write();
    for (const DeviceId device : exported.devices) write_heap_profile(processes, exported, device, ++sequence, sink);
  });
}

}  // namespace

constinit extern const Format kPerfetto{"perfetto", ".perfetto-trace",
                                        "Perfetto (ui.perfetto.dev): a timeline and heap profiles", is_perfetto,
                                        write_perfetto};

}  // namespace tapelens::exporting
