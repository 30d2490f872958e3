#include "cli/short_run.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <utility>

#include "analyzer/text/escape.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/scoped_files.h"
#include "cli/sealing.h"
#include "cli/spool_folder.h"
#include "cli/step_watch.h"
#include "cli/text.h"
#include "trace/recording_options.h"

namespace tapelens::cli {
namespace {

namespace fs = std::filesystem;
using trace::Error;
using trace::ErrorKind;

trace::OutputOptions recording_of(const KeptRun& run) {
  trace::OutputOptions options = recording_output({run.recording, run.is_forced}, "0600", false, run.inputs);
  options.takes_streams = false;
  options.option = "--keep";
  options.unfinished = {};  // commands that run other commands handle signals themselves
  return options;
}

trace::OutputOptions log_of(const KeptRun& run) {
  trace::OutputOptions options = recording_of(run);
  options.path = run.log;
  options.kind = log_kind(run.log, run.recording);
  return options;
}

}  // namespace

trace::Result<std::optional<ShortRun>> short_run(const ShortRunSettings& settings, const PreloadPath& preload,
                                                 const Simulation& simulation) {
  const auto begin = std::chrono::steady_clock::now();
  const SpoolFolder spools = make_spool_folder(settings.files.recording, {}, /*discard=*/true);
  if (!spools.reason.empty()) return Error{spools.reason};
  if (const auto may = settings.files.check(); !may) {
    remove_spool_folder(spools.path);
    return may.error();
  }
  Environment environment = settings.environment;
  std::ranges::move(preload.environment(simulation.preloads()), std::back_inserter(environment));
  std::ranges::copy(simulation.environment(), std::back_inserter(environment));
  trace::RecordingOptions recording{
      .spool = spools.path, .activation_budget = settings.activation_budget, .quiet = true};
  if (settings.steps > 0) recording.steps = trace::StepWindow{0, settings.steps};
  std::ranges::move(trace::environment_of(recording), std::back_inserter(environment));

  const OpenFile nothing("/dev/null", O_RDONLY);
  const OpenFile log(settings.files.log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  if (log.descriptor() < 0) return Error{settings.files.log + ": " + std::strerror(errno)};
  Streams streams{nothing.descriptor(), log.descriptor(), log.descriptor()};
  if (settings.is_shown) streams.output = streams.error = STDERR_FILENO;

  const bool is_line = has_progress_line() && !settings.is_shown;
  StepWatch watch(spools.path, settings.steps, settings.limit);
  int64_t told = -1;
  ShortRun run;
  run.end = run_watched(settings.command, environment, streams, [&] {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin).count();
    if (is_line && seconds != std::exchange(told, seconds)) {
      show_progress_line(settings.progress + "; running, " + std::to_string(seconds) + " s");
    }
    return watch.is_enough();
  });
  signal(SIGPIPE, SIG_IGN);  // a closed reader must not end the search
  if (is_line) clear_progress_line();
  if (run.end.interrupted_by != 0 || !run.end.started) {
    remove_spool_folder(spools.path);
    if (!run.end.started) return Error{run.end.error, ErrorKind::command_failed};
    return std::optional<ShortRun>();
  }
  run.is_late = run.end.was_ended && watch.is_late();
  run.written = end_of_file(settings.files.log);

  trace::SealOptions sealing;
  sealing.directory = spools.path;
  sealing.command = text::shell_quote(settings.command);
  auto sealed = settings.files.seal(sealing);
  remove_spool_folder(spools.path);
  if (!sealed) return sealed.error();
  if (settings.is_kept) settings.files.note(*sealed);
  run.sealed = std::move(*sealed);
  return std::optional(std::move(run));
}

std::string why_incomplete(const trace::SealSummary& sealed) {
  if (sealed.processes.empty()) return "no process of it ran an operator of a LibTorch that can be recorded";
  return lacks_events(sealed) ? "its recording is not complete: is the disk full?" : "";
}

std::chrono::nanoseconds read_limit(const std::string& text) {
  const auto limit = parse_duration(text);
  if (!limit) throw CLI::ValidationError("--limit", "'" + text + "' is not a time, like 120s or 10m");
  return std::chrono::nanoseconds(*limit);
}

uint64_t read_steps(const std::string& text, uint64_t least) {
  if (text == "all") return 0;
  uint64_t steps = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, steps);
  if (error != std::errc() || rest != end || steps < least) {
    throw CLI::ValidationError("--steps", "'" + text + "' is neither " + std::to_string(least) + " or more nor all");
  }
  return steps;
}

trace::Result<std::string> folder_for_runs(const std::string& keep, std::optional<TemporaryFolder>& temporary) {
  if (keep.empty()) {
    temporary.emplace();
    if (!*temporary) return Error{temporary->reason()};
    return temporary->path();
  }
  std::error_code error;
  fs::create_directories(keep, error);
  if (error) return Error{keep + ": " + error.message()};
  return fs::absolute(keep, error).string();
}

trace::Status KeptRun::check() const {
  if (auto may = trace::Output::check(recording_of(*this)); !may || log.empty()) return may;
  return trace::Output::check(log_of(*this));
}

trace::Result<trace::SealSummary> KeptRun::seal(const trace::SealOptions& options) const {
  if (spools_in(options.directory).empty()) return trace::SealSummary{};
  return seal_into(recording_of(*this), options, {}, /*has_summary=*/false);
}

void KeptRun::note(const trace::SealSummary& sealed) const {
  if (!sealed.processes.empty() || log.empty()) return;
  const OpenFile file(log, O_WRONLY | O_APPEND);
  if (file.descriptor() >= 0 && write(file.descriptor(), kNoRecording.data(), kNoRecording.size()) < 0) return;
}

}  // namespace tapelens::cli
