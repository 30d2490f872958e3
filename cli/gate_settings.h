// What `tapelens check` is to hold a run to: tapelens.toml, and options over it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/result.h"

namespace tapelens::cli {

inline constexpr const char* kSettingsFile = "tapelens.toml";

// As it was written; what is not there is empty.
struct GateSettings {
  std::string baseline;  // relative to where tapelens was started
  std::vector<std::string> budgets;
  std::string tolerance, fail_on;
};

// The [check] table of a file. An error names the file, the line and the key.
trace::Result<GateSettings> read_settings(const std::string& file);

// "1%", "0.5 %", "0"; nothing if it is no share from 0 to 1000 %.
std::optional<double> parse_tolerance(std::string_view text);

}  // namespace tapelens::cli
