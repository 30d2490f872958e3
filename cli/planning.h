// The rewrites of `--fit` of run and verify: short runs of the command until the cheapest ones that fit are known.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/plan/plan.h"
#include "policy/wire.h"
#include "simulated/settings/settings.h"

namespace tapelens::cli {

struct Planned {
  policy::RewriteSettings rewrites;  // off: the program fits without them
  plan::Plan plan;                   // has a choice; empty: a kept plan is used
  int exit_code = 0;                 // not 0: nothing was found, and the user knows why
  std::string gpu{};                 // simulated by the runs; empty: the machine's own, or a kept plan
};

// Declares --fit.
void add_fit_option(CLI::App& sub, std::string& size);
// In bytes. "gpu" is the memory of the GPU that the program can use, which a line says. `gpu`: simulated; none: of this
// machine. Throws CLI::ValidationError.
uint64_t size_to_fit(const std::string& text, const std::optional<simulated::GpuSettings>& gpu);

struct ToFit {
  uint64_t size = 0;                            // bytes
  std::optional<uint64_t> host_memory{};        // of --host-memory
  std::optional<simulated::GpuSettings> gpu{};  // simulated; none: the machine's own devices
  std::string gpu_text;                         // of --gpu
  std::vector<std::string> command;
  // Without `gpu`: plan on simulated GPUs like those of the machine, if these are known.
  bool may_simulate = true;
};

// The use of kept plans (plan_cache.h).
enum class KeptPlans : uint8_t { use, replace, ignore };

// Runs the first steps of the command several times, unless a kept plan holds. Without a simulated GPU in `wanted`, the
// runs are on simulated GPUs like those of the machine, and on the machine's own devices if that is not possible.
Planned plan_to_fit(const ToFit& wanted, KeptPlans kept);

}  // namespace tapelens::cli
