#include "analyzer/check/calls.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "analyzer/check/graphs.h"

namespace tapelens::check {

Calls::Calls(const Context& context) : context_(context), p_(context.process) {
  const ModuleCalls& calls = p_.module_calls;
  depth_.assign(calls.rows() + 1, 0);
  at_peak_.assign(calls.rows() + 1, 0);
  backward_.assign(calls.rows() + 1, kNever.ns);
  for (uint32_t row = 1; row <= calls.rows(); ++row) depth_[row] = depth_[calls.parent.raw[row]] + 1;

  for (const EvaluationId evaluation : p_.evaluations.ids()) {
    const ModuleCallId call = p_.operators.module_call[p_.nodes.op[p_.evaluations.node[evaluation]]];
    backward_[call.value] = std::min(backward_[call.value], p_.evaluations.begin[evaluation].ns);
  }
  for (uint32_t row = calls.rows(); row > 0; --row) {
    int64_t& parent = backward_[calls.parent.raw[row]];
    parent = std::min(parent, backward_[row]);
  }

  const peak::Moment& peak = context.peak.when;
  for (uint32_t row = 1; row <= peak.last_allocation.value; ++row) {
    const AllocationId allocation{row};
    if (!peak.holds(p_, allocation) || p_.allocations.device[allocation] != context.device) continue;
    each_call(allocation, [&](ModuleCallId call) {
      // A checkpoint does not free the allocation during the call, or once the second forward has begun.
      if (p_.module_calls.end[call] <= peak.time && peak.time < backward(call)) {
        at_peak_[call.value] += p_.allocations.bytes[allocation].value;
      }
    });
  }
}

ModuleCallId Calls::common(ModuleCallId a, ModuleCallId b) const {
  while (a != b) {
    ModuleCallId& deeper = depth_[a.value] >= depth_[b.value] ? a : b;
    deeper = p_.module_calls.parent[deeper];
  }
  return a;
}

template <class Fn>
void Calls::each_call(AllocationId allocation, Fn fn) const {
  const auto saves = context_.provenance.saves(allocation);
  if (saves.empty() || !context_.lifetimes.ends_with_save(allocation)) return;
  ModuleCallId call = p_.operators.module_call[p_.nodes.op[p_.saves.node[saves.front()]]];
  for (const SaveId save : saves.subspan(1)) {
    if (!call) return;
    call = common(call, p_.operators.module_call[p_.nodes.op[p_.saves.node[save]]]);
  }
  const Time birth = p_.allocations.time[allocation];
  for (; call; call = p_.module_calls.parent[call]) {
    if (p_.module_calls.begin[call] <= birth) fn(call);
  }
}

std::vector<Calls::Saved> Calls::saved(const std::vector<bool>& wanted) const {
  std::vector<Saved> all;
  for (const AllocationId allocation : p_.allocations.ids()) {
    each_call(allocation, [&](ModuleCallId call) {
      if (!wanted[call.value]) return;
      Saved saved{call, allocation, {}, {}};
      for (const SaveId save : context_.provenance.saves(allocation)) {
        saved.last = std::max(saved.last, p_.saves.time[save]);
        saved.released = std::max(saved.released, p_.saves.released[save]);
      }
      all.push_back(saved);
    });
  }
  std::ranges::stable_sort(all, {}, &Saved::call);
  return all;
}

namespace {

// For each checkpoint that a stack is in: the number of module calls inside of it.
std::vector<uint32_t> calls_in_checkpoints(const Text& text, StackId stack) {
  std::vector<uint32_t> depths;
  uint32_t depth = 0;
  for (const FrameId frame : text.stack(stack)) {
    const std::string_view file = text.string(text.frame_file[frame]);
    const std::string_view function = text.string(text.frame_function[frame]);
    if (file.ends_with("/torch/nn/modules/module.py") && function.ends_with("._call_impl")) ++depth;
    if (!file.ends_with("/torch/utils/checkpoint.py") || depth == 0) continue;
    if (depths.empty() || depths.back() != depth) depths.push_back(depth);
  }
  return depths;
}

}  // namespace

std::vector<bool> checkpointed_calls(const Context& context) {
  const Process& p = context.process;
  std::vector<bool> is_checkpointed(p.module_calls.rows() + 1);
  if (!context.in_use.has(peak::Technique::checkpointing)) return is_checkpointed;
  std::unordered_map<uint32_t, std::vector<uint32_t>> depths;  // by stack
  StackId last_stack;
  ModuleCallId last_call;
  for (const OperatorId op : p.operators.ids()) {
    const StackId stack = p.operators.stack[op];
    const ModuleCallId call = p.operators.module_call[op];
    if (!stack || !call || (stack == last_stack && call == last_call)) continue;
    last_stack = stack, last_call = call;
    const auto [at, is_new] = depths.try_emplace(stack.value);
    if (is_new) at->second = calls_in_checkpoints(context.text, stack);
    for (const uint32_t depth : at->second) {
      ModuleCallId around = call;
      for (uint32_t i = 1; i < depth && around; ++i) around = p.module_calls.parent[around];
      is_checkpointed[around.value] = true;
    }
  }
  is_checkpointed[0] = false;
  return is_checkpointed;
}

// Removes the call's saves, and adds their allocations again from the begin of the call's backward.
Checkpointed checkpointed(const Context& context, const Calls& calls, std::span<const Calls::Saved> saved) {
  const Process& p = context.process;
  const ModuleCallId call = saved.front().call;
  const Time again = calls.backward(call);
  Checkpointed made;
  auto& [change, bytes] = made;
  Time last{0};
  for (const Calls::Saved& one : saved) {
    const auto saves = context.provenance.saves(one.allocation);
    change.without.insert(change.without.end(), saves.begin(), saves.end());
    change.extras.push_back({one.allocation, {again, one.released}, p.allocations.bytes[one.allocation]});
    bytes += p.allocations.bytes[one.allocation];
    last = std::max(last, one.last);
  }
  // The second forward needs the same temporary memory as the first, up to the last saved tensor.
  const Time begin = p.module_calls.begin[call];
  const Bytes before = context.timeline.live(context.timeline.at(begin));
  const Bytes more = context.timeline.largest({begin, last}).bytes - before - bytes;
  if (more.value > 0) change.extras.push_back({{}, {again, Time{again.ns + 1}}, more});
  return made;
}

}  // namespace tapelens::check
