#include "analyzer/experiment/reading.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <string_view>

#include "analyzer/model/text.h"
#include "analyzer/model/words.h"
#include "analyzer/peak/out_of_memory.h"
#include "analyzer/peak/value_reads.h"
#include "analyzer/run/peak_device.h"

namespace tapelens::experiment {
namespace {

using model::Step;

bool is_compiled(const peak::Analysis& analysis, model::NodeId node) {
  return node && model::is_compiled(analysis.text().string(analysis.process().nodes.type[node]));
}

// Steps with an end; the time after the last end is a step without one.
std::vector<Step> ended_steps(const peak::Analysis& analysis) {
  std::vector<Step> steps = analysis.steps();
  std::erase_if(steps, [](const Step& step) { return step.when.end == model::kNever; });
  return steps;
}

Kept kept_in(const peak::Analysis& analysis, model::Interval when) {
  const model::Process& process = analysis.process();
  std::set<model::AllocationId> stay, seen;
  for (model::RoleId row{1}; row.value <= process.roles.rows(); ++row.value) {
    const model::Role role = process.roles.kind[row];
    if (role == model::Role::parameter || role == model::Role::buffer) stay.insert(process.roles.allocation[row]);
  }
  Kept kept;
  for (model::NodeId node{1}; node.value <= process.nodes.rows(); ++node.value) {
    if (when.contains(process.nodes.time[node]) && is_compiled(analysis, node)) ++kept.graphs;
  }
  for (model::SaveId save{1}; save.value <= process.saves.rows(); ++save.value) {
    const model::NodeId node = process.saves.node[save];
    const model::AllocationId allocation = process.saves.allocation[save];
    if (!is_compiled(analysis, node) || !when.contains(process.nodes.time[node])) continue;
    if (!allocation || stay.contains(allocation)) continue;
    ++kept.saves;
    if (seen.insert(allocation).second) kept.bytes += process.allocations.bytes[allocation];
  }
  return kept;
}

void read_steps(const peak::Analysis& analysis, Reading& reading) {
  const std::vector<Step> steps = ended_steps(analysis);
  reading.steps = steps.size();
  if (!steps.empty()) reading.kept = kept_in(analysis, steps.back().when);
  if (steps.size() < 2 || reading.is_simulated) return;
  std::vector<int64_t> times;
  for (size_t i = 1; i < steps.size(); ++i) times.push_back(steps[i].when.end.ns - steps[i].when.begin.ns);
  std::ranges::sort(times);
  const size_t half = times.size() / 2;
  reading.step_ns = times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
  reading.least_step_ns = times.front();
  reading.most_step_ns = times.back();
}

Bytes state_at(const peak::PeakSet& peak) {
  Bytes state;
  for (const peak::Member& member : peak.members) {
    if (std::ranges::any_of(peak.holders_of(member), peak::is_state, &peak::Holder::kind)) state += member.bytes;
  }
  return state;
}

void read_peak(const run::DeviceRun& device, Reading& reading) {
  const peak::Analysis& analysis = device.of().analysis();
  const std::vector<Step>& steps = analysis.steps();
  const peak::Timeline::Extreme& largest = device.analysis().largest();
  reading.device = device.name();
  reading.peak = largest.bytes;
  reading.phase = analysis.phases().at(largest.when.time);
  reading.peak_step = model::step_index_at(steps, largest.when.time);
  reading.state = state_at(device.analysis().peak());
  reading.torch_version = analysis.information("torch_version");
  reading.is_simulated = device.is_gpu() && !analysis.information("simulated_gpu").empty();
  if (steps.size() > 1) {
    reading.later_peak = device.analysis().timeline().largest({steps[1].when.begin, steps.back().when.end}).bytes;
  }
  read_steps(analysis, reading);
}

// Requires a recording that ends with a step.
bool grew_in_last_step(const peak::DeviceAnalysis& device) {
  const std::vector<Step>& steps = device.of().steps();
  if (steps.size() < 2) return false;
  Bytes before;
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    before = std::max(before, device.timeline().largest(steps[i].when).bytes);
  }
  return device.timeline().largest(steps.back().when).bytes > before;
}

// Counts the steps of the optimizer that stepped first, whose steps end training steps.
uint64_t optimizer_steps_of(const model::Process& process) {
  const auto& all = process.optimizer_steps;
  return static_cast<uint64_t>(std::ranges::count_if(all, [&](const model::OptimizerStep& step) {
    return step.optimizer == all.front().optimizer && step.when.end != model::kNever;
  }));
}

void read_gpus(const run::ProcessRun& of, Reading& reading) {
  const uint64_t steps = optimizer_steps_of(of.process());
  reading.optimizer_steps = std::max(reading.optimizer_steps, steps);
  for (const run::DeviceRun* device : of.devices()) {
    if (!device->is_gpu()) continue;
    reading.fewest_optimizer_steps = reading.uses_gpu ? std::min(reading.fewest_optimizer_steps, steps) : steps;
    reading.uses_gpu = true;
    const peak::DeviceMemory& memory = of.analysis().memory(device->id());
    reading.reserved = std::max(reading.reserved, memory.reserved_peak);
    if (memory.allocated_peak <= reading.allocated) continue;
    reading.allocated = memory.allocated_peak;
    reading.grew = grew_in_last_step(device->analysis());
  }
}

// Returns whether the process has compiled graphs without the requested budget.
bool read_graphs(const peak::Analysis& analysis, Reading& reading) {
  bool has_graphs = false;
  for (model::NodeId node{1}; node.value <= analysis.process().nodes.rows() && !has_graphs; ++node.value) {
    has_graphs = is_compiled(analysis, node);
  }
  reading.is_compiled |= has_graphs;
  const bool is_set = !analysis.information("activation_budget").empty();
  reading.is_set |= is_set;
  if (const auto why = analysis.information("activation_budget_failed"); !why.empty()) reading.why_not_set = why;
  for (const std::string_view told : analysis.all_information("activation_budget_of_graph")) {
    double value = 0;
    const auto [end, error] = std::from_chars(told.data(), told.data() + told.size(), value);
    if (error == std::errc() && end == told.data() + told.size()) reading.in_effect.push_back(value);
  }
  return has_graphs && !is_set;
}

std::vector<Source> sources_of(const model::Text& text) {
  std::vector<Source> sources;
  for (const model::SourceFile& file : text.sources) {
    std::string path(text.string(file.path));
    const bool is_own = !model::is_library_frame(path, "") && !model::is_installed_frame(path);
    sources.push_back({std::move(path), file.bytes, file.hash, is_own});
  }
  return sources;
}

}  // namespace

trace::Result<Reading> read_recording(const std::string& path) {
  const auto run = run::Run::open(path);
  if (!run) return run.error();
  Reading reading;
  bool is_missing = false;
  run::PeakDevice highest;
  std::vector<peak::ValueRead> value_reads;
  const auto leave_out = [&](const std::vector<model::LeftOut>& tables) {
    if (!tables.empty()) reading.left_out = "a part of its recording could not be read";
  };
  leave_out(run->text().left_out);
  reading.sources = sources_of(run->text());
  for (uint32_t index = 0; index < run->processes(); ++index) {
    const auto of = run->process(index);
    leave_out(of->process().left_out);
    read_gpus(*of, reading);
    is_missing |= read_graphs(of->analysis(), reading);
    const auto full = peak::out_of_memory(of->process(), run->text());
    if (!full.empty() && reading.full.empty()) reading.full = peak::out_of_memory_text(full.front());
    std::ranges::move(peak::value_reads(of->analysis()), std::back_inserter(value_reads));
    highest.offer(of);
  }
  if (highest.found()) read_peak(highest.device(), reading);
  if (is_missing) reading.is_set = false;
  reading.value_reads = peak::value_reads_text(value_reads);
  return reading;
}

}  // namespace tapelens::experiment
