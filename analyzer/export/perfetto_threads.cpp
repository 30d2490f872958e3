#include "analyzer/export/perfetto_threads.h"

#include <algorithm>
#include <array>
#include <optional>

#include "analyzer/model/attribution.h"
#include "analyzer/peak/groups.h"
#include "analyzer/text/escape.h"

namespace tapelens::exporting {

using perfetto::TrackEvent;

ThreadSlices::ThreadSlices(ExportedProcesses& processes, const ExportedProcess& exported, const ProcessTracks& tracks,
                           Packets& out)
    : processes_(processes),
      exported_(exported),
      tracks_(tracks),
      out_(out),
      p_(exported.process),
      threads_of_(load_threads(processes.recording(), p_, exported.index)),
      threads_(size_t{threads_of_.os_id.rows()} + 1),
      allocated_(size_t{p_.operators.rows()} + 1),
      evaluation_of_(size_t{p_.nodes.rows()} + 1) {
  for (const AllocationId id : p_.allocations.ids()) {
    if (p_.allocations.origin[id] == Origin::allocator) {
      allocated_[p_.allocations.op[id].value] += p_.allocations.bytes[id].value;
    }
  }
  for (const EvaluationId id : p_.evaluations.ids()) evaluation_of_[p_.evaluations.node[id].value] = id.value;
}

uint64_t ThreadSlices::rows() const {
  return uint64_t{p_.operators.rows()} + p_.module_calls.rows() + p_.evaluations.rows() + 2 * uint64_t{p_.saves.rows()};
}

ThreadSlices::Slice ThreadSlices::slice_of(Kind kind, uint32_t row) const {
  const auto of = [&](const auto& table, auto id, const auto& threads) {
    const Time end = std::min(table.end[id], p_.duration);
    return Slice{kind, row, threads[id], table.begin[id], std::max(table.begin[id], end)};
  };
  if (kind == Kind::module) return of(p_.module_calls, ModuleCallId{row}, threads_of_.of_module_call);
  if (kind == Kind::evaluation) return of(p_.evaluations, EvaluationId{row}, threads_of_.of_evaluation);
  return of(p_.operators, OperatorId{row}, threads_of_.of_operator);
}

// The begins of all threads, in the order of time. At equal times, the slice that ends last encloses the others.
void ThreadSlices::write(Counted& counted) {
  std::array<uint32_t, 3> next{1, 1, 1};
  const std::array<uint32_t, 3> rows{p_.module_calls.rows(), p_.evaluations.rows(), p_.operators.rows()};
  std::array<std::optional<Slice>, 3> first;
  const auto advance = [&](size_t kind) {
    first[kind] =
        next[kind] <= rows[kind] ? std::optional(slice_of(static_cast<Kind>(kind), next[kind]++)) : std::nullopt;
  };
  for (size_t kind = 0; kind < first.size(); ++kind) advance(kind);
  for (;;) {
    std::optional<size_t> chosen;
    for (size_t kind = 0; kind < first.size(); ++kind) {
      if (!first[kind]) continue;
      if (chosen) {
        const Slice &a = *first[*chosen], &b = *first[kind];
        if (a.begin < b.begin || (a.begin == b.begin && a.end >= b.end)) continue;
      }
      chosen = kind;
    }
    if (!chosen) break;
    const Slice slice = *first[*chosen];
    advance(*chosen);
    open(slice);
    counted.one();
  }
  for (uint32_t thread = 0; thread < threads_.size(); ++thread) close_to(ThreadId{thread}, 0);
  for (const SaveId id : p_.saves.ids()) {
    save(id);
    counted.one();
    if (p_.saves.released[id] != kNever) release(id);
    counted.one();
  }
}

// The track of a thread; described on first use.
TrackId ThreadSlices::track_of(ThreadId thread) {
  const TrackId id = tracks_.thread(thread);
  if (!threads_[thread.value].is_named) {
    threads_[thread.value].is_named = true;
    if (thread) {
      const auto os_id = static_cast<int64_t>(threads_of_.os_id[thread]);
      auto& of_thread = *out_.track(id, "").mutable_thread();
      of_thread.set_pid(static_cast<int32_t>(p_.summary.pid));
      of_thread.set_tid(os_id);
      of_thread.set_thread_name(os_id == p_.summary.pid ? "main" : "thread " + std::to_string(os_id));
    } else {
      out_.track(id, "threads that are not known", tracks_.of_process());
    }
    out_.put();
  }
  return id;
}

// Whether the recording says that `outer` encloses `inner`, independent of their times.
bool ThreadSlices::is_around(const Slice& outer, const Slice& inner) const {
  if (outer.kind != inner.kind) return false;
  if (inner.kind == Kind::op) return p_.operators.parent[OperatorId{inner.row}].value == outer.row;
  return inner.kind == Kind::module && p_.module_calls.parent[ModuleCallId{inner.row}].value == outer.row;
}

void ThreadSlices::open(Slice slice) {
  const ThreadId thread = slice.thread;
  std::vector<Slice>& around = threads_[thread.value].open;
  size_t depth = around.size();
  while (depth > 0 && around[depth - 1].end <= slice.begin && !is_around(around[depth - 1], slice)) --depth;
  close_to(thread, depth);
  if (!around.empty()) slice.end = std::min(slice.end, around.back().end);
  out_.event(TrackEvent::TYPE_SLICE_BEGIN, track_of(thread), slice.begin);
  describe(slice);
  out_.put();
  around.push_back(slice);
}

void ThreadSlices::close_to(ThreadId thread, size_t depth) {
  std::vector<Slice>& around = threads_[thread.value].open;
  for (; around.size() > depth; around.pop_back()) out_.end(tracks_.thread(thread), around.back().end);
}

void ThreadSlices::note_string(DebugAnnotation note, StringId string) {
  if (!string) return;
  out_.note(note, out_.text(TextOf::string, string.value, [&] { return processes_.names()[string]; }));
}

void ThreadSlices::note_place(ModuleId module, StackId stack) {
  if (module) note_string(DebugAnnotation::module, processes_.text().module_path[module]);
  if (const FrameId frame = processes_.names().source_frame(stack)) {
    out_.note(DebugAnnotation::line,
              out_.text(TextOf::frame, frame.value, [&] { return processes_.names().source(frame); }));
  }
}

void ThreadSlices::describe(const Slice& slice) {
  const Text& text = processes_.text();
  const auto name = [&](EventCategory category, NameOf kind, StringId string, std::string_view otherwise) {
    out_.name(category,
              out_.event_name(kind, string.value, [&] { return string ? processes_.names()[string] : otherwise; }));
  };
  switch (slice.kind) {
    case Kind::module:
      name(EventCategory::module, NameOf::module, text.module_path[p_.module_calls.module[ModuleCallId{slice.row}]],
           "(module)");
      break;
    case Kind::evaluation: {
      const NodeId node = p_.evaluations.node[EvaluationId{slice.row}];
      name(EventCategory::evaluation, NameOf::evaluation, p_.nodes.type[node], "unpacks a saved tensor");
      const OperatorId made_by = p_.nodes.op[node];
      if (made_by) note_place(module_of(p_, made_by), stack_of(p_, text, made_by));
      break;
    }
    case Kind::op: {
      const OperatorId op{slice.row};
      name(EventCategory::op, NameOf::op, p_.operators.name[op], "(operator)");
      if (allocated_[op.value] > 0) out_.note(DebugAnnotation::allocated, Bytes{allocated_[op.value]});
      note_place(module_of(p_, op), stack_of(p_, text, op));
      break;
    }
  }
}

uint64_t ThreadSlices::name_of_save(NameOf kind, std::string_view prefix, NodeId node, StringId field) {
  const StringId type = p_.nodes.type[node];
  return out_.event_name(kind, uint64_t{type.value} << 32 | field.value, [&] {
    return std::string(prefix) + text::printable(peak::field_text(p_, processes_.text(), node, field));
  });
}

void ThreadSlices::save(SaveId id) {
  const Text& text = processes_.text();
  const NodeId node = p_.saves.node[id];
  const OperatorId op = p_.nodes.op[node];
  const AllocationId allocation = p_.saves.allocation[id];
  TrackEvent& event = out_.event(TrackEvent::TYPE_INSTANT, track_of(threads_of_.of_operator[op]), p_.saves.time[id]);
  out_.name(EventCategory::save, name_of_save(NameOf::save, "save ", node, p_.saves.field[id]));
  if (p_.saves.released[id] != kNever) {
    event.add_flow_ids(tracks_.flow(id));
    out_.note(DebugAnnotation::held, Bytes{p_.saves.released[id].ns - p_.saves.time[id].ns});
  }
  if (allocation) out_.note(DebugAnnotation::bytes, p_.allocations.bytes[allocation]);
  note_string(DebugAnnotation::node, p_.nodes.type[node]);
  note_string(DebugAnnotation::field, p_.saves.field[id]);
  if (const LayoutId layout = p_.saves.layout[id]) {
    out_.note(DebugAnnotation::layout,
              out_.text(TextOf::layout, layout.value, [&] { return text::printable(layout_text(text, layout)); }));
  }
  note_string(DebugAnnotation::made_by, p_.operators.name[op]);
  if (op) note_place(module_of(p_, op), stack_of(p_, text, op));
  out_.put();
}

// Uses the thread that evaluated the node, if the evaluation released the save; otherwise the thread is unknown.
void ThreadSlices::release(SaveId id) {
  const NodeId node = p_.saves.node[id];
  const Time when = p_.saves.released[id];
  TrackId track = tracks_.releases();
  const EvaluationId evaluation{evaluation_of_[node.value]};
  if (node && evaluation && p_.evaluations.begin[evaluation] <= when && when <= p_.evaluations.end[evaluation]) {
    track = track_of(threads_of_.of_evaluation[evaluation]);
  } else if (!has_releases_) {
    has_releases_ = true;
    out_.track(track, "released outside of a backward", tracks_.of_process());
    out_.put();
  }
  TrackEvent& event = out_.event(TrackEvent::TYPE_INSTANT, track, std::min(when, p_.duration));
  out_.name(EventCategory::save, name_of_save(NameOf::release, "release ", node, p_.saves.field[id]));
  event.add_terminating_flow_ids(tracks_.flow(id));
  if (const AllocationId allocation = p_.saves.allocation[id]) {
    out_.note(DebugAnnotation::bytes, p_.allocations.bytes[allocation]);
  }
  out_.put();
}

}  // namespace tapelens::exporting
