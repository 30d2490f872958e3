// Memory limits of a run: "peak<=6GiB", "peak[GPT.blocks.*]@cuda:0<=2GiB", "allocations<=5000".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/compare/run_figures.h"

namespace tapelens::compare {

// saved: the most bytes kept for the backward when one begins; allocations: the number in a step.
enum class Metric : uint8_t { peak, saved, reserved, allocations };
const char* metric_name(Metric metric);
inline bool is_bytes(Metric metric) { return metric != Metric::allocations; }
// None if the device has no such figure.
std::optional<int64_t> value_of(const DeviceFigures& device, Metric metric);
// "19.0 MiB", "64"
std::string value_text(Metric metric, int64_t value);

struct MemoryBudget {
  std::string text;  // as typed
  Metric metric{};
  std::string module;  // pattern: limits the bytes that matching modules hold at the peak; empty: all bytes
  std::string device;  // empty: every device
  int64_t most = 0;
};

// A malformed limit is an error of kind usage.
trace::Result<MemoryBudget> parse_budget(std::string_view text);

// Whether a module matches the pattern or is inside a module that does. '*' matches one part of a path.
bool is_within(std::string_view module, std::string_view pattern);

// The bytes that modules under a pattern hold at the peak; none if this device's peak has no such module.
std::optional<Bytes> held_by(const DeviceFigures& device, std::string_view pattern);

}  // namespace tapelens::compare
