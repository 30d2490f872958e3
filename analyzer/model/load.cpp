// The tables of one process as columns.
#include "analyzer/model/load.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>

#include "analyzer/model/tables.h"
#include "base/parallel.h"
#include "trace/record.h"

namespace tapelens::model {
namespace {

namespace table = trace::table;
using trace::column;
using trace::ProcessIndex;
using trace::Recording;

Time end_or_never(uint64_t ns) {
  return ns >= static_cast<uint64_t>(kNever.ns) ? kNever : Time{static_cast<int64_t>(ns)};
}

// The ends of rows, from the table of ends. If that table is left out, each row ends at its begin: the last time at
// which it is known to have lasted.
template <template <template <class> class> class Ends>
std::vector<uint64_t> join_ends(Tables& r, Table table, const std::vector<uint64_t>& begins_of) {
  constexpr Table kEnds = trace::Row<Ends>::kTable;
  if (!r.is_sound(table)) return begins_of;
  LoadedTable<Ends> t;
  r.load(t);
  std::vector<uint64_t> ends;
  reserve_large(ends, begins_of.size());
  ends.assign(begins_of.size(), static_cast<uint64_t>(kNever.ns));
  r.below(column<Ends>.of, t.of.raw, begins_of.size() - 1);
  for (size_t row = 1; row < t.of.raw.size() && r.is_sound(kEnds); ++row) {
    const uint32_t of = t.of.raw[row];
    if (of != 0 && t.end.raw[row] < begins_of[of]) r.fault(column<Ends>.end, "is before the begin");
    ends[of] = t.end.raw[row];
  }
  return r.is_sound(kEnds) ? ends : begins_of;
}

void finish_operators(Tables& r, Operators& t) {
  t.inputs = r.column(column<table::OperatorInputs>.allocation);
  r.lengths(column<table::Operators>.input_count, t.input_count.raw, Table::operator_inputs, t.inputs.size() - 1);
  r.earlier(column<table::Operators>.parent, t.parent.raw);
  t.end.raw = join_ends<table::OperatorEnds>(r, Table::operators, t.begin.raw);
}

// Sorts by operator: older recordings hold the rows of several threads in the order of time.
void sort_views(const Tables& r, InputViews& t) {
  if (!r.is_sound(Table::input_views) || std::ranges::is_sorted(t.op.raw)) return;
  std::vector<uint32_t> order(t.op.raw.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order.begin() + 1, order.end(), {}, [&](uint32_t row) { return t.op.raw[row]; });
  const auto sort = [&](auto& raw) {
    auto sorted = raw;
    for (size_t row = 1; row < order.size(); ++row) sorted[row] = raw[order[row]];
    raw = std::move(sorted);
  };
  sort(t.op.raw);
  sort(t.layout.raw);
  sort(t.offset.raw);
}

void finish_nodes(Tables& r, Nodes& t) {
  t.edge_begin = begins<uint64_t>(t.edge_count.raw);
  t.edges = r.column(column<table::NodeEdges>.node);
  t.edges.erase(t.edges.begin());  // row 0: edges have no ids
  r.lengths(column<table::Nodes>.edge_count, t.edge_count.raw, Table::node_edges, t.edges.size());
}

void finish_evaluations(Tables& r, Evaluations& t) {
  t.end.raw = join_ends<table::EvaluationEnds>(r, Table::evaluations, t.begin.raw);
}

void finish_module_calls(Tables& r, ModuleCalls& t) {
  r.earlier(column<table::ModuleCalls>.parent, t.parent.raw);
  t.end.raw = join_ends<table::ModuleCallEnds>(r, Table::module_calls, t.begin.raw);
}

// Tables of a few long intervals become plain rows in the order of their begins.
template <template <template <class> class> class T>
LoadedTable<T> load_long(Tables& r) {
  LoadedTable<T> t;
  r.load(t);
  for (size_t row = 1; row < t.begin.raw.size() && r.is_sound(trace::Row<T>::kTable); ++row) {
    if (t.begin.raw[row] >= static_cast<uint64_t>(kNever.ns) || t.end.raw[row] < t.begin.raw[row])
      r.fault(column<T>.end, "is before the begin");
  }
  return t;
}

template <class Long>
Interval interval(const Long& t, size_t row) {
  return {Time{static_cast<int64_t>(t.begin.raw[row])}, end_or_never(t.end.raw[row])};
}

// Checks that the names are rows of `strings`, or clears them if `strings` is left out.
void check_names(Tables& r, const Text& text, const trace::ColumnKey& key, std::vector<uint32_t>& names) {
  if (lacks(text.left_out, Table::strings)) names.assign(names.size(), 0);
  r.below(key, names, text.string_begin.size() - 2);
}

void load_intervals(Tables& r, const Text& text, Process& p) {
  const auto by_begin = [](const auto& a, const auto& b) { return a.when.begin < b.when.begin; };
  const auto backwards = load_long<table::Backwards>(r);
  for (size_t row = 1; row <= backwards.rows() && r.is_sound(Table::backwards); ++row)
    p.backwards.push_back({interval(backwards, row), backwards.flags.raw[row]});
  std::ranges::stable_sort(p.backwards, {}, &Interval::begin);

  auto steps = load_long<table::OptimizerSteps>(r);
  check_names(r, text, column<table::OptimizerSteps>.name, steps.name.raw);
  for (size_t row = 1; row <= steps.rows() && r.is_sound(Table::optimizer_steps); ++row) {
    const OptimizerStep step{interval(steps, row), StringId{steps.name.raw[row]}};
    (text.string(step.optimizer) == trace::kProgramStep ? p.program_steps : p.optimizer_steps).push_back(step);
  }
  std::ranges::stable_sort(p.optimizer_steps, by_begin);
  std::ranges::stable_sort(p.program_steps, by_begin);

  auto ranges = load_long<table::Ranges>(r);
  check_names(r, text, column<table::Ranges>.name, ranges.name.raw);
  const auto thread = r.column(column<table::Ranges>.thread);
  const auto os_id = r.column(column<table::Threads>.os_id);
  for (size_t row = 1; row <= ranges.rows() && r.is_sound(Table::ranges); ++row) {
    const uint32_t os_thread = thread[row] < os_id.size() ? os_id[thread[row]] : 0;
    const Range range{interval(ranges, row), StringId{ranges.name.raw[row]}, os_thread};
    if (text.string(range.name) != trace::kProgramStart) {
      p.ranges.push_back(range);
    } else if (p.started.ns == 0 || range.when.begin < p.started) {
      p.started = range.when.begin;
    }
  }
  std::ranges::stable_sort(p.ranges, by_begin);
}

// The numbers of a text that consists of numbers with blanks between them; stops at the first other character.
std::vector<uint64_t> numbers_of(std::string_view text) {
  std::vector<uint64_t> numbers;
  for (const char *at = text.data(), *end = at + text.size(); at < end;) {
    uint64_t number = 0;
    const auto [behind, error] = std::from_chars(at, end, number);
    if (error != std::errc() || (behind != end && *behind != ' ')) break;
    numbers.push_back(number);
    at = behind + (behind != end ? 1 : 0);
  }
  return numbers;
}

OlderSteps older_steps(const Text& text, const Process& p) {
  constexpr std::string_view kPeak = "steps_left_out_peak:";
  OlderSteps older;
  for (const Information& entry : p.information) {
    const std::string_view key = text.string(entry.key);
    if (!key.starts_with("steps_left_out")) continue;
    const std::vector<uint64_t> said = numbers_of(text.string(entry.value));
    if (key == "steps_left_out" && said.size() == 1) {
      older.count = static_cast<uint32_t>(std::min<uint64_t>(said[0], UINT32_MAX / 2));
    } else if (key == "steps_left_out_until" && said.size() == 1) {
      older.until = Time{static_cast<int64_t>(std::min(said[0], static_cast<uint64_t>(p.duration.ns)))};
    } else if (key == "steps_left_out_optimizer") {
      older.optimizer = entry.value;
      older.is_by_program = text.string(entry.value) == trace::kProgramStep;
    } else if (key.starts_with(kPeak) && said.size() == 3) {
      const std::string_view name = key.substr(kPeak.size());
      DeviceId device;
      for (const DeviceId id : text.device_name.ids())
        if (text.string(text.device_name[id]) == name) device = id;
      older.peaks.push_back({device, std::string(name), Bytes{static_cast<int64_t>(said[0])}, said[1]});
    }
  }
  if (older.count == 0 || older.until.ns == 0) return {};
  return older;
}

std::optional<Process::Attached> attached(const Text& text, const Process& p) {
  for (const Information& entry : p.information) {
    if (text.string(entry.key) != "attached") continue;
    const std::vector<uint64_t> found = numbers_of(text.string(entry.value));
    if (found.size() != 2 || found[1] > static_cast<uint64_t>(INT64_MAX)) return Process::Attached{};
    return Process::Attached{found[0], Bytes{static_cast<int64_t>(found[1])}};
  }
  return std::nullopt;
}

bool has_python(const Text& text) {
  return std::ranges::any_of(text.frame_file.ids(),
                             [&](FrameId frame) { return text.string(text.frame_file[frame]).ends_with(".py"); });
}

void load_facts(Tables& r, const Text& text, Process& p) {
  LoadedTable<table::Information> information;
  r.load(information);
  check_names(r, text, column<table::Information>.key, information.key.raw);
  check_names(r, text, column<table::Information>.value, information.value.raw);
  for (size_t row = 1; row <= information.rows() && r.is_sound(Table::information); ++row)
    p.information.push_back({StringId{information.key.raw[row]}, StringId{information.value.raw[row]}});
  const auto informs = [&](std::string_view key) {
    return std::ranges::any_of(p.information, [&](const Information& entry) { return text.string(entry.key) == key; });
  };
  p.is_imported = informs("imported_from");
  p.is_marked = informs("marked");
  p.lacks_variables = !p.is_imported && !informs("referrers") && p.variables.rows() == 0 && has_python(text);
  p.older = older_steps(text, p);
  p.attached = attached(text, p);
  LoadedTable<table::Losses> lost;
  r.load(lost);
  for (size_t row = 1; row <= lost.rows() && r.is_sound(Table::losses); ++row)
    p.lost.push_back({Loss{lost.kind.raw[row]}, lost.count.raw[row], Time{static_cast<int64_t>(lost.since.raw[row])}});
}

// Each task reads tables that no other task reads, so that their faults are the same in any order.
void load_columns(Tables& r, Process& p) {
  uint64_t rows = 0;
  std::vector<std::function<void()>> loads;
  p.each_table([&]<class Loaded>(Loaded& table) {
    rows += r.rows(Loaded::kTable);
    loads.emplace_back([&r, &table] { r.load(table); });
  });
  base::parallel_for(loads.size(), rows, [&](size_t i) { loads[i](); });
  const std::function<void()> rest[] = {[&] { finish_operators(r, p.operators); },
                                        [&] { sort_views(r, p.input_views); }, [&] { finish_nodes(r, p.nodes); },
                                        [&] { finish_evaluations(r, p.evaluations); },
                                        [&] { finish_module_calls(r, p.module_calls); }};
  base::parallel_for(std::size(rest), rows, [&](size_t i) { rest[i](); });
}

}  // namespace

bool lacks(std::span<const LeftOut> left_out, Table table) {
  return std::ranges::find(left_out, table, &LeftOut::table) != left_out.end();
}

Process load_process(const Recording& recording, const Text& text, ProcessIndex index) {
  Process p;
  Tables r = Tables::of_process(recording, index);
  p.summary = recording.processes()[index.value];
  p.duration = recording.duration();
  load_columns(r, p);
  r.sums(column<table::Checksums>.spent, p.checksums.spent.raw);
  load_intervals(r, text, p);
  load_facts(r, text, p);
  leave_out_unsound(r, text, p);
  p.left_out = r.left_out();
  join(p);
  return p;
}

Threads load_threads(const trace::Recording& r, const Process& process, trace::ProcessIndex index) {
  Threads out;
  out.os_id.raw = r.column(trace::column<trace::table::Threads>.os_id, index);
  const auto fill = [&](std::vector<uint16_t>& raw, std::vector<uint16_t> column, uint32_t rows) {
    raw = std::move(column);
    raw.resize(size_t{rows} + 1);
    for (uint16_t& thread : raw) {
      if (thread > out.os_id.rows()) thread = 0;
    }
  };
  fill(out.of_operator.raw, r.column(trace::column<trace::table::Operators>.thread, index), process.operators.rows());
  fill(out.of_module_call.raw, r.column(trace::column<trace::table::ModuleCalls>.thread, index),
       process.module_calls.rows());
  fill(out.of_evaluation.raw, r.column(trace::column<trace::table::Evaluations>.thread, index),
       process.evaluations.rows());
  return out;
}

}  // namespace tapelens::model
