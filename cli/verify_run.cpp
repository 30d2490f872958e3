// One run of the command, recorded with checksums, and what its recording says.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "analyzer/model/load.h"
#include "analyzer/peak/analysis.h"
#include "analyzer/peak/saved_for_backward.h"
#include "analyzer/report/escape.h"
#include "cli/child.h"
#include "cli/preload.h"
#include "cli/spool_folder.h"
#include "cli/verify.h"
#include "trace/checksum.h"
#include "trace/recording.h"
#include "trace/seal.h"

namespace tapelens::cli {
namespace {

using trace::ChecksumOf;
using trace::Error;
using trace::Result;

// Closed with the object.
class File {
 public:
  File() = default;
  File(const std::string& path, int flags) : descriptor_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

bool is_lost(trace::Loss kind) {
  switch (kind) {
    case trace::Loss::disk_full:
    case trace::Loss::size_limit:
    case trace::Loss::torn_block:
    case trace::Loss::unwritable:
    case trace::Loss::no_memory:
    case trace::Loss::unreachable:
    case trace::Loss::no_descriptor:
    case trace::Loss::disk_reserve:
    case trace::Loss::file_size_limit:
      return true;
    default:
      return false;
  }
}

std::vector<Checksum> checksums_of(const model::Process& process, const model::Text& text) {
  std::vector<Checksum> all;
  const model::Checksums& t = process.checksums;
  for (uint32_t row = 1; row <= t.rows(); ++row) {
    const model::ChecksumId id{row};
    all.push_back({t.step[id], static_cast<ChecksumOf>(t.of[id]), std::string(text.string(t.name[id])), t.value[id]});
  }
  return all;
}

VerifiedRun::Process verified_process(const model::Process& process, const model::Text& text) {
  VerifiedRun::Process verified;
  verified.rank = process.summary.rank;
  verified.checksums = checksums_of(process, text);
  verified.has_threads = std::ranges::any_of(process.information, [&](const model::Information& information) {
    return text.string(information.key) == trace::kChecksumsOfThreads;
  });
  // A spool that nobody vouches for may name any step.
  const uint64_t ends = process.optimizer_steps.size() + 1;
  std::erase_if(verified.checksums, [&](const Checksum& checksum) {
    verified.gradients_left_out += checksum.of == ChecksumOf::gradient_left_out ? 1 : 0;
    verified.parameters_left_out += checksum.of == ChecksumOf::parameter_left_out ? 1 : 0;
    return checksum.step > ends || checksum.of < ChecksumOf::loss || checksum.of > ChecksumOf::parameter;
  });
  return verified;
}

// Without what the checksums took: those are in the step before or after the border that they are taken at.
std::optional<int64_t> median_step(const peak::Analysis& analysis) {
  const model::Process& process = analysis.process();
  std::vector<int64_t> durations;
  for (const model::Step& step : analysis.steps()) {
    if (step.when.end == model::kNever) continue;
    // The first begins with the process: with its imports.
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
  const auto middle = durations.begin() + static_cast<int64_t>(durations.size() / 2);
  std::ranges::nth_element(durations, middle);
  return *middle;
}

model::Bytes last_step_peak(const peak::DeviceAnalysis& device, model::Bytes peak) {
  const std::vector<model::Backward>& backwards = device.of().process().backwards;
  if (backwards.empty()) return peak;
  const auto last = std::ranges::max_element(backwards, {}, &model::Interval::begin);
  return device.timeline().largest(step_at(device.of().steps(), last->begin).when).bytes;
}

void describe_steps(VerifiedRun& run) {
  const std::vector<Checksum>& checksums = run.processes.front().checksums;
  for (const Checksum& checksum : checksums) run.steps = std::max(run.steps, checksum.step + 1);
  run.loss.assign(run.steps, std::numeric_limits<double>::quiet_NaN());
  std::vector<std::vector<std::pair<std::string, uint64_t>>> gradients(run.steps);
  for (const Checksum& checksum : checksums) {
    if (checksum.of == ChecksumOf::loss) run.loss[checksum.step] = std::bit_cast<double>(checksum.value);
    if (checksum.of == ChecksumOf::gradient) gradients[checksum.step].emplace_back(checksum.name, checksum.value);
  }
  for (auto& step : gradients) {
    std::ranges::stable_sort(step, {}, [](const auto& gradient) { return gradient.first; });
    std::string all;
    for (const auto& [name, value] : step) all += name + '=' + std::to_string(value) + '\n';
    run.gradient_checksum.push_back(trace::checksum_of(all.data(), all.size()));
  }
}

rewrites::Site plan_site(const peak::RewrittenSite& site) {
  rewrites::Site made;
  made.rewrite = site.rewrite;
  made.module = site.module;
  made.op = site.op;
  made.node = site.node;
  made.field = site.field;
  made.file = site.file.substr(site.file.rfind('/') + 1);
  made.line = site.line;
  return made;
}

Result<VerifiedRun> read(VerifiedRun run) {
  const std::string& path = run.recording;
  const auto recording = trace::Recording::open(path);
  if (!recording) return recording.error();
  const model::Text text = model::load_text(*recording);
  std::set<std::string> seen;
  for (uint32_t index = 0; index < recording->processes().size(); ++index) {
    const model::Process process = model::load_process(*recording, text, trace::ProcessIndex{index});
    if (!text.left_out.empty() || !process.left_out.empty()) run.incomplete = true;
    if (process.checksums.rows() > 0) run.processes.push_back(verified_process(process, text));
    const peak::Analysis analysis(process, text);
    const peak::Rewritten rewritten = peak::rewritten(analysis);
    for (const peak::RewrittenSite& site : rewritten.sites) {
      if (!site.reason.empty()) continue;
      rewrites::Site planned = plan_site(site);
      if (seen.insert(rewrites::flat({planned})).second) run.applied.push_back(std::move(planned));
    }
    for (const peak::DevicePeak& found : analysis.devices()) {
      if (found.peak <= run.peak) continue;
      const peak::DeviceAnalysis device(analysis, found.device);
      run.peak = found.peak;
      run.saved_peak = saved_for_backward(analysis.lifetimes(), device.timeline(), analysis.since());
      run.last_step_peak = last_step_peak(device, found.peak);
      run.step_ns = median_step(analysis);
      run.rewritten = rewritten;
    }
  }
  if (!run.processes.empty()) describe_steps(run);
  return run;
}

}  // namespace

Result<VerifiedRun> run_recorded(const VerifySetting& setting, const rewrites::Settings& applying,
                                 const std::string& name, bool is_first) {
  const PreloadPath preload;
  const Rewriting rewriting(applying);
  VerifiedRun run;
  run.recording = setting.folder + "/" + name + ".tapelens";
  const SpoolFolder spools = make_spool_folder(run.recording, {}, /*discard=*/true);
  for (const std::string& reason : {preload.reason(), rewriting.reason(), spools.reason}) {
    if (!reason.empty()) return Error{reason};
  }
  Environment environment = rewriting.environment();
  std::ranges::move(preload.environment(), std::back_inserter(environment));
  environment.insert(environment.end(), {{"TAPELENS_SPOOL", spools.path},
                                         {"TAPELENS_EPOCH_NS", ""},
                                         {"TAPELENS_STEPS", setting.steps ? "0:" + std::to_string(*setting.steps) : ""},
                                         {"TAPELENS_MAX_BYTES", ""},
                                         {"TAPELENS_STACKS", ""},
                                         {"TAPELENS_CHECKSUMS", "1"},
                                         {"TAPELENS_VALUES", setting.values},
                                         {"TAPELENS_FLOAT64", setting.float64 ? "1" : ""},
                                         {"TAPELENS_QUIET", is_first ? "" : "1"},
                                         {"PYTHONHASHSEED", "0"}});
  // No run may take input away from another.
  const File nothing("/dev/null", O_RDWR);
  Streams streams{nothing.descriptor(), -1, -1};
  const std::string log = setting.folder + "/" + name + ".log";
  const File written(is_first ? "/dev/null" : log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
  if (is_first) {
    if (setting.output_to_error) streams.output = STDERR_FILENO;
  } else {
    if (written.descriptor() < 0) return Error{log + ": " + std::strerror(errno)};
    run.log = log;
    streams.output = streams.error = written.descriptor();
  }
  const ChildEnd end = run_command(setting.command, environment, streams);
  signal(SIGPIPE, SIG_IGN);  // a reader of ours that is gone must not end the comparison
  run.exit_code = end.exit_code;
  if (!end.started) {
    remove_spool_folder(spools.path);
    run.not_started = end.error;
    return run;
  }
  trace::SealOptions sealing;
  sealing.directory = spools.path;
  sealing.output = run.recording;
  sealing.command = report::shell_quote(setting.command);
  const auto sealed = spools_in(spools.path).empty() ? trace::SealSummary{} : trace::seal(sealing);
  remove_spool_folder(spools.path);
  if (!sealed) return sealed.error();
  if (sealed->processes.empty()) return run;
  run.was_recorded = true;
  run.is_cut = setting.steps.has_value();
  run.incomplete = std::ranges::any_of(sealed->losses, [](const trace::SealLoss& loss) { return is_lost(loss.kind); });
  return read(std::move(run));
}

}  // namespace tapelens::cli
