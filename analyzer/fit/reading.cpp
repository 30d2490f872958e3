#include "analyzer/fit/reading.h"

#include <algorithm>

#include "analyzer/model/load.h"
#include "analyzer/peak/analysis.h"
#include "analyzer/report/detail.h"
#include "analyzer/report/value_reads.h"
#include "trace/recording.h"

namespace tapelens::fit {
namespace {

// Requires a recording that ends with a step.
bool grew_in_last_step(const peak::Analysis& analysis, model::DeviceId id) {
  const std::vector<model::Step>& steps = analysis.steps();
  if (steps.size() < 2) return false;
  const peak::DeviceAnalysis device(analysis, id);
  Bytes before;
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    before = std::max(before, device.timeline().largest(steps[i].when).bytes);
  }
  return device.timeline().largest(steps.back().when).bytes > before;
}

// Counts the steps of the optimizer that stepped first, whose steps end training steps.
uint64_t steps_of(const model::Process& process) {
  const auto& all = process.optimizer_steps;
  return static_cast<uint64_t>(std::ranges::count_if(all, [&](const model::OptimizerStep& step) {
    return step.optimizer == all.front().optimizer && step.when.end != model::kNever;
  }));
}

}  // namespace

trace::Result<Reading> read_recording(const std::string& path) {
  const auto recording = trace::Recording::open(path);
  if (!recording) return recording.error();
  const model::Text text = model::load_text(*recording);
  Reading reading;
  report::Report all;  // only the value reads of its processes
  const auto leave_out = [&](const std::vector<model::LeftOut>& tables) {
    if (!tables.empty()) reading.left_out = "a part of its recording could not be read";
  };
  leave_out(text.left_out);
  for (uint32_t index = 0; index < recording->processes().size(); ++index) {
    const model::Process process = model::load_process(*recording, text, trace::ProcessIndex{index});
    leave_out(process.left_out);
    const uint64_t steps = steps_of(process);
    reading.steps = std::max(reading.steps, steps);
    const peak::Analysis analysis(process, text);
    for (const peak::DevicePeak& device : analysis.devices()) {
      if (!peak::has_blocks(process, device.device)) continue;
      reading.fewest_steps = reading.uses_gpu ? std::min(reading.fewest_steps, steps) : steps;
      reading.uses_gpu = true;
      const peak::DeviceMemory& memory = analysis.memory(device.device);
      reading.reserved = std::max(reading.reserved, memory.reserved_peak);
      if (memory.allocated_peak <= reading.allocated) continue;
      reading.allocated = memory.allocated_peak;
      reading.grew = grew_in_last_step(analysis, device.device);
    }
    const auto full = report::describe_out_of_memory(process, text);
    if (!full.empty() && reading.full.empty()) reading.full = report::out_of_memory_text(full.front());
    all.processes.emplace_back().value_reads = report::describe_value_reads(analysis);
  }
  reading.value_reads = report::value_reads_text(all);
  return reading;
}

}  // namespace tapelens::fit
