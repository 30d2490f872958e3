#include "plugins/idle-holder/stale_state.h"

#include <algorithm>
#include <set>

namespace tapelens::check {

std::vector<StaleState> stale_states(const Context& context) {
  // One later step without a read is not enough, because an optimizer skips a parameter without a gradient.
  constexpr uint64_t kLeastSteps = 2;
  const Process& p = context.process;
  const Time peak = context.peak.when.time;
  std::set<AllocationId> seen;  // the recording repeats a state whose owner changes
  std::vector<StaleState> found;
  for (uint32_t row = 1; row <= p.roles.rows(); ++row) {
    const RoleId role{row};
    const AllocationId allocation = p.roles.allocation[role];
    if (p.roles.kind[role] != Role::optimizer_state || !context.is_looked_at(allocation, Bytes{1})) continue;
    const auto uses = context.provenance.uses(allocation);
    if (uses.empty() || p.freed(allocation) <= peak || !seen.insert(allocation).second) continue;
    const Time last = p.operators.end[uses.back()];
    const auto stepped = std::ranges::find_if(p.optimizer_steps, [&](const OptimizerStep& step) {
      return step.when.contains(p.operators.begin[uses.back()]);
    });
    if (last > peak || stepped == p.optimizer_steps.end()) continue;
    const auto later =
        static_cast<uint64_t>(std::count_if(stepped + 1, p.optimizer_steps.end(), [&](const OptimizerStep& step) {
          return step.optimizer == stepped->optimizer;
        }));
    if (later >= kLeastSteps) found.push_back({allocation, last, later});
  }
  return found;
}

}  // namespace tapelens::check
