// The device that the report, the advice, a budget, the window and all other users describe unless the user selects
// another one.
#pragma once

#include <compare>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/run/run.h"
#include "trace/result.h"

namespace tapelens::run {

// The greatest is the device with the peak: a GPU before the host, then the largest peak. Of equals, the first.
struct Precedence {
  bool is_gpu = false;
  Bytes peak;
  friend auto operator<=>(const Precedence&, const Precedence&) = default;
};
inline Precedence precedence(const DeviceRun& device) { return {device.is_gpu(), device.peak()}; }

// The user's selection; empty: any.
struct DeviceSelection {
  std::optional<uint32_t> process;    // pid
  std::optional<std::string> device;  // "cuda:0"

  bool has(const ProcessRun& of) const { return !process || *process == of.process().summary.pid; }
  bool has(const DeviceRun& of) const { return !device || *device == of.name(); }
};

// The selected device of a process that has the peak; null if it allocated on none.
const DeviceRun* peak_device(const ProcessRun& process, const DeviceSelection& selection = {});

// Finds the selected device that has the peak, of processes that are offered one after another.
class PeakDevice {
 public:
  explicit PeakDevice(DeviceSelection selection = {}) : selection_(std::move(selection)) {}

  // Keeps the process if it has the peak of those until now, and returns whether it does.
  bool offer(const std::shared_ptr<const ProcessRun>& process);
  bool found() const { return device_ != nullptr; }
  const std::shared_ptr<const ProcessRun>& process() const { return process_; }
  const DeviceRun& device() const { return *device_; }

 private:
  DeviceSelection selection_;
  std::shared_ptr<const ProcessRun> process_;
  const DeviceRun* device_ = nullptr;
};

// Why no device is selected. Loads the processes again. Without the name of the file.
trace::Error no_memory(const Run& run, const DeviceSelection& selection);

}  // namespace tapelens::run
