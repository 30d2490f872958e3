// Makes a report from a recording. Loads each process once, one after another, and keeps only the process that the
// report describes.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "analyzer/advise/advice.h"
#include "analyzer/peak/replay.h"
#include "analyzer/report/detail.h"
#include "analyzer/report/report.h"
#include "analyzer/report/sentences.h"
#include "analyzer/run/losses.h"
#include "analyzer/run/peak_device.h"
#include "analyzer/text/format.h"
#include "base/parallel.h"

namespace tapelens::report {

using text::plural;
using text::time_text;

using trace::Error;
using trace::ErrorKind;
using trace::Result;

namespace {
constexpr uint32_t kLastOne = UINT32_MAX;  // At::step of "oom"
}

std::optional<At> parse_at(std::string_view text) {
  if (text == "peak") return At{};
  if (text == "oom") return At{At::Kind::out_of_memory, kLastOne, {}};
  for (const auto& [prefix, kind] :
       {std::pair{std::string_view("step:"), At::Kind::step}, {std::string_view("oom:"), At::Kind::out_of_memory}}) {
    if (!text.starts_with(prefix)) continue;
    At at{kind, 0, {}};
    const char* last = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + prefix.size(), last, at.step);
    if (error != std::errc() || rest != last || at.step == kLastOne) return std::nullopt;
    return at;
  }
  const char* end = text.data() + text.size();
  int64_t whole = 0;
  if (const auto [rest, error] = std::from_chars(text.data(), end, whole); error == std::errc() && whole >= 0) {
    const std::string_view unit(rest, end);
    if (unit.empty() || unit == "ns") return At{At::Kind::time, 0, Time{whole}};
  }
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || !(value >= 0)) return std::nullopt;
  for (const auto& [unit, scale] : {std::pair{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1.0}}) {
    if (std::string_view(rest, end) != unit) continue;
    if (value * scale > 9e18) return std::nullopt;
    return At{At::Kind::time, 0, Time{std::llround(value * scale)}};
  }
  return std::nullopt;
}

std::string at_text(const At& at) {
  switch (at.kind) {
    case At::Kind::step:
      return "step:" + std::to_string(at.step);
    case At::Kind::out_of_memory:
      return at.step == kLastOne ? "oom" : "oom:" + std::to_string(at.step);
    case At::Kind::time:
      return std::to_string(at.time.ns) + "ns";
    case At::Kind::peak:
      break;
  }
  return "peak";
}

