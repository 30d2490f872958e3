// What a recording says in 64 KiB: of each of its processes the peak and who held it, the curve, findings, and how it
// ended. Sealed files carry it as JSON (trace/sealed_summary.h), so that a thousand ranks are read in a second.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/advise/checks.h"
#include "analyzer/peak/analysis.h"
#include "analyzer/ranks/curve.h"
#include "trace/recording.h"
#include "trace/result.h"

namespace tapelens::ranks {

using model::Bytes;
using model::Time;

// What a peak is summed by.
enum class By : uint8_t { category, field, module, line };
inline constexpr std::array<const char*, 4> kByNames = {"category", "field", "module", "line"};

struct Sum {
  std::string key;
  Bytes bytes;
  uint64_t allocations = 0;
};
// The most bytes first. What is not listed is no more than the last one that is.
struct Sums {
  std::vector<Sum> rows;
  uint64_t left_out = 0;
  Bytes rest;  // of those
};

struct DeviceSummary {
  std::string device;
  Bytes peak;
  std::optional<Bytes> reserved_peak;  // none: not known
  uint32_t peak_step = 0;
  std::string peak_phase;
  std::array<Sums, kByNames.size()> by;  // each adds up to the peak
  Curve curve;
};

struct OutOfMemory {
  std::string device;
  Bytes bytes;
  uint32_t step = 0;
  std::string op, module, source;
};

struct Finding {
  std::string id, check, severity, title;  // id: the fingerprint
  std::string module, field, source;
  Bytes bytes, gain;  // by how much the peak is lower without it
};

struct RankSummary {
  int32_t rank = -1;  // -1: not known, or none
  uint32_t world_size = 0, pid = 0;
  std::string host;
  std::string mesh_coordinate;  // "dp=1 tp=3": its place in the device mesh of the parameters; empty: none
  bool finished = false;
  std::optional<uint8_t> exit_code;
  uint64_t begin_ns = 0, end_ns = 0;   // since 1970, by the host's clock: its first and last event
  uint64_t steps = 0;                  // whole ones that there were, recorded or not
  std::vector<DeviceSummary> devices;  // the largest peak first
  uint64_t out_of_memory = 0;
  std::optional<OutOfMemory> last_out_of_memory;
  std::vector<std::string> lost;  // kinds of data that is missing: "disk_full"
  // Of the device with the largest peak. None: they were not looked for.
  std::optional<std::vector<Finding>> findings;
  uint64_t devices_left_out = 0, findings_left_out = 0;  // of a summary that would be too large with them

  bool ended_well() const { return finished && exit_code.value_or(0) == 0 && out_of_memory == 0; }
};

struct Summary {
  std::string tapelens;  // the version that made it
  std::string command, torch_version, simulated_gpu, steps;
  std::vector<RankSummary> processes;
};

// Checks take longer than all else: of recordings with more events nothing is looked for when they are sealed.
inline constexpr uint64_t kMostEventsChecked = 500'000;

// `checks` null: findings are not looked for.
Summary summarize(const trace::Recording& recording, advise::Checks* checks, std::string_view version);

// What is too much is left out, the smallest first. Empty: nothing is small enough (hundreds of processes).
std::string summary_json(const Summary& summary);
// An error if it is no such summary, or one of another version of its format.
trace::Result<Summary> read_summary(std::string_view json);

}  // namespace tapelens::ranks
