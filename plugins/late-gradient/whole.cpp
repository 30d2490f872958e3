#include "plugins/late-gradient/whole.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "analyzer/check/backwards.h"

namespace tapelens::check {

StackId backward_stack(const Context& context, AllocationId gradient) {
  const StackId stack = stack_of_backward(context, context.process.allocations.time[gradient]);
  return stack ? stack : place_of(context, gradient).stack;
}

std::vector<Whole> whole_gradients(const Context& context) {
  const Process& p = context.process;
  std::unordered_map<uint32_t, Bytes> shard_of;       // by name: the smallest parameter
  std::unordered_map<uint32_t, StringId> parameters;  // by allocation: its name
  for (const RoleId role : p.roles.allocation.ids()) {
    if (p.roles.kind[role] != Role::parameter || !p.roles.name[role]) continue;
    const Bytes bytes = p.allocations.bytes[p.roles.allocation[role]];
    parameters.try_emplace(p.roles.allocation[role].value, p.roles.name[role]);
    const auto [at, is_new] = shard_of.try_emplace(p.roles.name[role].value, bytes);
    if (!is_new) at->second = std::min(at->second, bytes);
  }
  std::vector<Whole> all;
  for (const RoleId role : p.roles.allocation.ids()) {
    const AllocationId gradient = p.roles.allocation[role];
    if (p.roles.kind[role] != Role::gradient || p.allocations.device[gradient] != context.device) continue;
    StringId name = p.roles.name[role];
    const auto parameter = parameters.find(p.roles.parameter[role].value);
    if (parameter != parameters.end()) name = parameter->second;
    const auto shard = shard_of.find(name.value);
    const Bytes bytes = p.allocations.bytes[gradient];
    if (shard == shard_of.end() || shard->second.value * 2 > bytes.value) continue;
    const auto backward = std::ranges::upper_bound(p.backwards, p.allocations.time[gradient], {}, &Backward::begin);
    if (backward == p.backwards.begin() || backward == p.backwards.end()) continue;
    // A backward made the gradient, and the gradient is still alive when the next backward begins.
    if (p.freed(gradient) <= backward->begin || std::prev(backward)->end < p.allocations.time[gradient]) continue;
    all.push_back({gradient, std::prev(backward)->end, shard->second});
  }
  std::ranges::sort(all, {}, &Whole::gradient);
  const auto twice = std::ranges::unique(all, {}, &Whole::gradient);
  all.erase(twice.begin(), twice.end());
  // FSDP2 reduces a gradient while the backward of the preceding modules runs.
  for (size_t at = 0; at < all.size(); ++at) {
    constexpr size_t kInFlight = 4;  // weight and bias of this module and the next
    const Time later = at + kInFlight < all.size() ? p.allocations.time[all[at + kInFlight].gradient] : kNever;
    all[at].reduced = std::min(all[at].reduced, later);
  }
  return all;
}

}  // namespace tapelens::check