namespace {

ProcessFacts describe_process(const run::ProcessRun& of) {
  const peak::Analysis& analysis = of.analysis();
  const model::Process& process = analysis.process();
  const model::Text& text = analysis.text();
  ProcessFacts facts;
  facts.pid = process.summary.pid;
  facts.parent_pid = process.summary.parent_pid;
  facts.rank = process.summary.rank;
  facts.finished = process.summary.finished;
  facts.exit_code = process.summary.exit_code;
  for (const peak::DevicePeak& device : analysis.devices()) {
    DeviceFacts described{std::string(text.string(text.device_name[device.device])),
                          device.peak,
                          device.when.time,
                          device.allocations,
                          device.frees,
                          device.live_at_end,
                          {}};
    if (analysis.traits(device.device).has_blocks) {
      const peak::DeviceMemory& memory = analysis.memory(device.device);
      described.blocks = {memory.allocated_peak, memory.active_peak, {}};
      if (analysis.traits(device.device).has_segments) {
        described.blocks->segments = {memory.reserved_peak, memory.segments};
      }
    }
    facts.devices.push_back(std::move(described));
  }
  facts.out_of_memory = peak::out_of_memory(process, text);
  facts.cuda_allocator = analysis.information("cuda_allocator");
  facts.cupti = analysis.information("cupti");
  facts.saves = peak::summarize_saves(process, text);
  facts.shardings = peak::shardings(analysis);
  facts.value_reads = peak::value_reads(analysis);
  facts.external_estimate = estimate_external(analysis);
  facts.host = describe_host_memory(analysis);
  return facts;
}

// The requested moment, or an error that says why the recording does not have it.
Result<peak::Moment> find_moment(const peak::DeviceAnalysis& device, const At& at) {
  const std::vector<model::Step>& steps = device.of().steps();
  const Time duration = device.of().process().duration;
  switch (at.kind) {
    case At::Kind::peak:
      return device.largest().when;
    case At::Kind::step:
      if (at.step < steps.front().index || at.step > steps.back().index) {
        const std::string first = "--at step:" + std::to_string(steps.front().index);
        return Error{"step " + std::to_string(at.step) + " is not in the recording, which has " +
                         plural(steps.size(), "step", "steps") + ", " + first +
                         (steps.size() > 1 ? " to step:" + std::to_string(steps.back().index) : ""),
                     ErrorKind::usage};
      }
      return device.timeline().largest(steps[at.step - steps.front().index].when).when;
    case At::Kind::out_of_memory: {
      const model::OutOfMemory& all = device.of().process().out_of_memory;
      std::vector<Time> times;
      for (const model::OutOfMemoryId row : all.ids()) {
        if (all.device[row] == device.device()) times.push_back(all.time[row]);
      }
      const size_t which = at.step == kLastOne ? times.size() - 1 : at.step;
      if (which >= times.size()) {
        return Error{times.empty() ? "this process never ran out of memory on that device"
                                   : at_text(at) + " is not in the recording: " +
                                         plural(times.size(), "request", "requests") + " found no memory, --at oom:0" +
                                         (times.size() > 1 ? " to oom:" + std::to_string(times.size() - 1) : ""),
                     ErrorKind::usage};
      }
      peak::Moment moment = device.timeline().at(times[which]);
      moment.time = times[which];
      return moment;
    }
    case At::Kind::time:
      break;
  }
  if (at.time > duration) {
    return Error{time_text(at.time) + " is after the end of the recording, which is " + time_text(duration) + " long",
                 ErrorKind::usage};
  }
  peak::Moment moment = device.timeline().at(at.time);
  moment.time = at.time;
  return moment;
}

std::optional<Failure> last_failure(const std::vector<ProcessFacts>& processes) {
  std::optional<Failure> out;
  for (const ProcessFacts& process : processes) {
    for (const OutOfMemory& one : process.out_of_memory) {
      if (!out) out.emplace();
      ++out->count;
      out->request = one;
      out->pid = process.pid;
    }
  }
  return out;
}

// Adds the memory at the time of the failed request.
void describe(Failure& failure, const peak::DeviceAnalysis& device) {
  const peak::Analysis& of = device.of();
  peak::Moment moment = device.timeline().at(failure.request.time);
  moment.time = failure.request.time;
  const peak::PeakSet set = peak_set(of.process(), of.text(), device.device(), moment);
  failure.alive = set.bytes;
  failure.held_by = advise::remaining_of(of.process(), of.text(), of.steps(), set);
}

}  // namespace

