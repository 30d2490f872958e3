#include "analyzer/compare/run_figures.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analyzer/compare/module_tree.h"
#include "analyzer/model/attribution.h"
#include "analyzer/model/load.h"
#include "analyzer/peak/replay.h"
#include "analyzer/peak/value_reads.h"
#include "analyzer/run/losses.h"
#include "analyzer/text/format.h"

namespace tapelens::compare {

using namespace model;

namespace {

// The threads of the training step: they made nodes, evaluated them, or called modules. Allocations of other threads (a
// loader that prefetches) may be part of one peak and not of the next.
class Training {
 public:
  Training(const Process& process, const Threads& threads) : p_(process), threads_(threads) {
    for (const NodeId node : p_.nodes.type.ids()) add(threads_.of_operator[p_.nodes.op[node]]);
    for (const EvaluationId one : p_.evaluations.node.ids()) add(threads_.of_evaluation[one]);
    for (const ModuleCallId call : p_.module_calls.module.ids()) add(threads_.of_module_call[call]);
  }
  // The recording has no thread for allocations outside of operators; they count as training.
  bool made(AllocationId allocation) const {
    const OperatorId op = p_.allocations.op[allocation];
    if (!op || all_.empty()) return true;
    const trace::ThreadId thread = threads_.of_operator[op];
    return !thread || all_.contains(thread.value);
  }

 private:
  void add(trace::ThreadId thread) {
    if (thread) all_.insert(thread.value);
  }
  const Process& p_;
  const Threads& threads_;
  std::set<uint32_t> all_;
};

// The timeline of the allocations by training threads.
struct Curve {
  Bytes peak, others;
  uint32_t at = 0;  // the event after which the most bytes are alive
  std::vector<StepFigures> steps;
};

Curve curve_of(const peak::DeviceAnalysis& device, const Training& training) {
  const peak::Timeline& timeline = device.timeline();
  const Time since = device.of().since();
  Curve out;
  std::vector<const Step*> whole;
  for (const Step& step : device.of().steps()) {
    if (step.when.end != kNever) whole.push_back(&step);
  }
  out.steps.resize(whole.size());
  Bytes live, others, before;
  size_t at = 0;
  bool has_begun = false;
  for (uint32_t event = 0; event < timeline.events(); ++event) {
    const Time time = timeline.time_of(event);
    while (at < whole.size() && whole[at]->when.end <= time) ++at;
    const Bytes change = timeline.live_after(event) - before;
    before = timeline.live_after(event);
    const bool is_ours = training.made(timeline.allocation_of(event));
    const bool is_first_of_step = at < whole.size() && whole[at]->when.contains(time) && out.steps[at].peak == Bytes{};
    if (is_first_of_step) out.steps[at].begin = out.steps[at].peak = live;
    (is_ours ? live : others) += change;
    if (time < since) continue;
    out.others = std::max(out.others, others);
    if (!has_begun || live > out.peak) {
      out.peak = live;
      out.at = event;
      has_begun = true;
    }
    if (at >= whole.size() || !whole[at]->when.contains(time)) continue;
    StepFigures& step = out.steps[at];
    step.peak = std::max(step.peak, live);
    step.allocations += is_ours && change > Bytes{} ? 1 : 0;
  }
  return out;
}

uint64_t median_allocations(const std::vector<StepFigures>& steps) {
  std::vector<uint64_t> counts;
  for (size_t i = steps.size() > 1 ? 1 : 0; i < steps.size(); ++i) counts.push_back(steps[i].allocations);
  if (counts.empty()) return 0;
  std::ranges::sort(counts);
  return counts[(counts.size() - 1) / 2];
}

Frame frame_at(const Text& text, FrameId id) {
  return {std::string(text.string(text.frame_file[id])), std::string(text.string(text.frame_function[id])),
          text.frame_line[id]};
}

class Statements {
 public:
  Statements(const std::vector<SourceVersion>& sources, const FindText& text_of)
      : sources_(sources), text_of_(text_of) {}
  std::string at(const Frame& frame) {
    const auto [known, is_new] = texts_.try_emplace(frame.file);
    if (is_new && text_of_) {
      const auto source = std::ranges::find(sources_, frame.file, &SourceVersion::file);
      if (source != sources_.end()) known->second = text_of_(*source);
    }
    return known->second ? line_of(*known->second, frame.line) : "";
  }

