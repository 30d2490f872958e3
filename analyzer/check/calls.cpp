#include "analyzer/check/calls.h"

#include <algorithm>

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
      // It still exists within the call, and within the second forward.
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

// Its saves are not there; from the begin of its backward on, what they held is.
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
  // Running it again needs what running it needed, up to the last tensor that is wanted.
  const Time begin = p.module_calls.begin[call];
  const Bytes before = context.timeline.live(context.timeline.at(begin));
  const Bytes more = context.timeline.largest({begin, last}).bytes - before - bytes;
  if (more.value > 0) change.extras.push_back({{}, {again, Time{again.ns + 1}}, more});
  return made;
}

}  // namespace tapelens::check