Result<Report> build(const run::Run& run, const Options& options, const Advising* advising) {
  if (advising != nullptr && advising->progress) advising->progress("reading", 0);
  const trace::Recording& recording = run.recording();
  const model::Text& text = run.text();
  Report report;
  report.options = options;
  report.recording.command = recording.command();
  report.recording.duration = recording.duration();
  report.recording.events = recording.events();
  report.recording.file_bytes = recording.file_bytes();
  std::vector<Lost>& lost = report.recording.lost = run::losses_of(text);

  const run::DeviceSelection selection{options.process, options.device};
  run::PeakDevice chosen(selection);
  for (uint32_t index = 0; index < run.processes(); ++index) {
    const std::shared_ptr<const run::ProcessRun> process = run.process(index);
    const peak::Analysis& of_process = process->analysis();
    report.processes.push_back(describe_process(*process));
    peak::add(report.saves, report.processes.back().saves);
    std::ranges::move(run::losses_of(process->process()), std::back_inserter(lost));
    if (report.recording.torch_version.empty()) {
      report.recording.torch_version = of_process.information("torch_version");
      report.recording.steps = of_process.information("steps");
      if (const auto& older = process->process().older; older.count > 0) {
        report.recording.steps = std::to_string(older.count) + ":";
      }
      report.recording.simulated_gpu = of_process.information("simulated_gpu");
      report.recording.imported_from = of_process.information("imported_from");
      report.recording.imported_history = of_process.information("imported_without_history").empty();
      report.recording.imported_older = of_process.count_noted("imported_older_allocations");
      report.recording.imported_annotations = of_process.count_noted("imported_annotations_left_out");
    }
    chosen.offer(process);
  }
  report.recording.complete = run::is_complete(lost);
  if (!chosen.found()) return run::no_memory(run, selection);
  run.process(chosen.process()->index().value);  // the run no longer keeps the last one

  const peak::Analysis& analysis = chosen.process()->analysis();
  const peak::DeviceAnalysis& device = chosen.device().analysis();
  if (advising != nullptr) {  // which needs both halves of the analysis; neither half needs the other
    base::parallel_for(2, analysis.process().rows(), [&](size_t half) {
      if (half == 0) {
        analysis.lifetimes();
      } else {
        device.timeline();
        device.peak();
      }
    });
  }
  const auto moment = find_moment(device, options.at);
  if (!moment) return moment.error();
  std::optional<peak::PeakSet> other;
  if (options.at.kind != At::Kind::peak) other = peak_set(analysis.process(), text, device.device(), *moment);
  const peak::PeakSet& set = other ? *other : device.peak();
  // An imported recording has no fields.
  if (analysis.process().is_imported && options.by == peak::By::field) report.options.by = peak::By::source;
  report.peak = describe_peak(analysis, set, report.options);
  report.peak.held_by = advise::remaining_of(analysis.process(), text, analysis.steps(), set);
  report.peak.external_memory = peak::external_memory(analysis.process(), text, device.device(),
                                                      analysis.memory(device.device()), report.peak.time);
  if (options.by == peak::By::module) report.modules = describe_modules(device, set, options);
  report.steps = peak::step_memory(analysis, device.timeline());
  report.ranges = describe_ranges(analysis, device.timeline());
  report.rewritten = rewritten(analysis);
  if (report.rewritten.any()) {
    report.saved_peak = saved_for_backward(analysis.lifetimes(), device.timeline(), analysis.since());
  }
  report.failure = last_failure(report.processes);
  const bool fails_here =
      report.failure && report.failure->pid == report.peak.pid && report.failure->request.device == report.peak.device;
  if (fails_here) describe(*report.failure, device);
  std::vector<advise::TimelineChange> changes;
  if (advising != nullptr) {
    report.advice = advise::advise(device, advising->checks, advising->wanted, advising->progress, &changes);
    // The page also has the changes with which the failed request would have found memory.
    const bool is_tried = options.is_pictured && fails_here && device.of().traits(device.device()).has_segments;
    if (const auto wanted = is_tried ? advising->allocator.value_or(advise::AllocatorWanted{}) : advising->allocator) {
      report.advice->allocator = advise::allocator_advice(
          device, *report.advice, changes, *wanted,
          [&] { return advise::rewritten_runs(device, advising->checks, advising->wanted); }, advising->progress);
      if (wanted->fits && !report.advice->allocator) {
        return Error{"what was reserved on " + report.peak.device +
                         " is not recorded: --fits is for GPUs with PyTorch's own CUDA allocator",
                     ErrorKind::usage};
      }
    }
  }
  if (options.is_pictured && advising != nullptr) {
    report.fit = plan::curve_of(device, advising->checks, [&](double share) {
      if (advising->progress) advising->progress("memory against time", share);
    });
  }
  if (options.is_pictured) {
    report.overview = describe_overview(device, set, report.advice ? &*report.advice : nullptr, changes);
  }
  return report;
}

}  // namespace tapelens::report
