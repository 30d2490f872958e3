#include "cli/planning.h"

#include <chrono>
#include <sstream>
#include <utility>

#include "analyzer/plan/plan.h"
#include "analyzer/plan/plan_text.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"
#include "cli/experiment_runs.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_cache.h"
#include "cli/scoped_files.h"
#include "cli/short_run.h"
#include "cli/text.h"

namespace tapelens::cli {
namespace {

// The optimizer's state is there from the second step on, and the recompute budget is decided after the first backward.
constexpr uint64_t kSteps = 3;
constexpr std::chrono::minutes kLimit{10};  // of each run

// Variation::gpu: a GPU of the wanted size, and one with more memory than any program needs.
const char* const kSmall = "planned";
const char* const kRoomy = "roomy";
constexpr uint64_t kRoomyBytes = uint64_t{1} << 40;

std::string kept_text(const KeptPlan& kept) {
  return "uses the plan of " + kept.made + ", " + (kept.options.empty() ? "without rewrites" : kept.options) +
         ", which needs " + text::bytes_text(kept.bytes) + "; --replan makes a new one";
}

Planned planned_by_runs(const ToFit& to_fit) {
  const auto& [size, host_memory, gpu, gpu_text, command] = to_fit;
  std::optional<TemporaryFolder> temporary;
  auto folder = folder_for_runs("", temporary);
  if (!folder) return {{}, {}, fail(folder.error())};
  ExperimentRuns runs({.command = command,
                       .folder = std::move(*folder),
                       .steps = kSteps,
                       .limit = kLimit,
                       .inputs = files_in_command(command)});
  if (!runs.reason().empty()) return {{}, {}, fail({runs.reason(), trace::ErrorKind::usage})};
  plan::Constraints wanted{.size = plan::Bytes{static_cast<int64_t>(size)},
                           .gpu = kSmall,
                           .roomy = gpu ? kRoomy : "",
                           .host_memory = host_memory};
  std::optional<simulated::GpuSettings> device = gpu;
  if (device) device->bytes = size;
  std::string why = runs.add_gpu(kSmall, device);
  if (device) device->bytes = kRoomyBytes;
  if (device && why.empty()) why = runs.add_gpu(kRoomy, device);
  if (!why.empty()) return {{}, {}, fail({why, trace::ErrorKind::usage})};
  auto plan = plan::find(runs, wanted);
  if (!plan) return {{}, {}, fail(plan.error())};
  if (plan->stop == plan::Stop::interrupted) return {{}, {}, 130};
  say(text::printable(plan::plan_text(*plan)));
  std::istringstream words(experiment::last_words_text(plan->tried.front(), ""));
  for (std::string line; plan->stop == plan::Stop::failed && std::getline(words, line);) say(text::printable(line));
  if (!plan->chosen) return {{}, {}, plan->stop == plan::Stop::failed ? kCommandFailed : kNo};
  policy::RewriteSettings rewrites = plan::settings_of(plan->tried[*plan->chosen].choice);
  return {std::move(rewrites), std::move(*plan), 0};
}

}  // namespace

void add_fit_option(CLI::App& sub, std::string& size) {
  sub.add_option("--fit", size,
                 "Apply the cheapest rewrites with which the command needs at most this memory: reserved by a GPU, or "
                 "at the peak on the CPU")
      ->type_name("SIZE");
}

uint64_t size_to_fit(const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes == 0) throw CLI::ValidationError("--fit", "'" + text + "' is not a size, like 24GiB");
  return *bytes;
}

Planned plan_to_fit(const ToFit& to_fit, KeptPlans kept) {
  std::optional<PlanCache> cache;
  if (kept != KeptPlans::ignore) cache.emplace(to_fit);
  if (kept == KeptPlans::use) {
    if (auto found = cache->read()) {
      say(text::printable(kept_text(*found)));
      return {std::move(found->rewrites), {}, 0};
    }
  }
  Planned planned = planned_by_runs(to_fit);
  if (cache && planned.exit_code == 0) cache->write(planned.plan);
  return planned;
}

}  // namespace tapelens::cli
