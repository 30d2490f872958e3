#include "plugins/checkpoint-segments/segments.h"

#include <algorithm>

namespace tapelens::check::segments {

namespace {

constexpr std::string_view kFile = "/torch/utils/checkpoint.py";

bool is_of_checkpoint(const Text& text, FrameId frame) { return text.string(text.frame_file[frame]).ends_with(kFile); }

// Calls of modules in the order of time. A call comes before the calls inside it.
class ModuleCallTree {
 public:
  explicit ModuleCallTree(const Process& process) : calls_(process.module_calls), children_(calls_.rows() + 1) {
    for (const ModuleCallId call : calls_.ids()) children_[calls_.parent[call].value].push_back(call);
  }

  // The calls that begin in an interval and whose parent begins before it.
  std::vector<ModuleCallId> outermost_in(Interval when) const {
    std::vector<ModuleCallId> found;
    const auto& begins = calls_.begin.raw;
    for (auto at = std::lower_bound(begins.begin() + 1, begins.end(), static_cast<uint64_t>(when.begin.ns));
         at != begins.end() && *at < static_cast<uint64_t>(when.end.ns); ++at) {
      const ModuleCallId call{static_cast<uint32_t>(at - begins.begin())};
      const ModuleCallId parent = calls_.parent[call];
      if (!parent || calls_.begin[parent] < when.begin) found.push_back(call);
    }
    return found;
  }
  const std::vector<ModuleCallId>& children(ModuleCallId call) const { return children_[call.value]; }

 private:
  const ModuleCalls& calls_;
  std::vector<std::vector<ModuleCallId>> children_;
};

// Whether checkpoint_sequential calls the module without a checkpoint.
bool is_in_last_segment(const Text& text, StackId stack) {
  for (const FrameId frame : text.stack(stack)) {
    if (!is_of_checkpoint(text, frame)) continue;
    const std::string_view function = text.string(text.frame_function[frame]);
    if (function == "checkpoint_sequential") return true;
    if (!function.starts_with("checkpoint_sequential")) return false;
  }
  return false;
}

bool is_in_sequence(const Text& text, StackId stack) {
  return std::ranges::any_of(text.stack(stack), [&](FrameId frame) {
    return is_of_checkpoint(text, frame) && text.string(text.frame_function[frame]) == "checkpoint_sequential";
  });
}

// The evaluation that unpacks a save is inside the evaluation of the node that has the save.
OperatorId forward_of(const Process& p, EvaluationId unpacking) {
  constexpr uint32_t kMostUnpacked = 64;  // saves of one node
  for (uint32_t row = unpacking.value; row > 0 && unpacking.value - row < kMostUnpacked; --row) {
    const EvaluationId around{row};
    const NodeId node = p.evaluations.node[around];
    if (node && p.evaluations.end[around] >= p.evaluations.end[unpacking]) return p.nodes.op[node];
  }
  return {};
}

}  // namespace

FrameId frame_around_checkpoint(const Text& text, StackId stack) {
  bool is_behind = false;
  for (const FrameId frame : text.stack(stack)) {
    if (is_of_checkpoint(text, frame)) {
      is_behind = true;
    } else if (is_behind &&
               !is_library_frame(text.string(text.frame_file[frame]), text.string(text.frame_function[frame]))) {
      return frame;
    }
  }
  return {};
}

std::vector<Recomputed> recomputed_segments(const Context& context) {
  const Process& p = context.process;
  std::vector<Recomputed> all;
  std::vector<uint32_t> number_of(p.evaluations.rows() + 1);
  for (const AllocationId allocation : context.allocations(Bytes{1})) {
    if (!is_unpacked(p, allocation)) continue;
    uint32_t& number = number_of[p.allocations.evaluation[allocation].value];
    if (number == 0) {
      const EvaluationId evaluation = p.allocations.evaluation[allocation];
      all.push_back({evaluation, forward_of(p, evaluation), {}, {}, {}});
      number = static_cast<uint32_t>(all.size());
    }
    all[number - 1].tensors.push_back(allocation);
  }
  const ModuleCallTree tree(p);
  std::erase_if(all, [&](Recomputed& one) {
    one.calls = tree.outermost_in({p.evaluations.begin[one.evaluation], p.evaluations.end[one.evaluation]});
    while (one.calls.size() == 1) one.calls = std::vector(tree.children(one.calls.front()));
    if (one.calls.empty()) return true;
    one.end = std::min(p.module_calls.end[one.calls.back()], p.evaluations.end[one.evaluation]);
    return false;
  });
  return all;
}

std::vector<LastSegment> last_segments(const Context& context) {
  const Process& p = context.process;
  std::vector<uint8_t> is_seen(p.module_calls.rows() + 1);
  std::vector<LastSegment> all;
  uint32_t modules = 0;  // called so far by the current sequence
  for (const OperatorId op : p.operators.ids()) {
    ModuleCallId call = p.operators.module_call[op];
    if (!call || p.operators.evaluation[op] || !p.operators.stack[op]) continue;
    if (is_seen[call.value] != 0) continue;
    std::vector<ModuleCallId> around{call};
    while (p.module_calls.parent[call] && is_seen[p.module_calls.parent[call].value] == 0) {
      around.push_back(call = p.module_calls.parent[call]);
    }
    for (const ModuleCallId one : around) is_seen[one.value] = 1;
    if (p.module_calls.parent[call]) continue;  // inside a call that was seen
    const StackId stack = stack_of(p, context.text, op);
    if (!is_in_sequence(context.text, stack)) {
      modules = 0;
      continue;
    }
    const bool is_last = is_in_last_segment(context.text, stack);
    const bool goes_on = is_last && modules > 0 && !all.empty() && all.back().modules == modules;
    ++modules;
    if (!is_last) continue;
    if (!goes_on) all.push_back({stack, {}, 0});
    all.back().calls.push_back(call);
    all.back().modules = modules;
  }
  return all;
}

}  // namespace tapelens::check::segments
