#include "analyzer/run/peak_device.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "analyzer/run/losses.h"

namespace tapelens::run {

namespace {

// "4711 (cpu, cuda:0)"
std::string devices_text(const ProcessRun& process) {
  std::string text = std::to_string(process.process().summary.pid) + " (";
  for (const DeviceRun* device : process.devices()) {
    text += (text.back() == '(' ? "" : ", ") + std::string(device->name());
  }
  return text + ")";
}

}  // namespace

const DeviceRun* peak_device(const ProcessRun& process, const DeviceSelection& selection) {
  if (!selection.has(process)) return nullptr;
  const DeviceRun* best = nullptr;
  for (const DeviceRun* device : process.devices()) {
    if (!selection.has(*device)) continue;
    if (best == nullptr || precedence(*device) > precedence(*best)) best = device;
  }
  return best;
}

bool PeakDevice::offer(const std::shared_ptr<const ProcessRun>& process) {
  const DeviceRun* best = peak_device(*process, selection_);
  if (best == nullptr || (found() && precedence(*best) <= precedence(*device_))) return false;
  process_ = process;
  device_ = best;
  return true;
}

trace::Error no_memory(const Run& run, const DeviceSelection& selection) {
  using trace::ErrorKind;
  if (run.processes() == 0) {
    return {
        "holds no process, as one of ranks that `tapelens record --ranks` did not keep: tapelens ranks reads its "
        "summary",
        ErrorKind::nothing_recorded};
  }
  std::string seen, hidden;
  std::vector<Lost> lost = losses_of(run.text());
  for (uint32_t index = 0; index < run.processes(); ++index) {
    const auto process = run.process(index);
    if (hidden.empty()) hidden = hidden_text(process->analysis().information("cuda_allocator"));
    seen += (seen.empty() ? "" : ", ") + devices_text(*process);
    std::ranges::move(losses_of(process->process()), std::back_inserter(lost));
  }
  if (selection.process || selection.device) {
    return {"nothing was allocated by that process on that device: the recording has pid " + seen, ErrorKind::usage};
  }
  const auto left_out = std::ranges::find(lost, "table_left_out", &Lost::kind);
  if (left_out != lost.end()) return {left_out->what};
  if (!hidden.empty()) return {hidden, ErrorKind::nothing_recorded};
  return {"the recording holds no memory of any device: nothing was allocated while it was recorded",
          ErrorKind::nothing_recorded};
}

}  // namespace tapelens::run
