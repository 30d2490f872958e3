#include "cli/fit_runs.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "analyzer/fit/fit_text.h"
#include "analyzer/fit/reading.h"
#include "analyzer/report/escape.h"
#include "analyzer/report/format.h"
#include "cli/applying.h"
#include "cli/child.h"
#include "cli/messages.h"
#include "cli/open_file.h"
#include "cli/recording_environment.h"
#include "cli/spool_folder.h"
#include "cli/step_watch.h"
#include "cli/tally.h"
#include "trace/seal.h"

namespace tapelens::cli {
namespace {

using fit::Outcome;
using fit::Point;
using trace::Error;
using trace::ErrorKind;

constexpr size_t kLastLines = 12;  // of a run that failed

std::string last_lines(const std::string& text) {
  size_t at = text.size();
  for (size_t lines = 0; at > 0 && lines <= kLastLines; --at) lines += text[at - 1] == '\n' ? 1 : 0;
  return report::printable_lines(at == 0 ? text : text.substr(at + 1));
}

// What a program says that a library outside of PyTorch's allocator had no memory for.
bool says_full(const std::string& text) {
  return std::ranges::any_of(
      std::initializer_list<const char*>{"CUDA out of memory", "CUDA error: out of memory",
                                         "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED"},
      [&](const char* words) { return text.find(words) != std::string::npos; });
}

std::string ended_text(int exit_code) {
  if (exit_code == 128 + SIGKILL) return "killed (exit code 137): perhaps this machine's own memory was full";
  return "exit code " + std::to_string(exit_code);
}

// Why a run says nothing of the memory; empty: it does.
std::string unknown(const trace::SealSummary& sealed, const fit::Reading& reading) {
  if (sealed.processes.empty()) return "no process of it ran an operator of a LibTorch that can be recorded";
  const bool is_incomplete =
      std::ranges::any_of(sealed.losses, [](const trace::SealLoss& loss) { return leaves_events_out(loss.kind); });
  if (is_incomplete) return "its recording is not complete: is the disk full?";
  if (!reading.left_out.empty()) return reading.left_out;
  return reading.uses_gpu ? "" : "it allocated nothing on a GPU";
}

void judge(Point& point, const WatchedEnd& end, bool is_late, const std::string& unknown, uint64_t steps,
           const fit::Reading& reading, const std::string& written) {
  const bool ended_badly = !end.was_ended && end.exit_code != 0;
  if (!reading.full.empty()) {
    point.outcome = Outcome::does_not_fit;
    point.why = reading.full;
    point.went_on = !ended_badly;
  } else if (ended_badly && says_full(written)) {
    point.outcome = Outcome::does_not_fit;
    point.why = "by what the program wrote, a library outside of PyTorch's allocator had no room";
  } else if (is_late) {
    point.outcome = Outcome::cut_off;
    point.why = report::plural(point.steps, "step", "steps") +
                (steps > 0 ? " of " + std::to_string(steps) + " had ended" : " had ended, and the program had not") +
                " when its time was up (--limit)";
  } else if (ended_badly) {
    point.outcome = Outcome::failed;
    point.why = ended_text(end.exit_code);
    point.last_words = last_lines(written);
  } else if (!unknown.empty()) {
    point.outcome = Outcome::failed;
    point.why = unknown;
  } else {
    point.outcome = Outcome::fits;
  }
}

}  // namespace

std::string SimulatedRuns::add_gpu(const std::string& gpu, const simulated::Settings& settings) {
  auto& simulation = simulations_[gpu];
  simulation = std::make_unique<Simulation>(settings, common_.command);
  return simulation->reason();
}

std::vector<std::string> SimulatedRuns::command_with(uint64_t size) const {
  std::vector<std::string> command = common_.command;
  if (size == 0) return command;
  const std::string number = std::to_string(size);
  for (std::string& word : command) {
    for (size_t at = 0; (at = word.find(common_.placeholder, at)) != std::string::npos; at += number.size()) {
      word.replace(at, common_.placeholder.size(), number);
    }
  }
  return command;
}

SimulatedRuns::Files SimulatedRuns::files_of(const fit::Setting& setting, uint64_t size) const {
  std::string name =
      setting.gpu + (setting.apply.empty() ? "" : "-" + setting.apply) + (size == 0 ? "" : "-" + std::to_string(size));
  for (char& c : name) c = isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ? c : '_';
  return {common_.folder + "/" + name + ".tapelens", common_.folder + "/" + name + ".log"};
}

void SimulatedRuns::tell(const fit::Series& series, uint64_t next) {
  progress_ = series.setting.gpu + (series.setting.apply.empty() ? "" : " with " + series.setting.apply);
  if (next != 0) progress_ += ", size " + std::to_string(next);
  std::string known;
  if (const Point* fits = fit::largest(series); fits != nullptr) known = std::to_string(fits->size) + " fits";
  if (const Point* full = fit::too_large(series); full != nullptr) {
    known += (known.empty() ? "" : ", ") + std::to_string(full->size) + " does not";
  }
  if (!known.empty()) progress_ += "; " + known;
}

trace::Result<std::optional<Point>> SimulatedRuns::run(const fit::Setting& setting, uint64_t size) {
  const auto begin = std::chrono::steady_clock::now();
  const Simulation& simulation = *simulations_.at(setting.gpu);
  const Rewriting rewriting(setting.apply.empty() ? rewrites::Settings() : common_.rewrites);
  const Files files = files_of(setting, size);
  const SpoolFolder spools = make_spool_folder(files.recording, {}, /*discard=*/true);
  for (const std::string& reason : {rewriting.reason(), spools.reason}) {
    if (!reason.empty()) return Error{reason};
  }
  Environment environment = rewriting.environment();
  std::ranges::move(preload_.environment(simulation.preloads()), std::back_inserter(environment));
  std::ranges::copy(simulation.environment(), std::back_inserter(environment));
  const std::string steps = common_.steps > 0 ? "0:" + std::to_string(common_.steps) : "";
  std::ranges::move(environment_of(RecordingSettings{.spool = spools.path, .steps = steps, .quiet = true}),
                    std::back_inserter(environment));

  const OpenFile nothing("/dev/null", O_RDONLY);
  const OpenFile log(files.log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
  if (log.descriptor() < 0) return Error{files.log + ": " + std::strerror(errno)};
  Streams streams{nothing.descriptor(), log.descriptor(), log.descriptor()};
  if (common_.is_shown) streams.output = streams.error = STDERR_FILENO;

  const std::vector<std::string> command = command_with(size);
  const bool is_line = has_progress_line() && !common_.is_shown;
  StepWatch watch(spools.path, common_.steps, common_.limit);
  int64_t told = -1;
  const WatchedEnd end = run_watched(command, environment, streams, [&] {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin).count();
    if (is_line && seconds != std::exchange(told, seconds)) {
      show_progress_line(progress_ + "; running, " + std::to_string(seconds) + " s");
    }
    return watch.is_enough();
  });
  signal(SIGPIPE, SIG_IGN);  // a reader of ours that is gone must not end the search
  if (is_line) clear_progress_line();
  if (end.interrupted_by != 0 || !end.started) {
    remove_spool_folder(spools.path);
    if (!end.started) return Error{end.error, ErrorKind::command_failed};
    return std::optional<Point>();
  }

  Point point;
  trace::SealOptions sealing;
  sealing.directory = spools.path;
  sealing.output = files.recording;
  sealing.command = report::shell_quote(command);
  const auto sealed = spools_in(spools.path).empty() ? trace::SealSummary{} : trace::seal(sealing);
  remove_spool_folder(spools.path);
  if (!sealed) return sealed.error();
  fit::Reading reading;
  if (!sealed->processes.empty()) {
    auto read = fit::read_recording(files.recording);
    if (!read) return read.error();
    reading = std::move(*read);
    if (!common_.is_kept) unlink(files.recording.c_str());
  }
  point.allocated = reading.allocated;
  point.reserved = reading.reserved;
  point.was_ended = end.was_ended;
  point.exit_code = end.was_ended ? 0 : end.exit_code;
  point.steps = reading.steps;
  point.fewest_steps = reading.fewest_steps;
  point.grew = end.was_ended && reading.grew;
  point.value_reads = reading.value_reads;
  if (!setting.apply.empty()) {
    const Tally tally = rewriting.tally();
    point.was_rewritten = !tally.applied.empty();
    point.rewritten = describe(tally);
  }
  judge(point, end, end.was_ended && watch.is_late(), unknown(*sealed, reading), common_.steps, reading,
        end_of_file(files.log));
  if (!common_.is_kept) unlink(files.log.c_str());
  point.duration_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  if (!is_line) {
    say(setting.gpu + (setting.apply.empty() ? "" : " with " + setting.apply) +
        (size == 0 ? "" : ", size " + std::to_string(size)) + ": " + outcome_text(point) + " (" +
        report::time_text(trace::Time{point.duration_ns}) + ")");
  }
  return std::optional(std::move(point));
}

}  // namespace tapelens::cli
