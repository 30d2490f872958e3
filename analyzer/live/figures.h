// The figures of a followed process, for `tapelens top` and the window: its state, its devices, its categories and its
// largest holders. Rows of a process that is recorded are ordered by the live bytes, of one that has ended by the bytes
// at the peak.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/live/followed.h"

namespace tapelens::live {

std::string state_text(const Followed& process);  // "recording", "ended, exit code 1"

// Device numbers, in the order of the records.
std::vector<uint8_t> used_devices(const Followed& process);
std::string device_name(const Followed& process, uint8_t device);
// The device that is shown first: a GPU before the CPU, then the largest peak (run/peak_device.h). Indices count the
// used devices.
size_t main_device(const Followed& process);
size_t count_devices(const Followed& process);
// The process with the largest peak.
size_t main_process(std::span<const std::unique_ptr<Followed>> processes);

// The mean change of the live bytes at the end of a step, over the last steps; none: too few steps.
std::optional<int64_t> growth_of(const DeviceMemory& device);
std::string growth_text(int64_t growth);  // "+64.0 KiB a step", "no growth"

struct CategoryRow {
  HolderKind kind{};
  uint64_t live = 0, at_peak = 0;  // at_peak: 0 if the peak is in removed steps
};
std::vector<CategoryRow> categories(const Followed& process, uint8_t device);

struct HolderRow {
  HolderKind kind{};
  bool is_field = false;     // `name` is that of a save's field
  std::string name;          // the field or the operator; empty for the state of the training
  std::string line, module;  // empty: unknown
  uint64_t live = 0, at_peak = 0;
};
// The largest rows of one operator, holder and line, at most `most`.
std::vector<HolderRow> holders(const Followed& process, uint8_t device, size_t most);

}  // namespace tapelens::live
