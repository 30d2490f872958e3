#include "cli/fit_runs.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "analyzer/fit/fit_text.h"
#include "analyzer/fit/reading.h"
#include "analyzer/report/escape.h"
#include "analyzer/report/format.h"
#include "cli/applying.h"
#include "cli/messages.h"
#include "cli/short_run.h"
#include "cli/tally.h"

namespace tapelens::cli {
namespace {

using fit::Outcome;
using fit::Point;
using trace::Error;

// Whether the output says that a library outside of PyTorch's allocator ran out of memory.
bool says_full(const std::string& text) {
  return std::ranges::any_of(
      std::initializer_list<const char*>{"CUDA out of memory", "CUDA error: out of memory",
                                         "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED"},
      [&](const char* words) { return text.find(words) != std::string::npos; });
}

// Why a run does not give a valid peak; empty if it does.
std::string unknown(const trace::SealSummary& sealed, const fit::Reading& reading) {
  if (std::string why = why_incomplete(sealed); !why.empty()) return why;
  if (!reading.left_out.empty()) return reading.left_out;
  return reading.uses_gpu ? "" : "it allocated nothing on a GPU";
}

void judge(Point& point, const ShortRun& run, uint64_t steps, const fit::Reading& reading) {
  const std::string why = unknown(run.sealed, reading);
  if (!reading.full.empty()) {
    point.outcome = Outcome::does_not_fit;
    point.why = reading.full;
    point.went_on = !run.ended_badly();
  } else if (run.ended_badly() && says_full(run.written)) {
    point.outcome = Outcome::does_not_fit;
    point.why = "the program's output shows that a library outside of PyTorch's allocator had no room";
  } else if (run.is_late) {
    point.outcome = Outcome::cut_off;
    point.why = late_text(point.steps, steps);
  } else if (run.ended_badly()) {
    point.outcome = Outcome::failed;
    point.why = ended_text(run.end.exit_code);
    point.last_words = last_lines(run.written);
  } else if (!why.empty()) {
    point.outcome = Outcome::failed;
    point.why = why;
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
  if (!rewriting.reason().empty()) return Error{rewriting.reason()};
  const Files files = files_of(setting, size);
  auto run = short_run({.command = command_with(size),
                        .files = {files.recording, files.log, common_.is_forced, common_.inputs},
                        .is_kept = common_.is_kept,
                        .steps = common_.steps,
                        .limit = common_.limit,
                        .is_shown = common_.is_shown,
                        .progress = progress_,
                        .environment = rewriting.environment()},
                       preload_, simulation);
  if (!run) return run.error();
  if (!*run) return std::optional<Point>();
  const ShortRun& made = **run;

  Point point;
  fit::Reading reading;
  if (!made.sealed.processes.empty()) {
    auto read = fit::read_recording(files.recording);
    if (!read) return read.error();
    reading = std::move(*read);
    if (!common_.is_kept) unlink(files.recording.c_str());
  }
  point.allocated = reading.allocated;
  point.reserved = reading.reserved;
  point.was_ended = made.end.was_ended;
  point.exit_code = made.end.was_ended ? 0 : made.end.exit_code;
  point.steps = reading.steps;
  point.fewest_steps = reading.fewest_steps;
  point.grew = made.end.was_ended && reading.grew;
  point.value_reads = reading.value_reads;
  if (!setting.apply.empty()) {
    const Tally tally = rewriting.tally();
    point.was_rewritten = !tally.applied.empty();
    point.rewritten = describe(tally);
  }
  judge(point, made, common_.steps, reading);
  if (!common_.is_kept) unlink(files.log.c_str());
  point.duration_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  if (!has_progress_line() || common_.is_shown) {
    say(setting.gpu + (setting.apply.empty() ? "" : " with " + setting.apply) +
        (size == 0 ? "" : ", size " + std::to_string(size)) + ": " + outcome_text(point) + " (" +
        report::time_text(trace::Time{point.duration_ns}) + ")");
  }
  return std::optional(std::move(point));
}

}  // namespace tapelens::cli