 private:
  const std::vector<SourceVersion>& sources_;
  const FindText& text_of_;
  std::map<std::string, std::optional<std::string>> texts_;
};

// The rows of the allocations in a set.
std::vector<Row> rows_of(const peak::Analysis& analysis, const peak::PeakSet& set, const Training& training,
                         Statements& statements) {
  const Process& p = analysis.process();
  const Text& text = analysis.text();
  std::unordered_map<uint32_t, StringId> parameters;
  for (const RoleId role : p.roles.kind.ids()) {
    if (p.roles.kind[role] == Role::parameter)
      parameters.try_emplace(p.roles.allocation[role].value, p.roles.name[role]);
  }
  using Key = std::tuple<peak::HolderKind, std::string, std::string, std::string, std::string, std::string, std::string,
                         std::string, uint32_t>;
  std::map<Key, Row> rows;
  for (const peak::Member& member : set.members) {  // the biggest first
    if (!training.made(member.allocation)) continue;
    const peak::Holder& holder = peak::main_holder(set.holders_of(member));
    Row row;
    row.kind = holder.kind;
    if (holder.kind == peak::HolderKind::save || holder.field) {
      row.node = text.string(p.nodes.type[holder.node]);
      row.field = text.string(holder.field);
    } else if (const auto of = parameters.find(holder.parameter.value); holder.parameter && of != parameters.end()) {
      row.name = module_pattern(text.string(of->second));
    } else {
      row.name = module_pattern(name_of(text, holder));
    }
    row.op = text.string(called_name_of(p, text, member.allocation));
    row.module = module_pattern(text.string(text.module_path[module_of(p, member.allocation)]));
    const StackId stack = stack_of(p, text, member.allocation);
    if (const FrameId frame = own_frame(text, stack)) row.source = frame_at(text, frame);
    Row& sum = rows[{row.kind, row.node, row.field, row.name, row.op, row.module, row.source.file, row.source.function,
                     row.source.line}];
    if (sum.allocations == 0) {
      for (const FrameId frame : text.stack(stack)) {
        if (is_own_frame(text, frame)) row.stack.push_back(frame_at(text, frame));
      }
      if (holder.layout) {
        row.dtype = text.string(text.layout_dtype[holder.layout]);
        row.sizes.assign(text.sizes(holder.layout).begin(), text.sizes(holder.layout).end());
      }
      row.statement = statements.at(row.source);
      sum = std::move(row);
    }
    sum.bytes += member.bytes;
    ++sum.allocations;
  }
  std::vector<Row> out;
  for (auto& [key, row] : rows) out.push_back(std::move(row));
  std::ranges::stable_sort(out, std::ranges::greater(), &Row::bytes);
  return out;
}

DeviceFigures figures_of(const peak::DeviceAnalysis& device, const Training& training, Statements& statements) {
  const peak::Analysis& analysis = device.of();
  const Process& p = analysis.process();
  const Text& text = analysis.text();
  DeviceFigures out;
  out.device = text.string(text.device_name[device.device()]);
  Curve curve = curve_of(device, training);
  out.peak = curve.peak;
  out.other_threads = curve.others;
  out.steps = std::move(curve.steps);
  out.step_allocations = median_allocations(out.steps);
  out.has_backward = !p.backwards.empty();
  out.lacks_variables = p.lacks_variables;
  out.saved = peak::saved_for_backward(analysis.lifetimes(), device.timeline(), analysis.since());
  if (analysis.traits(device.device()).has_segments) out.reserved = analysis.memory(device.device()).reserved_peak;
  if (device.timeline().events() == 0) return out;
  const peak::Moment when = device.timeline().moment_after(curve.at);
  out.peak_step = step_index_at(analysis.steps(), when.time);
  out.peak_phase = phase_name(analysis.phases().at(when.time));
  const peak::PeakSet set = peak_set(p, text, device.device(), when);
  out.rows = rows_of(analysis, set, training, statements);
  std::map<std::string, Bytes> modules;
  for (const peak::Member& member : set.members) {
    if (!training.made(member.allocation)) continue;
    modules[std::string(text.string(text.module_path[module_of(p, member.allocation)]))] += member.bytes;
  }
  out.modules.assign(modules.begin(), modules.end());
  out.held = held_at(p, text, analysis.steps(), set,
                     [&](const peak::Member& member) { return training.made(member.allocation); });
  return out;
}

std::vector<KnownFinding> known_findings(const advise::Advice& advice, Statements& statements) {
  std::vector<KnownFinding> out;
  for (const advise::Finding& f : advice.findings) {
    if (f.is_alternative) continue;  // an alternative applies to any program; it is not a fault of this one
    out.push_back({f.id, f.check, f.severity, f.title, f.node, f.field, f.op, f.module, f.source,
                   statements.at(f.source), f.bytes, f.retained_at_peak()});
  }
  return out;
}

void note_end(const Process& process, RunFigures& out) {
  const std::string who = process.summary.rank >= 0 ? "rank " + std::to_string(process.summary.rank)
                                                    : "process " + std::to_string(process.summary.pid);
  if (!process.summary.finished) out.incomplete.push_back(who + " was killed, crashed or still ran");
  if (process.summary.exit_code.value_or(0) != 0) {
    out.incomplete.push_back(who + " ended with exit code " + std::to_string(*process.summary.exit_code));
  }
}

// Notes memory that the recording lacks, so that limits on it were not measured.
void note_unmeasured(const peak::Analysis& analysis, RunFigures& out) {
  const auto note = [&out](std::string what) {
    if (std::ranges::find(out.incomplete, what) == out.incomplete.end()) out.incomplete.push_back(std::move(what));
  };
  if (const std::string allocator(analysis.information("cuda_allocator")); !allocator.empty()) {
    note("CUDA memory is not recorded: the program's CUDA allocator is " + allocator);
  }
  for (const OlderSteps::Peak& older : analysis.process().older.peaks) {
    const auto kept = std::ranges::find(analysis.devices(), older.device, &peak::DevicePeak::device);
    if (kept != analysis.devices().end() && kept->peak >= older.bytes) continue;
    note(older.name + " had its peak of " + text::bytes_text(older.bytes) +
         " in steps that were left out (tapelens record --last)");
  }
}

}  // namespace

std::string module_pattern(std::string_view path) {
  std::string out;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t dot = std::min(path.find('.', begin), path.size());
    const std::string_view part = path.substr(begin, dot - begin);
    const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    if (begin > 0) out += '.';
    out += is_number ? "*" : part;
    begin = dot + 1;
  }
  return out;
}

