#include "analyzer/ranks/summary.h"

#include <algorithm>
#include <charconv>

#include "analyzer/advise/advice.h"
#include "analyzer/model/attribution.h"
#include "analyzer/model/words.h"
#include "analyzer/peak/device_memory.h"
#include "analyzer/peak/frame_names.h"
#include "analyzer/peak/groups.h"
#include "analyzer/peak/sharding.h"
#include "analyzer/run/losses.h"

namespace tapelens::ranks {

using namespace model;

namespace {

constexpr std::array<peak::By, kByNames.size()> kGroupedBy = {peak::By::category, peak::By::field, peak::By::module,
                                                              peak::By::source};

DeviceSummary device_summary(const peak::DeviceAnalysis& device) {
  const peak::Analysis& analysis = device.of();
  const Process& process = analysis.process();
  const Text& text = analysis.text();
  const peak::PeakSet& set = device.peak();
  DeviceSummary out;
  out.device = text.string(text.device_name[device.device()]);
  out.peak = set.bytes;
  if (analysis.traits(device.device()).has_segments) out.reserved_peak = analysis.memory(device.device()).reserved_peak;
  out.peak_step = step_index_at(analysis.steps(), set.when.time);
  out.peak_phase = phase_name(analysis.phases().at(set.when.time));
  for (size_t by = 0; by < kGroupedBy.size(); ++by) {
    for (peak::AllocationGroup& group : groups(process, text, analysis.steps(), set, kGroupedBy[by])) {
      out.by[by].rows.push_back({std::move(group.key), group.bytes, group.allocations});
    }
  }
  out.curve = curve_of(process, device.device(), analysis.steps());
  return out;
}

std::string source_text(const advise::Frame& frame) {
  return frame.line == 0 ? "" : peak::place_text({frame.file, frame.function, frame.line}, 0);
}

std::vector<FindingSummary> findings_of(const advise::Advice& advice) {
  std::vector<FindingSummary> out;
  for (const advise::Finding& f : advice.findings) {
    if (f.is_alternative) continue;  // an alternative applies to any program; it is not a fault of this one
    out.push_back({f.id, f.check, severity_name(f.severity), f.title, f.module,
                   f.field.empty() ? f.node : model::field_name(f.node, f.field), source_text(f.source), f.bytes,
                   f.retained_at_peak()});
  }
  return out;
}

// From the first event of a process to the last.
Interval events_of(const Process& p) {
  Interval out{kNever, Time{0}};
  const auto add = [&](Time begin, Time end) {
    out.begin = std::min(out.begin, begin);
    if (end != kNever) out.end = std::max(out.end, end);
  };
  // Tables are sorted by begin, so the first row has the earliest begin; ends are not sorted.
  for (const OperatorId op : p.operators.begin.ids()) add(p.operators.begin[op], p.operators.end[op]);
  if (const uint32_t rows = p.allocations.rows(); rows > 0) {
    add(p.allocations.time[AllocationId{1}], p.allocations.time[AllocationId{rows}]);
  }
  if (const uint32_t rows = p.frees.rows(); rows > 0) add(p.frees.time[FreeId{1}], p.frees.time[FreeId{rows}]);
  if (out.begin > out.end) out.begin = out.end;
  return out;
}

void add_out_of_memory(const peak::Analysis& analysis, RankSummary& out) {
  const Process& p = analysis.process();
  const Text& text = analysis.text();
  out.out_of_memory = p.out_of_memory.rows();
  if (out.out_of_memory == 0) return;
  const OutOfMemoryId last{p.out_of_memory.rows()};
  OutOfMemory& told = out.last_out_of_memory.emplace();
  told.device = text.string(text.device_name[p.out_of_memory.device[last]]);
  told.bytes = p.out_of_memory.bytes[last];
  told.step = step_index_at(analysis.steps(), p.out_of_memory.time[last]);
  told.op = text.string(p.operators.name[p.out_of_memory.op[last]]);
  told.module = text.string(text.module_path[module_of(p, last)]);
  if (const FrameId frame = source_frame(text, stack_of(p, text, last))) told.source = peak::frame_text(text, frame);
}

uint32_t number_of(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

RankSummary rank_summary(const run::ProcessRun& of, advise::Checks* checks) {
  const peak::Analysis& analysis = of.analysis();
  const Process& process = of.process();
  RankSummary out;
  out.rank = process.summary.rank;
  out.world_size = number_of(analysis.information("world_size"));
  out.pid = process.summary.pid;
  out.host = analysis.information("host");
  out.mesh_coordinate = peak::mesh_coordinate(analysis);
  out.finished = process.summary.finished;
  out.exit_code = process.summary.exit_code;
  out.running = process.summary.running;
  const Interval events = events_of(process);
  out.begin_ns = process.summary.wall_ns;
  out.end_ns = out.begin_ns + static_cast<uint64_t>(events.end.ns - events.begin.ns);
  const std::vector<Step>& steps = analysis.steps();
  out.steps = uint64_t{steps.back().index} + (steps.back().when.end == kNever ? 0 : 1);
  add_out_of_memory(analysis, out);
  for (const run::Lost& lost : run::losses_of(process)) {
    if (lost.is_data) out.lost.push_back(lost.kind);
  }
  for (const run::DeviceRun* device : of.devices()) out.devices.push_back(device_summary(device->analysis()));
  std::ranges::stable_sort(out.devices, std::ranges::greater(), &DeviceSummary::precedence);
  if (const run::DeviceRun* device = run::peak_device(of); checks != nullptr && device != nullptr) {
    out.findings = findings_of(advise::advise(device->analysis(), *checks, {}));
  }
  return out;
}

}  // namespace

Summary summarize(const run::Run& run, advise::Checks* checks, std::string_view version) {
  Summary out;
  out.tapelens = version;
  out.command = run.recording().command();
  for (uint32_t index = 0; index < run.processes(); ++index) {
    const auto process = run.process(index);
    const peak::Analysis& analysis = process->analysis();
    if (out.torch_version.empty()) {
      out.torch_version = analysis.information("torch_version");
      out.simulated_gpu = analysis.information("simulated_gpu");
      out.steps = analysis.information("steps");
    }
    out.processes.push_back(rank_summary(*process, checks));
  }
  return out;
}

}  // namespace tapelens::ranks
