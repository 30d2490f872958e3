#include "analyzer/verify/run.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <utility>

#include "analyzer/peak/analysis.h"
#include "analyzer/peak/replay.h"
#include "analyzer/run/peak_device.h"
#include "policy/wire.h"
#include "trace/checksum.h"

namespace tapelens::verify {

namespace {

using trace::ChecksumOf;

std::vector<RecordedChecksum> checksums_of(const model::Process& process, const model::Text& text) {
  std::vector<RecordedChecksum> all;
  const model::Checksums& t = process.checksums;
  for (uint32_t row = 1; row <= t.rows(); ++row) {
    const model::ChecksumId id{row};
    all.push_back({t.step[id], static_cast<ChecksumOf>(t.of[id]), std::string(text.string(t.name[id])), t.value[id]});
  }
  return all;
}

bool is_compared(ChecksumOf of) {
  return of == ChecksumOf::loss || of == ChecksumOf::gradient || of == ChecksumOf::parameter ||
         of == ChecksumOf::returned_gradient;
}

ProgramRun::Process process_of(const model::Process& process, const model::Text& text) {
  ProgramRun::Process made;
  made.rank = process.summary.rank;
  made.checksums = checksums_of(process, text);
  made.has_threads = std::ranges::any_of(process.information, [&](const model::Information& information) {
    return text.string(information.key) == trace::kChecksumsOfThreads;
  });
  // A spool is unverified input and may name any step.
  const uint64_t ends = process.optimizer_steps.size() + 1;
  std::erase_if(made.checksums, [&](const RecordedChecksum& checksum) {
    made.gradients_left_out += checksum.of == ChecksumOf::gradient_left_out ? 1 : 0;
    made.parameters_left_out += checksum.of == ChecksumOf::parameter_left_out ? 1 : 0;
    return checksum.step > ends || !is_compared(checksum.of);
  });
  return made;
}

// Subtracts the time of the checksums, which fall into the step before or after the end at which they are taken.
std::optional<StepTimes> step_times(const peak::Analysis& analysis) {
  const model::Process& process = analysis.process();
  std::vector<int64_t> durations;
  for (const model::Step& step : analysis.steps()) {
    if (step.when.end == model::kNever) continue;
    // The first step starts at the first operator, because the process starts with its imports.
    model::Time begin = step.when.begin;
    if (step.index == 0 && process.operators.rows() > 0) begin = process.operators.begin[model::OperatorId{1}];
    int64_t spent = 0;
    for (uint32_t row = 1; row <= process.checksums.rows(); ++row) {
      const model::ChecksumId id{row};
      if (step.when.contains(process.checksums.time[id])) spent += process.checksums.spent[id].ns;
    }
    durations.push_back(step.when.end.ns - begin.ns - spent);
  }
  if (durations.size() > 1) durations.erase(durations.begin());
  if (durations.empty()) return std::nullopt;
  std::ranges::sort(durations);
  const size_t count = durations.size();
  return StepTimes{durations[count / 2], durations[count / 4], durations[count - 1 - count / 4], count};
}

Bytes last_step_peak(const peak::DeviceAnalysis& device, Bytes peak) {
  const std::vector<model::Backward>& backwards = device.of().process().backwards;
  if (backwards.empty()) return peak;
  const auto last = std::ranges::max_element(backwards, {}, &model::Interval::begin);
  return device.timeline().largest(step_at(device.of().steps(), last->begin).when).bytes;
}

void take_figures(const run::DeviceRun& found, Figures& figures) {
  const peak::DeviceAnalysis& device = found.analysis();
  const peak::Analysis& analysis = device.of();
  figures.peak = found.peak();
  figures.saved_peak = saved_for_backward(analysis.lifetimes(), device.timeline(), analysis.since());
  figures.last_step_peak = last_step_peak(device, found.peak());
  figures.step = step_times(analysis);
}

void take_steps(const std::vector<RecordedChecksum>& checksums, Figures& figures) {
  uint64_t steps = 0;
  for (const RecordedChecksum& checksum : checksums) steps = std::max(steps, checksum.step + 1);
  figures.loss.assign(steps, std::numeric_limits<double>::quiet_NaN());
  std::vector<std::vector<std::pair<std::string, uint64_t>>> gradients(steps);
  for (const RecordedChecksum& checksum : checksums) {
    if (checksum.of == ChecksumOf::loss) figures.loss[checksum.step] = std::bit_cast<double>(checksum.value);
    if (checksum.of == ChecksumOf::gradient) gradients[checksum.step].emplace_back(checksum.name, checksum.value);
  }
  for (auto& step : gradients) {
    std::ranges::stable_sort(step, {}, [](const auto& gradient) { return gradient.first; });
    std::string all;
    for (const auto& [name, value] : step) all += name + '=' + std::to_string(value) + '\n';
    figures.gradient_checksum.push_back(trace::checksum_of(all.data(), all.size()));
  }
}

policy::Site plan_site(const peak::RewrittenSite& site) {
  policy::Site made;
  made.rewrite = site.rewrite;
  made.module = site.module;
  made.op = site.op;
  made.node = site.node;
  made.field = site.field;
  made.file = site.file.substr(site.file.rfind('/') + 1);
  made.line = site.line;
  return made;
}

}  // namespace

trace::Result<ProgramRun> read_run(const std::string& path) {
  const auto opened = run::Run::open(path);
  if (!opened) return opened.error();
  ProgramRun run;
  const model::Text& text = opened->text();
  run::PeakDevice highest;
  std::set<std::string> seen;
  std::set<uint32_t> files(text.frame_file.raw.begin(), text.frame_file.raw.end());
  for (const uint32_t file : files) run.files.emplace_back(text.string(model::StringId{file}));
  for (uint32_t index = 0; index < opened->processes(); ++index) {
    run.was_recorded = true;
    const auto of = opened->process(index);
    const model::Process& process = of->process();
    if (!text.left_out.empty() || !process.left_out.empty()) run.incomplete = true;
    if (process.checksums.rows() > 0) run.processes.push_back(process_of(process, text));
    const peak::Analysis& analysis = of->analysis();
    if (!analysis.information("simulated_gpu").empty()) run.was_simulated = true;
    const peak::Rewritten rewritten = peak::rewritten(analysis);
    run.skipped.insert(run.skipped.end(), rewritten.skipped.begin(), rewritten.skipped.end());
    for (const peak::RewrittenSite& site : rewritten.sites) {
      if (!site.reason.empty()) continue;
      policy::Site planned = plan_site(site);
      if (seen.insert(policy::flat({planned})).second) run.applied.push_back(std::move(planned));
    }
    if (highest.offer(of)) run.rewritten = rewritten;
  }
  if (highest.found()) take_figures(highest.device(), run.figures);
  if (!run.processes.empty()) take_steps(run.processes.front().checksums, run.figures);
  return run;
}

}  // namespace tapelens::verify
