// An SQLite database of the recorded events and the findings; sqlite_schema.h has its tables.
#include <algorithm>
#include <string>

#include "analyzer/advise/advice.h"
#include "analyzer/export/database.h"
#include "analyzer/export/export.h"
#include "analyzer/export/sqlite_schema.h"
#include "analyzer/model/attribution.h"
#include "analyzer/model/load.h"
#include "analyzer/model/steps.h"
#include "analyzer/peak/analysis.h"
#include "analyzer/peak/grouping.h"
#include "analyzer/peak/holders.h"
#include "analyzer/peak/keys.h"
#include "analyzer/text/escape.h"
#include "trace/record.h"

namespace tapelens::exporting {
namespace {

using text::printable;

// Writes the tables that all processes share.
void write_shared(const ExportedProcesses& processes, Database& database) {
  const Text& text = processes.text();
  const Names& names = processes.names();
  Rows recording(database, "recording", 2);
  recording.text("command").own_text(processes.command()).put();
  recording.text("duration_ns").number(processes.recording().duration().ns).put();
  recording.text("events").number(static_cast<int64_t>(processes.recording().events())).put();
  recording.text("tapelens_version").text(processes.wanted().version).put();
  Rows frames(database, "frames", 4);
  for (const FrameId id : text.frame_line.ids()) {
    const uint32_t line = text.frame_line[id];
    frames.id(id.value).text(names[text.frame_file[id]]).id(line).text(names[text.frame_function[id]]).put();
  }
  Rows stacks(database, "stacks", 3), stack_frames(database, "stack_frames", 3);
  for (uint32_t id = 1; id + 1 < text.stack_begin.size(); ++id) {
    const FrameId source = names.source_frame(StackId{id});
    stacks.id(id).id(source.value).own_text(names.source(source)).put();
    uint32_t depth = 0;
    for (const FrameId frame : text.stack(StackId{id})) stack_frames.id(id).number(depth++).id(frame.value).put();
  }
  Rows modules(database, "modules", 3);
  for (const ModuleId id : text.module_path.ids()) {
    modules.id(id.value).text(names[text.module_path[id]]).text(names[text.module_type[id]]).put();
  }
}

class ProcessRows {
 public:
  ProcessRows(ExportedProcesses& processes, const ExportedProcess& exported, Database& database)
      : processes_(processes),
        names_(processes.names()),
        text_(processes.text()),
        exported_(exported),
        p_(exported.process),
        threads_(load_threads(processes.recording(), p_, exported.index)),
        database_(database),
        counted_(processes, exported,
                 uint64_t{p_.operators.rows()} + p_.nodes.rows() + p_.saves.rows() + p_.allocations.rows() +
                     p_.evaluations.rows() + p_.module_calls.rows()) {}

  void write() {
    process();
    module_calls();
    operators();
    nodes();
    saves();
    allocations();
    for (const DeviceId device : exported_.devices) of_device(device);
  }

 private:
  // The first value of each row: the process.
  Rows& begin(Rows& rows) const { return rows.number(exported_.index.value); }
  Rows& name(Rows& rows, StringId id) const { return id ? rows.text(names_[id]) : rows.null(); }
  Rows& thread(Rows& rows, ThreadId id) const { return rows.id(id ? threads_.os_id[id] : 0); }
  std::string_view device_name(DeviceId id) const { return names_[text_.device_name[id]]; }

  void process() {
    const trace::ProcessSummary& s = p_.summary;
    Rows rows(database_, "processes", 6);
    begin(rows).number(s.pid).number(s.parent_pid);
    s.rank >= 0 ? rows.number(s.rank) : rows.null();
    rows.number(s.finished ? 1 : 0);
    s.exit_code ? rows.number(*s.exit_code) : rows.null();
    rows.put();
    Rows phases(database_, "phases", 4);
    for (const Bands::Band& band : bands(p_, exported_.analysis.steps(), exported_.analysis.phases()).phases) {
      begin(phases).time(band.when.begin).time(band.when.end).text(phase_name(band.phase)).put();
    }
  }

  void module_calls() {
    Rows rows(database_, "module_calls", 7);
    const ModuleCalls& m = p_.module_calls;
    for (const ModuleCallId id : m.ids()) {
      begin(rows).id(id.value).id(m.module[id].value).time(m.begin[id]).time(m.end[id]).id(m.parent[id].value);
      thread(rows, threads_.of_module_call[id]).put();
      counted_.one();
    }
  }

