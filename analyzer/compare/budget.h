// What a run may take at most: "peak<=6GiB", "peak[GPT.blocks.*]@cuda:0<=2GiB", "allocations<=5000".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/compare/snapshot.h"

namespace tapelens::compare {

// saved: the most that is kept for the backward when one begins; allocations: in a step.
enum class Metric : uint8_t { peak, saved, reserved, allocations };
const char* metric_name(Metric metric);
inline bool is_bytes(Metric metric) { return metric != Metric::allocations; }
// None: it is not known of that device.
std::optional<int64_t> value_of(const DeviceFigures& device, Metric metric);
// "19.0 MiB", "64"
std::string value_text(Metric metric, int64_t value);

struct Budget {
  std::string text;  // as typed
  Metric metric{};
  std::string module;  // pattern: what modules under it hold at the peak; empty: all
  std::string device;  // empty: each
  int64_t most = 0;
};

using ParseBytes = std::function<std::optional<uint64_t>(std::string_view)>;
// An error of kind usage says what is wrong with it.
trace::Result<Budget> parse_budget(std::string_view text, const ParseBytes& parse_bytes);

// Whether a module is what the pattern names, or inside of it. '*' is any one part of a path.
bool is_within(std::string_view module, std::string_view pattern);

// What the modules under a pattern hold at the peak; none: there is no such module in this device's peak.
std::optional<Bytes> held_by(const DeviceFigures& device, std::string_view pattern);

}  // namespace tapelens::compare
