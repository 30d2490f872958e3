#include "cli/experiment_runs.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "cli/applying.h"
#include "cli/messages.h"
#include "cli/short_run.h"
#include "cli/tally.h"

namespace tapelens::cli {

using experiment::Attempt;
using trace::Error;

std::string ExperimentRuns::add_gpu(const std::string& gpu, const std::optional<simulated::GpuSettings>& settings) {
  auto& simulation = simulations_[gpu];
  simulation = std::make_unique<Simulation>(settings, common_.command);
  return simulation->reason();
}

std::vector<std::string> ExperimentRuns::command_with(uint64_t size) const {
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

// Puts the caches on disk into a folder and turns remote caches off. Otherwise a run could reuse compiled code, or a
// profile of shapes, from an earlier run.
trace::Result<Environment> ExperimentRuns::caches() {
  if (!caches_) caches_.emplace();
  if (!*caches_) return Error{caches_->reason()};
  const std::string& folder = caches_->path();
  return Environment{
      {"TORCHINDUCTOR_CACHE_DIR", folder + "/inductor"}, {"TRITON_CACHE_DIR", folder + "/triton"},
      {"TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE", "0"},      {"TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE", "0"},
      {"TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE", "0"},      {"TORCHINDUCTOR_BUNDLED_AUTOTUNE_REMOTE_CACHE", "0"},
      {"TORCH_DYNAMO_AUTOMATIC_DYNAMIC_LOCAL_PGO", "0"}, {"TORCH_DYNAMO_AUTOMATIC_DYNAMIC_REMOTE_PGO", "0"}};
}

void ExperimentRuns::tell(const std::string& result) {
  if (!has_progress_line() || common_.is_shown) say(result);
}

trace::Result<std::optional<Attempt>> ExperimentRuns::run(const experiment::Variation& variation,
                                                          const std::string& progress) {
  const auto begin = std::chrono::steady_clock::now();
  const Rewriting rewriting(variation.rewrites);
  if (!rewriting.reason().empty()) return Error{rewriting.reason()};
  Environment environment = rewriting.environment();
  if (variation.activation_budget) {
    auto of_caches = caches();
    if (!of_caches) return of_caches.error();
    std::ranges::move(*of_caches, std::back_inserter(environment));
  }
  const std::string files = common_.folder + "/" + variation.name;
  const std::string recording = files + ".tapelens", log = files + ".log";
  auto made = short_run({.command = command_with(variation.size),
                         .files = {recording, log, common_.is_forced, common_.inputs},
                         .is_kept = common_.is_kept,
                         .steps = common_.steps,
                         .limit = common_.limit,
                         .is_shown = common_.is_shown,
                         .progress = progress,
                         .environment = std::move(environment),
                         .activation_budget = variation.activation_budget},
                        preload_, *simulations_.at(variation.gpu));
  if (!made) return made.error();
  if (!*made) return std::optional<Attempt>();
  const ShortRun& run = **made;
  Attempt attempt;
  attempt.was_ended = run.end.was_ended;
  attempt.exit_code = run.end.was_ended ? 0 : run.end.exit_code;
  if (!run.sealed.processes.empty()) {
    auto measured = experiment::read_recording(recording);
    if (!measured) return measured.error();
    attempt.measured = std::move(*measured);
  }
  if (variation.rewrites.on) {
    const TallySums tally = rewriting.tally();
    attempt.was_rewritten = !tally.applied.empty();
    attempt.rewritten = describe(tally);
  }
  experiment::judge(attempt, {.steps = common_.steps,
                              .is_late = run.is_late,
                              .incomplete = why_incomplete(run.sealed),
                              .written = run.written,
                              .needs_gpu = common_.needs_gpu});
  if (!common_.is_kept) {
    unlink(recording.c_str());
    unlink(log.c_str());
  }
  attempt.duration_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  return std::optional(std::move(attempt));
}

}  // namespace tapelens::cli
