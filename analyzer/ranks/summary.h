// A recording in at most 64 KiB: each process with its peak and holders, its curve, findings, and how it ended. Sealed
// files contain it as JSON (trace::read_summary), so that a thousand ranks can be read in a second.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/advise/checks.h"
#include "analyzer/ranks/curve.h"
#include "analyzer/run/peak_device.h"
#include "trace/result.h"

namespace tapelens::ranks {

using model::Bytes;
using model::Time;

// The key that groups the bytes of a peak.
enum class By : uint8_t { category, field, module, line };
inline constexpr std::array<const char*, 4> kByNames = {"category", "field", "module", "line"};

struct Sum {
  std::string key;
  Bytes bytes;
  uint64_t allocations = 0;
};
// Sorted by bytes, the most first. An omitted key has at most the bytes of the last listed one.
struct Sums {
  std::vector<Sum> rows;
  uint64_t left_out = 0;
  Bytes rest;  // sum of the omitted keys
};

struct DeviceSummary {
  std::string device;
  Bytes peak;
  std::optional<Bytes> reserved_peak;  // none: unknown
  uint32_t peak_step = 0;
  std::string peak_phase;
  std::array<Sums, kByNames.size()> by;  // each sums to the peak
  Curve curve;

  // Reserved bytes are known of GPUs alone.
  run::Precedence precedence() const { return {reserved_peak.has_value(), peak}; }
};

struct OutOfMemory {
  std::string device;
  Bytes bytes;
  uint32_t step = 0;
  std::string op, module, source;
};

struct FindingSummary {
  std::string id, check, severity, title;  // id: the fingerprint
  std::string module, field, source;
  Bytes bytes, gain;  // how far the peak falls without it
};

struct RankSummary {
  int32_t rank = -1;  // -1: unknown or none
  uint32_t world_size = 0, pid = 0;
  std::string host;
  std::string mesh_coordinate;  // "dp=1 tp=3": the place in the parameters' device mesh; empty: none
  bool finished = false;
  std::optional<uint8_t> exit_code;
  bool running = false;                // it still ran when its recording was made
  uint64_t begin_ns = 0, end_ns = 0;   // first and last event, since 1970 by the host's clock
  uint64_t steps = 0;                  // number of whole steps, recorded or not
  std::vector<DeviceSummary> devices;  // that with the peak first; in older summaries the one with the most bytes
  uint64_t out_of_memory = 0;
  std::optional<OutOfMemory> last_out_of_memory;
  std::vector<std::string> lost;  // kinds of lost data: "disk_full"
  // On the first of these devices. None: no checks ran.
  std::optional<std::vector<FindingSummary>> findings;
  uint64_t devices_left_out = 0, findings_left_out = 0;  // omitted because the summary would be too large

  bool ended_well() const { return (finished || running) && exit_code.value_or(0) == 0 && out_of_memory == 0; }
};

struct Summary {
  std::string tapelens;  // version that made it
  std::string command, torch_version, simulated_gpu, steps;
  std::vector<RankSummary> processes;
};

// Checks take longer than all other work. Sealing skips them for recordings with more events.
inline constexpr uint64_t kMostEventsChecked = 500'000;

// If `checks` is null, the summary has no findings.
Summary summarize(const run::Run& run, advise::Checks* checks, std::string_view version);

// Omits the smallest items if the summary is too large. Empty if it cannot be made small enough (hundreds of
// processes).
std::string summary_json(const Summary& summary);
// An error if it is invalid or has another format version.
trace::Result<Summary> read_summary(std::string_view json);

}  // namespace tapelens::ranks
