#include "cli/planning.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <utility>
#include <variant>

#include "analyzer/plan/plan.h"
#include "analyzer/plan/plan_text.h"
#include "analyzer/text/escape.h"
#include "analyzer/text/format.h"
#include "cli/commands.h"
#include "cli/experiment_runs.h"
#include "cli/machine_gpus.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_cache.h"
#include "cli/scoped_files.h"
#include "cli/short_run.h"
#include "cli/text.h"
#include "cli/torch_fit.h"
#include "simulated/stubs/stub_library.h"

namespace tapelens::cli {
namespace {

// The optimizer's state is there from the second step on, and the recompute budget is decided after the first backward.
constexpr uint64_t kSteps = 3;
constexpr std::chrono::minutes kLimit{10};  // of each run

// Variation::gpu: a GPU of the wanted size, and one with more memory than any program needs.
const char* const kSmall = "planned";
const char* const kRoomy = "roomy";
constexpr uint64_t kRoomyBytes = uint64_t{1} << 40;
constexpr uint64_t kLeastSize = uint64_t{1} << 20;  // a smaller size has no unit, or the wrong one
constexpr uint64_t kRounding = uint64_t{64} << 20;  // for the memory of a GPU

std::string kept_text(const KeptPlan& kept) {
  return "uses the plan of " + kept.made + ", " + (kept.options.empty() ? "without rewrites" : kept.options) +
         ", which needs " + text::bytes_text(kept.bytes) + "; --replan makes a new one";
}

// No GPU can be simulated for this command.
struct NotSimulated {
  std::string why;
};

std::variant<Planned, NotSimulated> planned_by_runs(const ToFit& to_fit) {
  const auto& [size, host_memory, gpu, gpu_text, command, may_simulate] = to_fit;
  std::optional<TemporaryFolder> temporary;
  auto folder = folder_for_runs("", temporary);
  if (!folder) return Planned{{}, {}, fail(folder.error())};
  ExperimentRuns runs({.command = command,
                       .folder = std::move(*folder),
                       .steps = kSteps,
                       .limit = kLimit,
                       .inputs = files_in_command(command)});
  if (!runs.reason().empty()) return Planned{{}, {}, fail({runs.reason(), trace::ErrorKind::usage})};
  plan::Constraints wanted{.size = plan::Bytes{static_cast<int64_t>(size)},
                           .gpu = kSmall,
                           .roomy = gpu ? kRoomy : "",
                           .host_memory = host_memory};
  std::optional<simulated::GpuSettings> device = gpu;
  if (device) device->bytes = size;
  std::string why = runs.add_gpu(kSmall, device);
  if (device) device->bytes = kRoomyBytes;
  if (device && why.empty()) why = runs.add_gpu(kRoomy, device);
  if (!why.empty()) return NotSimulated{why};
  auto plan = plan::find(runs, wanted);
  if (!plan) return Planned{{}, {}, fail(plan.error())};
  if (plan->stop == plan::Stop::interrupted) return Planned{{}, {}, 130};
  say(text::printable(plan::plan_text(*plan)));
  std::istringstream words(experiment::last_words_text(plan->tried.front(), ""));
  for (std::string line; plan->stop == plan::Stop::failed && std::getline(words, line);) say(text::printable(line));
  if (!plan->chosen) return Planned{{}, {}, plan->stop == plan::Stop::failed ? kCommandFailed : kNo};
  policy::RewriteSettings rewrites = plan::settings_of(plan->tried[*plan->chosen].choice);
  return Planned{std::move(rewrites), std::move(*plan), 0};
}

// With simulated GPUs like those of this machine. None: no GPU is here, they are of no known card, or the program is
// not Python, so the versions of its CUDA libraries are not known.
std::optional<ToFit> simulated_here(const ToFit& to_fit) {
  if (to_fit.gpu || !to_fit.may_simulate || !stubs::kRunHere) return std::nullopt;
  if (interpreter_of(to_fit.command.front()).empty()) return std::nullopt;
  ToFit simulated = to_fit;
  simulated.gpu = simulated_like(gpus_of_programs());
  if (!simulated.gpu) return std::nullopt;
  simulated.gpu_text = simulated.gpu->name;
  return simulated;
}

// The devices on which to plan, the first choice first.
std::vector<ToFit> ways_of(const ToFit& to_fit) {
  std::vector<ToFit> ways;
  if (auto simulated = simulated_here(to_fit)) ways.push_back(std::move(*simulated));
  ways.push_back(to_fit);
  return ways;
}

uint64_t size_of_gpu(const std::optional<simulated::GpuSettings>& simulated) {
  std::string name;
  uint64_t bytes = 0, free = 0;
  if (simulated) {
    name = simulated->name;
    bytes = free = simulated->bytes;
  } else {
    const std::vector<MachineGpu>& gpus = gpus_of_programs();
    if (gpus.empty()) {
      throw CLI::ValidationError("--fit",
                                 "finds no GPU of NVIDIA here, or cannot tell which one the command uses: "
                                 "give a size, or simulate a GPU (--gpu H100)");
    }
    const auto least =
        std::ranges::min_element(gpus, {}, [](const MachineGpu& gpu) { return usable_bytes(gpu.free, gpu.name); });
    name = least->name;
    bytes = least->bytes;
    free = least->free;
  }
  // Rounded, so that the next run of the command uses the kept plan though other processes use some memory.
  const uint64_t size = usable_bytes(free, name) / kRounding * kRounding;
  if (size == 0) throw CLI::ValidationError("--fit", name + " has too little memory that is free");
  say(text::printable(name + " has " + text::bytes_text(model::Bytes{static_cast<int64_t>(bytes)}) +
                      "; without CUDA's context and the memory in use, " +
                      text::bytes_text(model::Bytes{static_cast<int64_t>(size)}) + " are left"));
  return size;
}

}  // namespace

void add_fit_option(CLI::App& sub, std::string& size) {
  sub.add_option("--fit", size,
                 "Apply the cheapest rewrites with which the command needs at most this memory: reserved by a GPU, or "
                 "at the peak on the CPU. gpu: the memory of the GPU, without CUDA's context")
      ->type_name("SIZE|gpu");
}

uint64_t size_to_fit(const std::string& text, const std::optional<simulated::GpuSettings>& gpu) {
  if (text == "gpu") return size_of_gpu(gpu);
  const auto bytes = parse_bytes(text);
  if (!bytes) throw CLI::ValidationError("--fit", "'" + text + "' is not a size, like 24GiB, or gpu");
  if (*bytes < kLeastSize) {
    const std::string shown = text::bytes_text(model::Bytes{static_cast<int64_t>(*bytes)});
    throw CLI::ValidationError("--fit", "'" + text + "' is " + shown + ": give a size with its unit, like 24GiB");
  }
  return *bytes;
}

Planned plan_to_fit(const ToFit& to_fit, KeptPlans kept) {
  const std::vector<ToFit> ways = ways_of(to_fit);
  std::vector<PlanCache> caches;
  if (kept != KeptPlans::ignore) {
    for (const ToFit& way : ways) caches.emplace_back(way);
  }
  for (const PlanCache& cache : caches) {
    if (kept != KeptPlans::use) break;
    if (auto found = cache.read()) {
      say(text::printable(kept_text(*found)));
      return {std::move(found->rewrites), {}, 0};
    }
  }
  for (size_t way = 0;; ++way) {
    const bool is_last = way + 1 == ways.size();
    if (!is_last) {
      say(text::printable("plans on a simulated " + ways[way].gpu_text +
                          ", then runs the command on this machine's; --plan-on-device measures on it"));
    }
    auto made = planned_by_runs(ways[way]);
    if (const auto* reason = std::get_if<NotSimulated>(&made)) {
      if (is_last) return {{}, {}, fail({reason->why, trace::ErrorKind::usage})};
      say(text::printable(reason->why + "; plans on this machine's GPU instead"));
      continue;
    }
    Planned& planned = std::get<Planned>(made);
    if (!is_last && planned.exit_code == kCommandFailed) {
      say("plans on this machine's GPU instead");
      continue;
    }
    planned.gpu = ways[way].gpu_text;
    if (!caches.empty() && planned.exit_code == 0) caches[way].write(planned.plan);
    return std::move(planned);
  }
}

}  // namespace tapelens::cli
