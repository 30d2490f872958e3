#include "analyzer/budget/reading.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

#include "analyzer/model/compiled.h"
#include "analyzer/model/load.h"
#include "analyzer/peak/analysis.h"
#include "analyzer/report/detail.h"
#include "trace/recording.h"

namespace tapelens::budget {
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

// Whether this device replaces the selected one.
struct Rank {
  bool is_gpu = false;
  Bytes peak;

  friend auto operator<=>(const Rank&, const Rank&) = default;
};

}  // namespace

trace::Result<Reading> read_recording(const std::string& path) {
  const auto recording = trace::Recording::open(path);
  if (!recording) return recording.error();
  const model::Text text = model::load_text(*recording);
  Reading reading;
  bool is_missing = false;
  Rank highest;
  const auto leave_out = [&](const std::vector<model::LeftOut>& tables) {
    if (!tables.empty()) reading.left_out = "a part of its recording could not be read";
  };
  leave_out(text.left_out);
  for (uint32_t index = 0; index < recording->processes().size(); ++index) {
    const model::Process process = model::load_process(*recording, text, trace::ProcessIndex{index});
    leave_out(process.left_out);
    const peak::Analysis analysis(process, text);
    bool has_graphs = false;
    for (model::NodeId node{1}; node.value <= process.nodes.rows() && !has_graphs; ++node.value) {
      has_graphs = is_compiled(analysis, node);
    }
    reading.is_compiled |= has_graphs;
    const bool is_set = !analysis.information("activation_budget").empty();
    reading.is_set |= is_set;
    is_missing |= has_graphs && !is_set;
    if (const auto why = analysis.information("activation_budget_failed"); !why.empty()) reading.why_not_set = why;
    for (const std::string_view told : analysis.all_information("activation_budget_of_graph")) {
      double value = 0;
      const auto [end, error] = std::from_chars(told.data(), told.data() + told.size(), value);
      if (error == std::errc() && end == told.data() + told.size()) reading.in_effect.push_back(value);
    }
    const auto full = report::describe_out_of_memory(process, text);
    if (!full.empty() && reading.full.empty()) reading.full = report::out_of_memory_text(full.front());
    for (const peak::DevicePeak& device : analysis.devices()) {
      const peak::DeviceAnalysis of(analysis, device.device);
      const auto& largest = of.largest();
      const Rank rank{peak::has_blocks(process, device.device), largest.bytes};
      if (rank <= highest) continue;
      highest = rank;
      reading.device = text.string(text.device_name[device.device]);
      reading.peak = largest.bytes;
      reading.phase = analysis.phases().at(largest.when.time);
      reading.peak_step = model::step_index_at(analysis.steps(), largest.when.time);
      reading.is_simulated = rank.is_gpu && !analysis.information("simulated_gpu").empty();
      const std::vector<Step>& steps = analysis.steps();
      reading.later_peak = {};
      if (steps.size() > 1) {
        reading.later_peak = of.timeline().largest({steps[1].when.begin, steps.back().when.end}).bytes;
      }
      reading.step_ns = reading.least_step_ns = reading.most_step_ns = 0;
      read_steps(analysis, reading);
    }
  }
  if (is_missing) reading.is_set = false;
  return reading;
}

}  // namespace tapelens::budget