  void operators() {
    Rows rows(database_, "operators", 10);
    const Operators& o = p_.operators;
    for (const OperatorId id : o.ids()) {
      begin(rows).id(id.value);
      name(rows, o.name[id]).time(o.begin[id]).time(o.end[id]).id(o.parent[id].value).id(o.evaluation[id].value);
      rows.id(module_of(p_, id).value).id(stack_of(p_, text_, id).value);
      thread(rows, threads_.of_operator[id]).put();
      counted_.one();
    }
  }

  void nodes() {
    Rows rows(database_, "nodes", 6);
    for (const NodeId id : p_.nodes.ids()) {
      begin(rows).id(id.value);
      name(rows, p_.nodes.type[id]).id(p_.nodes.op[id].value).time(p_.nodes.time[id]).id(p_.nodes.parameter[id].value);
      rows.put();
      counted_.one();
    }
    Rows evaluations(database_, "evaluations", 6);
    const Evaluations& e = p_.evaluations;
    for (const EvaluationId id : e.ids()) {
      begin(evaluations).id(id.value).id(e.node[id].value).time(e.begin[id]).time(e.end[id]);
      thread(evaluations, threads_.of_evaluation[id]).put();
      counted_.one();
    }
  }

  void saves() {
    Rows rows(database_, "saves", 13);
    const Saves& s = p_.saves;
    std::vector<std::string> layouts(size_t{text_.layout_bytes.rows()} + 1);  // as written; computed on first use
    for (const SaveId id : s.ids()) {
      const LayoutId layout = s.layout[id];
      if (layout && layouts[layout.value].empty()) layouts[layout.value] = printable(layout_text(text_, layout));
      begin(rows).id(id.value).id(s.node[id].value);
      name(rows, p_.nodes.type[s.node[id]]);
      name(rows, s.field[id]).number(s.index[id]).id(s.allocation[id].value);
      layout ? rows.text(layouts[layout.value]) : rows.null();
      rows.bytes(text_.layout_bytes[layout]).time(s.time[id]).time(s.released[id]);
      rows.number((s.flags[id] & trace::kSaveIsWrappedNumber) != 0 ? 1 : 0);
      rows.number((s.flags[id] & trace::kSaveIsPacked) != 0 ? 1 : 0);
      rows.put();
      counted_.one();
    }
  }

  bool is_wanted(DeviceId device) const {
    return std::ranges::find(exported_.devices, device) != exported_.devices.end();
  }

  // Leaves out memory of devices that were not requested. External memory, which has no device, is included.
  void allocations() {
    Rows rows(database_, "allocations", 17);
    const Allocations& a = p_.allocations;
    const peak::Grouping grouping = peak::group(p_, text_, exported_.analysis.steps(), {}, peak::By::category);
    const Phases& phases = exported_.analysis.phases();
    for (const AllocationId id : a.ids()) {
      counted_.one();
      const bool is_owned = a.origin[id] == Origin::allocator;
      if (is_owned && !is_wanted(a.device[id])) continue;
      begin(rows).id(id.value);
      a.device[id] ? rows.text(device_name(a.device[id])) : rows.null();
      rows.bytes(a.bytes[id]).time(a.time[id]).time(p_.freed(id));
      rows.text(peak::category_name(static_cast<peak::HolderKind>(grouping.of[id.value])));
      rows.number(step_index_at(exported_.analysis.steps(), a.time[id])).text(phase_name(phases.at(a.time[id])));
      name(rows, called_name_of(p_, text_, id)).id(a.op[id].value).id(module_of(p_, id).value);
      rows.id(stack_of(p_, text_, id).value).number(is_owned ? 1 : 0);
      if (const DeviceBlockId block = p_.device_blocks.of(id)) {
        rows.bytes(p_.device_blocks.rounded[block]);
        rows.number(static_cast<int64_t>(p_.device_blocks.address[block]));
        rows.number(static_cast<int64_t>(p_.device_blocks.stream[block]));
      } else {
        rows.null().null().null();
      }
      rows.put();
    }
  }

  void of_device(DeviceId id) {
    const peak::DeviceAnalysis& device = exported_.of->device(id).analysis();
    const std::string_view name_of_device = device_name(id);
    describe(device, name_of_device);
    Rows steps(database_, "steps", 10);
    for (const peak::StepMemory& step : peak::step_memory(exported_.analysis, device.timeline())) {
      begin(steps)
          .text(name_of_device)
          .number(step.index)
          .time(step.begin)
          .time(step.end)
          .number(step.complete ? 1 : 0);
      steps.bytes(step.begin_live).bytes(step.peak).number(static_cast<int64_t>(step.allocations));
      steps.bytes(step.allocated).put();
    }
    peak_rows(device, name_of_device);
    if (processes_.wanted().checks != nullptr) findings(device, name_of_device);
  }

