// The rewrites of `tapelens run --fit`: short runs of the command until the cheapest ones that fit are known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/wire.h"
#include "simulated/settings/settings.h"

namespace tapelens::cli {

struct Planned {
  policy::Settings rewrites;  // off: the program fits as it is
  int exit_code = 0;          // not 0: nothing was found, and the user knows why
};

// Runs the first steps of the command several times. `gpu`: simulated, with `size` as its memory.
Planned plan_to_fit(uint64_t size, const std::optional<simulated::Settings>& gpu,
                    const std::vector<std::string>& command);

}  // namespace tapelens::cli
