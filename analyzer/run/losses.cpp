#include "analyzer/run/losses.h"

#include <algorithm>

#include "analyzer/model/words.h"
#include "analyzer/peak/timeline.h"

namespace tapelens::run {

using model::bytes_text;
using model::count_text;
using model::plural;
using model::Time;

namespace {

struct Words {
  const char* kind;
  const char* one;
  const char* many;
  const char* consequence;
};

Words words(model::Loss kind) {
  using enum model::Loss;
  switch (kind) {
    case disk_full:
      return {"disk_full", "event", "events",
              "found no room on the disk: free some, or record fewer steps (tapelens record --steps A:B)"};
    case size_limit:
      return {"size_limit", "event", "events",
              "came after the size limit was reached: raise it (tapelens record --max-size) or record fewer steps"};
    case forked_child:
      return {"forked_child", "forked child", "forked children",
              "ran unrecorded (DataLoader workers are forks; nothing to do unless they train)"};
    case torn_block:
      return {"torn_block", "spool block", "spool blocks", "cannot be read: the disk or the machine failed"};
    case unattributed_save:
      return {"unattributed_save", "saved tensor", "saved tensors",
              "could not be given to a node and a field: please report the operator"};
    case truncated_text:
      return {"truncated_text", "text", "texts", "too long to keep whole: names or stacks are cut"};
    case unmatched_event:
      return {"unmatched_event", "event", "events",
              "belong to something that began before the recording, or to memory that was never seen"};
    case unwritable:
      return {"unwritable", "process", "processes", "could not write a spool: check the folder that is recorded into"};
    case truncated_spool:
      return {"truncated_spool", "process", "processes",
              "killed, crashed or still running when this file was made: the last events may be missing"};
    case no_memory:
      return {"no_memory", "event", "events",
              "found no address space to be written in: raise the limit on virtual memory (ulimit -v)"};
    case unreachable:
      return {"unreachable", "event", "events",
              "came when the program could not reach its spool any more (chroot, a spool that was moved or removed, "
              "another user): put the spools where it can (tapelens record --spool DIR)"};
    case no_descriptor:
      return {"no_descriptor", "event", "events",
              "came when every file descriptor was in use: raise the limit of open files (ulimit -n)"};
    case disk_reserve:
      return {"disk_reserve", "event", "events",
              "would have taken the last 5 % of the disk (or GiB), which is left to the program: free some, put the "
              "spools on another disk (tapelens record --spool DIR) or record fewer steps (--steps A:B)"};
    case file_size_limit:
      return {"file_size_limit", "event", "events",
              "came after the spool had reached the program's limit of file sizes: raise it (ulimit -f)"};
    case dropped_activity:
      return {"dropped_activity", "allocation or free", "allocations and frees",
              "outside of PyTorch's allocator were dropped by CUPTI: the totals of that memory are incomplete"};
    case dropped_history:
      return {"dropped_history", "allocation", "allocations",
              "dropped from the snapshot's full history, together with earlier frees: the peak may have been "
              "earlier, and higher; keep more (torch.cuda.memory._record_memory_history(max_entries=...))"};
    case unknown_action:
      return {"unknown_action", "entry", "entries",
              "in the snapshot's history have an action that this version does not know: use a newer tapelens"};
    case unknown_record:
      return {"unknown_record", "record", "records",
              "in the spool had a kind that the tapelens that sealed it did not know: the spool is damaged"};
  }
  return {"unknown", "loss", "losses", "with a kind that this version does not know: use a newer tapelens"};
}

Lost describe(const model::Lost& lost, uint32_t pid) {
  const Words w = words(lost.kind);
  return {w.kind,     plural(lost.count, w.one, w.many) + " " + w.consequence,
          lost.count, lost.since,
          pid,        lost.kind != model::Loss::forked_child};
}

void add(const std::vector<model::LeftOut>& left_out, uint32_t pid, std::vector<Lost>& lost) {
  for (const model::LeftOut& table : left_out) {
    const std::string what = "the file's table " + table.name + " cannot be used and is left out (" + table.why +
                             "): its rows are missing in this report; record again";
    lost.push_back({"table_left_out", what, 1, Time{0}, pid, true});
  }
}

// The user chose this loss (--last). The sentence names an earlier peak if it is higher.
Lost steps_left_out(const model::Process& process) {
  const model::OlderSteps& older = process.older;
  const uint64_t last = older.count - 1;
  std::string what = (last == 0 ? "step 0 was" : "steps 0 to " + count_text(last) + " were") +
                     " left out (tapelens record --last); allocations that were alive after " +
                     (last == 0 ? "it" : "them") + " are named";
  const std::vector<peak::DevicePeak> kept = peak::device_peaks(process);
  for (const model::OlderSteps::Peak& peak : older.peaks) {
    const auto later = std::ranges::find(kept, peak.device, &peak::DevicePeak::device);
    if (later != kept.end() && later->peak >= peak.bytes) continue;
    what += "; " + peak.name + " had more in the omitted steps than since: " + bytes_text(peak.bytes) + ", in step " +
            count_text(peak.step);
  }
  return {"steps_left_out", what, older.count, Time{0}, process.summary.pid, false};
}

// The memory that a recording of an attached program lacks.
Lost before_attach(const model::Process& process) {
  const model::Process::Attached& found = *process.attached;
  std::string what = "the program ran before tapelens attach: the " +
                     plural(found.blocks, "CPU tensor", "CPU tensors") + " (" + bytes_text(found.bytes) +
                     ") that Python had then, and older GPU blocks, have no operator and no stack; older CPU memory "
                     "that only C++ held, "
                     "such as saves of a graph built before, is not counted";
  if (process.operators.rows() == 0) what += "; no step ended afterwards, so only allocations were recorded";
  return {"before_attach", what, std::max<uint64_t>(found.blocks, 1), Time{0}, process.summary.pid, false};
}

}  // namespace

std::vector<Lost> losses_of(const model::Process& process) {
  std::vector<Lost> lost;
  for (const model::Lost& one : process.lost) {
    if (one.count > 0) lost.push_back(describe(one, process.summary.pid));
  }
  add(process.left_out, process.summary.pid, lost);
  if (process.older.count > 0) lost.push_back(steps_left_out(process));
  if (process.attached) lost.push_back(before_attach(process));
  if (process.is_marked && process.started.ns == 0) {
    lost.push_back({"never_started",
                    "the program never called tapelens.start(), which tapelens record --marked waits for: only "
                    "allocations were recorded",
                    1, Time{0}, process.summary.pid, true});
  }
  return lost;
}

std::vector<Lost> losses_of(const model::Text& text) {
  std::vector<Lost> lost;
  add(text.left_out, 0, lost);
  return lost;
}

bool is_complete(const std::vector<Lost>& lost) { return std::ranges::none_of(lost, &Lost::is_data); }

std::string hidden_text(std::string_view cuda_allocator) {
  if (cuda_allocator.empty()) return {};
  return "CUDA memory is not recorded: the program's CUDA allocator is " + std::string(cuda_allocator) +
         ", which does not report its allocations. Record with PyTorch's own (no backend: in "
         "PYTORCH_CUDA_ALLOC_CONF, no PYTORCH_NO_CUDA_MEMORY_CACHING, no CUDAPluggableAllocator).";
}

}  // namespace tapelens::run
