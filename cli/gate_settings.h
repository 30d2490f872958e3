// The settings of `tapelens check`: tapelens.toml, overridden by options.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/result.h"

namespace tapelens::cli {

inline constexpr const char* kSettingsFile = "tapelens.toml";

// The settings as written; missing ones are empty.
struct GateSettings {
  std::string baseline;  // relative to the working directory
  std::vector<std::string> budgets;
  std::string tolerance, fail_on;
};

// Reads the [check] table of a file. An error names the file, the line and the key.
trace::Result<GateSettings> read_settings(const std::string& file);

// Reads "1%", "0.5 %" or "0"; empty unless it is a share from 0 to 1000 %.
std::optional<double> parse_tolerance(std::string_view text);

}  // namespace tapelens::cli
