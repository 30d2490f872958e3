#include "cli/budget_runs.h"

#include <unistd.h>

#include "analyzer/budget/budget_text.h"
#include "analyzer/report/format.h"
#include "cli/messages.h"
#include "cli/short_run.h"

namespace tapelens::cli {
namespace {

using budget::Outcome;
using budget::Point;

void judge(Point& point, const ShortRun& run, uint64_t steps) {
  const budget::Reading& reading = point.reading;
  std::string incomplete = why_incomplete(run.sealed);
  if (incomplete.empty()) incomplete = reading.left_out;
  if (!reading.full.empty()) {
    point.outcome = Outcome::out_of_memory;
    point.why = reading.full + (run.ended_badly() ? "" : "; the program went on without it");
  } else if (run.is_late) {
    point.outcome = Outcome::cut_off;
    point.why = late_text(reading.steps, steps);
  } else if (run.ended_badly()) {
    point.outcome = Outcome::failed;
    point.why = ended_text(run.end.exit_code);
    point.last_words = last_lines(run.written);
  } else if (!incomplete.empty()) {
    point.outcome = Outcome::failed;
    point.why = incomplete;
  } else {
    point.outcome = Outcome::measured;
  }
}

// Puts the caches on disk into `folder` and turns remote caches off. Otherwise a run could reuse compiled code, or a
// profile of shapes, from an earlier run.
Environment caches_in(const std::string& folder) {
  return {{"TORCHINDUCTOR_CACHE_DIR", folder + "/inductor"}, {"TRITON_CACHE_DIR", folder + "/triton"},
          {"TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE", "0"},      {"TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE", "0"},
          {"TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE", "0"},      {"TORCHINDUCTOR_BUNDLED_AUTOTUNE_REMOTE_CACHE", "0"},
          {"TORCH_DYNAMO_AUTOMATIC_DYNAMIC_LOCAL_PGO", "0"}, {"TORCH_DYNAMO_AUTOMATIC_DYNAMIC_REMOTE_PGO", "0"}};
}

}  // namespace

BudgetRuns::BudgetRuns(Common common, const std::optional<simulated::Settings>& gpu)
    : common_(std::move(common)), simulation_(gpu, common_.command) {}

const std::string& BudgetRuns::reason() const {
  if (!preload_.reason().empty()) return preload_.reason();
  return caches_ ? simulation_.reason() : caches_.reason();
}

trace::Result<std::optional<Point>> BudgetRuns::run(double budget) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string name = budget::budget_name(budget);
  const std::string files = common_.folder + "/budget-" + name;
  auto made = short_run({.command = common_.command,
                         .files = {files + ".tapelens", files + ".log", common_.is_forced, common_.inputs},
                         .is_kept = common_.is_kept,
                         .steps = common_.steps,
                         .limit = common_.limit,
                         .is_shown = common_.is_shown,
                         .progress = "budget " + name + ", run " + std::to_string(++begun_) + " of at most " +
                                     std::to_string(common_.runs),
                         .environment = caches_in(caches_.path()),
                         .activation_budget = name},
                        preload_, simulation_);
  if (!made) return made.error();
  if (!*made) return std::optional<Point>();
  const ShortRun& run = **made;
  Point point;
  point.budget = budget;
  point.was_ended = run.end.was_ended;
  point.exit_code = run.end.was_ended ? 0 : run.end.exit_code;
  if (!run.sealed.processes.empty()) {
    auto reading = budget::read_recording(files + ".tapelens");
    if (!reading) return reading.error();
    point.reading = std::move(*reading);
  }
  judge(point, run, common_.steps);
  if (!common_.is_kept) {
    unlink((files + ".tapelens").c_str());
    unlink((files + ".log").c_str());
  }
  point.duration_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  if (!has_progress_line() || common_.is_shown) {
    say("budget " + name + ": " + outcome_text(point) + " (" + report::time_text(trace::Time{point.duration_ns}) + ")");
  }
  return std::optional(std::move(point));
}

}  // namespace tapelens::cli
