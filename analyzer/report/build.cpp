// From a recording to a report: every process is loaded once, one after another, and only the columns of the one that
// the report is about are kept.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "analyzer/model/load.h"
#include "analyzer/report/detail.h"
#include "analyzer/report/format.h"
#include "analyzer/report/losses.h"
#include "analyzer/report/report.h"

namespace tapelens::report {

std::optional<At> parse_at(std::string_view text) {
  if (text == "peak") return At{};
  if (text.starts_with("step:")) {
    At at{At::Kind::step, 0, {}};
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + 5, end, at.step);
    if (error != std::errc() || rest != end) return std::nullopt;
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
    case At::Kind::time:
      return std::to_string(at.time.ns) + "ns";
    case At::Kind::peak:
      break;
  }
  return "peak";
}

namespace {

struct Chosen {
  model::Process process;
  peak::DevicePeak device;
};

ProcessFacts describe_process(const model::Process& process, const model::Text& text,
                              const std::vector<peak::DevicePeak>& peaks) {
  ProcessFacts facts;
  facts.pid = process.summary.pid;
  facts.parent_pid = process.summary.parent_pid;
  facts.rank = process.summary.rank;
  facts.finished = process.summary.finished;
  for (const peak::DevicePeak& device : peaks) {
    facts.devices.push_back({std::string(text.string(text.device_name[device.device])), device.peak, device.when.time,
                             device.allocations, device.frees, device.live_at_end});
  }
  facts.saves = peak::summarize_saves(process, text);
  return facts;
}

// The moment asked for, or why there is no such.
std::optional<peak::Moment> find_moment(const Chosen& chosen, const peak::Timeline& timeline,
                                        const std::vector<model::Step>& steps, std::string_view window, const At& at,
                                        Failure& failure) {
  switch (at.kind) {
    case At::Kind::peak: {
      const Time since = watched_since(window, steps);
      return since.ns == 0 ? chosen.device.when : timeline.largest({since, model::kNever}).when;
    }
    case At::Kind::step:
      if (at.step >= steps.size()) {
        failure = {"there is no step " + std::to_string(at.step) + ": the recording has " +
                       plural(steps.size(), "step, --at step:0", "steps, --at step:0") +
                       (steps.size() > 1 ? " to step:" + std::to_string(steps.size() - 1) : ""),
                   true};
        return std::nullopt;
      }
      return timeline.largest(steps[at.step].when).when;
    case At::Kind::time:
      break;
  }
  if (at.time > chosen.process.duration) {
    failure = {"there is no moment " + time_text(at.time) + ": the recording is " + time_text(chosen.process.duration) +
                   " long",
               true};
    return std::nullopt;
  }
  peak::Moment moment = timeline.at(at.time);
  moment.time = at.time;
  return moment;
}

Failure nothing_chosen(const Report& report, const Options& options) {
  std::string seen;
  for (const ProcessFacts& process : report.processes) {
    seen += (seen.empty() ? "" : ", ") + std::to_string(process.pid) + " (";
    for (const Device& device : process.devices) seen += (seen.back() == '(' ? "" : ", ") + device.device;
    seen += ")";
  }
  if (options.process || options.device) {
    return {"nothing was allocated by that process on that device: the recording has pid " + seen, true};
  }
  for (const Lost& lost : report.recording.lost) {
    if (lost.kind == "table_left_out") return {lost.what, false};
  }
  return {"the recording holds no memory of any device: nothing was allocated while it was recorded", false};
}

}  // namespace

Built build(const trace::Recording& recording, const Options& options, const Advising* advising) {
  Built built;
  if (advising != nullptr && advising->progress) advising->progress("reading", 0);
  const model::Text text = model::load_text(recording);
  Report report;
  report.options = options;
  report.recording.command = recording.command();
  report.recording.duration = recording.duration();
  report.recording.events = recording.events();
  report.recording.file_bytes = recording.file_bytes();
  std::vector<Lost>& lost = report.recording.lost = losses_of(text);

  std::optional<Chosen> chosen;
  for (uint32_t index = 0; index < recording.processes().size(); ++index) {
    model::Process process = model::load_process(recording, text, trace::ProcessIndex{index});
    const std::vector<peak::DevicePeak> peaks = peak::device_peaks(process);
    report.processes.push_back(describe_process(process, text, peaks));
    peak::add(report.saves, report.processes.back().saves);
    std::ranges::move(losses_of(process), std::back_inserter(lost));
    if (report.recording.torch_version.empty()) {
      report.recording.torch_version = information(process, text, "torch_version");
      report.recording.steps = information(process, text, "steps");
    }
    if (options.process && *options.process != process.summary.pid) continue;
    const peak::DevicePeak* best = nullptr;
    for (const peak::DevicePeak& device : peaks) {
      if (options.device && *options.device != text.string(text.device_name[device.device])) continue;
      if (best == nullptr || device.peak > best->peak) best = &device;
    }
    if (best != nullptr && (!chosen || best->peak > chosen->device.peak)) {
      chosen.emplace(Chosen{std::move(process), *best});
    }
  }
  report.recording.complete = is_complete(lost);
  if (!chosen) {
    built.failure = nothing_chosen(report, options);
    return built;
  }

  const model::Process& process = chosen->process;
  const peak::Timeline timeline(process, chosen->device.device);
  const std::vector<model::Step> steps = find_steps(process);
  const auto moment = find_moment(*chosen, timeline, steps, report.recording.steps, options.at, built.failure);
  if (!moment) return built;
  const peak::PeakSet set = peak_set(process, text, chosen->device.device, *moment);
  report.peak = describe_peak(process, text, steps, set, options);
  report.steps = describe_steps(process, steps, timeline);
  report.ranges = describe_ranges(process, text, timeline);
  report.rewritten = describe_rewrites(process, text);
  if (advising != nullptr) {
    report.advice = advise::advise(process, text, chosen->device.device, advising->checks, advising->wanted,
                                   advising->progress, watched_since(report.recording.steps, steps));
  }
  built.report = std::move(report);
  return built;
}

}  // namespace tapelens::report
