#include "plugins/late-gradient/imported.h"

#include <algorithm>
#include <optional>

namespace tapelens::check {

namespace {

// The allocations with a known phase, sorted by number.
struct PhaseRows {
  std::vector<AllocationId> forward, backward, optimizer;

  explicit PhaseRows(const Process& p) {
    const ImportedFacts& facts = p.imported_facts;
    for (uint32_t row = 1; row <= facts.rows(); ++row) {
      const ImportedFactsId id{row};
      if (facts.phase[id] == ImportedPhase::forward) forward.push_back(facts.allocation[id]);
      if (facts.phase[id] == ImportedPhase::backward) backward.push_back(facts.allocation[id]);
      if (facts.phase[id] == ImportedPhase::optimizer) optimizer.push_back(facts.allocation[id]);
    }
  }
};

// The first allocation between two times.
AllocationId first_within(const Process& p, const std::vector<AllocationId>& rows, Time after, Time before) {
  const auto made = [&](AllocationId id) { return p.allocations.time[id]; };
  const auto at = std::ranges::upper_bound(rows, after, {}, made);
  return at != rows.end() && made(*at) < before ? *at : AllocationId{};
}

AllocationId last_within(const Process& p, const std::vector<AllocationId>& rows, Time after, Time before) {
  const auto made = [&](AllocationId id) { return p.allocations.time[id]; };
  const auto at = std::ranges::lower_bound(rows, before, {}, made);
  return at != rows.begin() && made(*(at - 1)) > after ? *(at - 1) : AllocationId{};
}

std::optional<SpentGradient> spent(const Process& p, const PhaseRows& rows, AllocationId gradient) {
  const Time made = p.allocations.time[gradient], freed = p.freed(gradient);
  if (freed == kNever) return std::nullopt;
  const AllocationId in_step = last_within(p, rows.optimizer, made, freed);
  if (!in_step) return std::nullopt;
  const Time stepped = p.allocations.time[in_step];
  const AllocationId forward = first_within(p, rows.forward, stepped, freed);
  // The program may keep the gradient on purpose, because a later backward adds to it.
  if (!forward || first_within(p, rows.backward, stepped, freed)) return std::nullopt;
  return SpentGradient{gradient, in_step, p.allocations.time[forward]};
}

}  // namespace

std::vector<SpentGradient> spent_gradients(const Context& context) {
  const Process& p = context.process;
  const ImportedFacts& facts = p.imported_facts;
  const PhaseRows rows(p);
  std::vector<SpentGradient> found;
  for (uint32_t row = 1; row <= facts.rows(); ++row) {
    const AllocationId allocation = facts.allocation[ImportedFactsId{row}];
    if (facts.role[ImportedFactsId{row}] != ImportedRole::gradient || !context.is_looked_at(allocation, Bytes{1}))
      continue;
    if (const auto one = spent(p, rows, allocation)) found.push_back(*one);
  }
  return found;
}

}  // namespace tapelens::check
