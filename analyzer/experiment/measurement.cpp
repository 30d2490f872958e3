#include "analyzer/experiment/measurement.h"

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

void read_steps(const peak::Analysis& analysis, Measurement& measured) {
  const std::vector<Step> steps = ended_steps(analysis);
  measured.steps = steps.size();
  if (!steps.empty()) measured.kept = kept_in(analysis, steps.back().when);
  if (steps.size() < 2 || measured.is_simulated) return;
  std::vector<int64_t> times;
  for (size_t i = 1; i < steps.size(); ++i) times.push_back(steps[i].when.end.ns - steps[i].when.begin.ns);
  std::ranges::sort(times);
  const size_t half = times.size() / 2;
  measured.step_ns = times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
  measured.least_step_ns = times.front();
  measured.most_step_ns = times.back();
}

Bytes state_at(const peak::PeakSet& peak) {
  Bytes state;
  for (const peak::Member& member : peak.members) {
    if (std::ranges::any_of(peak.holders_of(member), peak::is_state, &peak::Holder::kind)) state += member.bytes;
  }
  return state;
}

void read_peak(const run::DeviceRun& device, Measurement& measured) {
  const peak::Analysis& analysis = device.of().analysis();
  const std::vector<Step>& steps = analysis.steps();
  const peak::Timeline::Extreme& largest = device.analysis().largest();
  measured.device = device.name();
  measured.peak = largest.bytes;
  measured.phase = analysis.phases().at(largest.when.time);
  measured.peak_step = model::step_index_at(steps, largest.when.time);
  measured.state = state_at(device.analysis().peak());
  measured.torch_version = analysis.information("torch_version");
  measured.is_simulated = device.is_gpu() && !analysis.information("simulated_gpu").empty();
  if (steps.size() > 1) {
    measured.later_peak = device.analysis().timeline().largest({steps[1].when.begin, steps.back().when.end}).bytes;
  }
  read_steps(analysis, measured);
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

void read_gpus(const run::ProcessRun& of, Measurement& measured) {
  const uint64_t steps = optimizer_steps_of(of.process());
  measured.optimizer_steps = std::max(measured.optimizer_steps, steps);
  for (const run::DeviceRun* device : of.devices()) {
    if (!device->is_gpu()) continue;
    measured.fewest_optimizer_steps = measured.uses_gpu ? std::min(measured.fewest_optimizer_steps, steps) : steps;
    measured.uses_gpu = true;
    const peak::DeviceMemory& memory = of.analysis().memory(device->id());
    measured.reserved = std::max(measured.reserved, memory.reserved_peak);
    if (memory.allocated_peak <= measured.allocated) continue;
    measured.allocated = memory.allocated_peak;
    measured.grew = grew_in_last_step(device->analysis());
  }
}

// Returns whether the process has compiled graphs without the requested budget.
bool read_graphs(const peak::Analysis& analysis, Measurement& measured) {
  bool has_graphs = false;
  for (model::NodeId node{1}; node.value <= analysis.process().nodes.rows() && !has_graphs; ++node.value) {
    has_graphs = is_compiled(analysis, node);
  }
  measured.is_compiled |= has_graphs;
  const bool is_set = !analysis.information("activation_budget").empty();
  measured.is_set |= is_set;
  if (const auto why = analysis.information("activation_budget_failed"); !why.empty()) measured.why_not_set = why;
  for (const std::string_view told : analysis.all_information("activation_budget_of_graph")) {
    double value = 0;
    const auto [end, error] = std::from_chars(told.data(), told.data() + told.size(), value);
    if (error == std::errc() && end == told.data() + told.size()) measured.in_effect.push_back(value);
  }
  return has_graphs && !is_set;
}

std::vector<CodeFile> sources_of(const model::Text& text) {
  std::vector<CodeFile> sources;
  for (const model::SourceFile& file : text.sources) {
    std::string path(text.string(file.path));
    const bool is_own = !model::is_library_frame(path, "") && !model::is_installed_frame(path);
    sources.push_back({std::move(path), file.bytes, file.hash, is_own});
  }
  return sources;
}

}  // namespace

trace::Result<Measurement> read_recording(const std::string& path) {
  const auto run = run::Run::open(path);
  if (!run) return run.error();
  Measurement measured;
  bool is_missing = false;
  run::PeakDevice highest;
  std::vector<peak::ValueRead> value_reads;
  const auto leave_out = [&](const std::vector<model::LeftOut>& tables) {
    if (!tables.empty()) measured.left_out = "a part of its recording could not be read";
  };
  leave_out(run->text().left_out);
  measured.sources = sources_of(run->text());
  for (uint32_t index = 0; index < run->processes(); ++index) {
    const auto of = run->process(index);
    leave_out(of->process().left_out);
    read_gpus(*of, measured);
    is_missing |= read_graphs(of->analysis(), measured);
    const auto full = peak::out_of_memory(of->process(), run->text());
    if (!full.empty() && measured.full.empty()) measured.full = peak::out_of_memory_text(full.front());
    std::ranges::move(peak::value_reads(of->analysis()), std::back_inserter(value_reads));
    highest.offer(of);
  }
  if (highest.found()) read_peak(highest.device(), measured);
  if (is_missing) measured.is_set = false;
  measured.value_reads = peak::value_reads_text(value_reads);
  return measured;
}

}  // namespace tapelens::experiment
