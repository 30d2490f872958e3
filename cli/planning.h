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
  policy::Settings rewrites;  // off: the program fits as it is
  plan::Plan plan;            // has a choice
  int exit_code = 0;          // not 0: nothing was found, and the user knows why
};

// Declares --fit.
void add_fit_option(CLI::App& sub, std::string& size);
// In bytes. Throws CLI::ValidationError.
uint64_t size_to_fit(const std::string& text);

// Runs the first steps of the command several times. `gpu`: simulated.
Planned plan_to_fit(uint64_t size, const std::optional<simulated::Settings>& gpu,
                    const std::vector<std::string>& command);

}  // namespace tapelens::cli