  void describe(const peak::DeviceAnalysis& device, std::string_view name_of_device) {
    Rows rows(database_, "devices", 9);
    for (const peak::DevicePeak& one : exported_.analysis.devices()) {
      if (one.device != device.device()) continue;
      begin(rows).text(name_of_device).bytes(one.peak).time(one.when.time);
      rows.number(static_cast<int64_t>(one.allocations)).number(static_cast<int64_t>(one.frees));
      rows.bytes(one.live_at_end);
      const model::DeviceTraits& traits = exported_.analysis.traits(one.device);
      const peak::DeviceMemory& memory = exported_.analysis.memory(one.device);
      traits.has_blocks ? rows.bytes(memory.allocated_peak) : rows.null();
      traits.has_segments ? rows.bytes(memory.reserved_peak) : rows.null();
      rows.put();
    }
  }

  void peak_rows(const peak::DeviceAnalysis& device, std::string_view name_of_device) {
    Rows rows(database_, "peak", 8);
    const peak::PeakSet& set = device.peak();
    peak::Keys keys(p_, text_, exported_.analysis.steps(), peak::By::field);
    std::vector<uint64_t> fields;
    for (const peak::Member& member : set.members) {
      fields.push_back(keys.key(member.allocation, peak::main_holder(set.holders_of(member))));
    }
    std::map<uint64_t, std::string> held_by = keys.names(fields);
    for (auto& [key, text] : held_by) text = printable(text);
    for (size_t i = 0; i < set.members.size(); ++i) {
      const peak::Member& member = set.members[i];
      const peak::Holder& holder = peak::main_holder(set.holders_of(member));
      int64_t saves = 0;
      for (const peak::Holder& one : set.holders_of(member)) {
        if (one.kind == peak::HolderKind::save) saves += one.count;
      }
      begin(rows).text(name_of_device).id(member.allocation.value).bytes(member.bytes);
      rows.text(peak::category_name(holder.kind)).text(held_by.at(fields[i]));
      const std::string_view named = name_of(text_, holder);
      named.empty() ? rows.null() : rows.own_text(printable(named));
      rows.number(saves).put();
    }
  }

  void findings(const peak::DeviceAnalysis& device, std::string_view name_of_device) {
    advise::AdviceOptions wanted;
    wanted.sources = processes_.wanted().sources;
    const advise::Advice advice = advise::advise(device, *processes_.wanted().checks, wanted);
    if (processes_.wanted().advised) processes_.wanted().advised(advice);
    Rows rows(database_, "findings", 22);
    int64_t number = 0;
    for (const advise::Finding& f : advice.findings) {
      begin(rows).text(name_of_device).number(++number).own_text(f.id).own_text(f.check);
      rows.text(check::severity_name(f.severity)).text(f.is_proved ? "proved" : "likely");
      for (const std::string* one : {&f.title, &f.message}) rows.own_text(printable(*one));
      rows.bytes(f.bytes).bytes(f.peak_before).bytes(f.peak_after).number(static_cast<int64_t>(f.occurrences));
      for (const std::string* one : {&f.node, &f.field, &f.op, &f.module, &f.source.file}) words(rows, *one);
      rows.id(f.source.line);
      words(rows, f.source.function).text(check::fix_name(f.fix.kind));
      words(rows, f.fix.rewrite).put();
    }
  }
  static Rows& words(Rows& rows, const std::string& text) {
    return text.empty() ? rows.null() : rows.own_text(printable(text));
  }

  ExportedProcesses& processes_;
  const Names& names_;
  const Text& text_;
  const ExportedProcess& exported_;
  const Process& p_;
  const Threads threads_;
  Database& database_;
  Counted counted_;
};

// Recognizes the header of a database with the application_id of kTables.
bool is_sqlite(std::string_view head) {
  constexpr size_t kApplication = 68;
  return head.starts_with(std::string_view("SQLite format 3\0", 16)) && head.size() > kApplication + 4 &&
         head.substr(kApplication, 4) == "TPLN";
}

void write_sqlite(ExportedProcesses& processes, const std::string& path) {
  Database database(path);
  database.run(kTables);
  write_shared(processes, database);
  processes.each([&](const ExportedProcess& exported) { ProcessRows(processes, exported, database).write(); });
  database.run(kViews);
}

}  // namespace

constinit extern const Format kSqlite{.name = "sqlite",
                                      .suffix = ".sqlite",
                                      .what = "SQLite, and all that read it: tables and views",
                                      .is_ours = is_sqlite,
                                      .file = write_sqlite};

}  // namespace tapelens::exporting