std::string line_of(std::string_view text, uint32_t line) {
  for (; line > 1 && !text.empty(); --line) text.remove_prefix(std::min(text.find('\n') + 1, text.size()));
  if (line == 0) return "";
  text = text.substr(0, text.find('\n'));
  const size_t first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
  return first == std::string_view::npos ? "" : std::string(text.substr(first, last - first + 1));
}

trace::Result<RunFigures> figures_of_run(const run::Run& run, advise::Checks* checks,
                                         const advise::AdviceOptions& wanted, const FindText& text_of,
                                         const advise::Progress& progress) {
  if (progress) progress("reading", 0);
  const Text& text = run.text();
  RunFigures out;
  out.command = run.recording().command();
  std::set<uint32_t> own;
  for (const FrameId frame : text.frame_file.ids()) {
    if (is_own_frame(text, frame)) own.insert(text.frame_file[frame].value);
  }
  for (const SourceFile& source : text.sources) {
    if (own.contains(source.path.value)) {
      out.sources.push_back({std::string(text.string(source.path)), source.bytes, source.hash});
    }
  }
  Statements statements(out.sources, text_of);
  std::vector<run::Lost> lost = run::losses_of(text);
  run::PeakDevice peak;
  for (uint32_t index = 0; index < run.processes(); ++index) {
    const auto of = run.process(index);
    const Process& process = of->process();
    const peak::Analysis& analysis = of->analysis();
    std::ranges::move(run::losses_of(process), std::back_inserter(lost));
    if (out.torch_version.empty()) {
      out.torch_version = analysis.information("torch_version");
      out.simulated_gpu = analysis.information("simulated_gpu");
      out.steps = analysis.information("steps");
    }
    note_unmeasured(analysis, out);
    if (analysis.devices().empty()) continue;
    note_end(process, out);
    const Threads threads = load_threads(run.recording(), process, of->index());
    const Training training(process, threads);
    ProcessFigures figures;
    figures.rank = process.summary.rank;
    for (const run::DeviceRun* device : of->devices()) {
      figures.devices.push_back(figures_of(device->analysis(), training, statements));
    }
    std::ranges::stable_sort(figures.devices, std::ranges::greater(), &DeviceFigures::precedence);
    for (const report::ValueRead& read : peak::value_reads(analysis)) out.value_reads.push_back(read.source);
    if (peak.offer(of) && checks != nullptr) {
      out.findings = known_findings(advise::advise(peak.device().analysis(), *checks, wanted, progress), statements);
    }
    out.processes.push_back(std::move(figures));
  }
  for (const run::Lost& one : lost) {
    if (one.is_data) out.incomplete.push_back(std::to_string(one.count) + " " + one.what);
  }
  if (out.processes.empty()) return run::no_memory(run, {});
  std::ranges::stable_sort(out.processes, {}, &ProcessFigures::rank);
  return out;
}

}  // namespace tapelens::compare
