#include "analyzer/snapshot/roles.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tapelens::snapshot {

namespace table = trace::table;
using trace::ImportedPhase;
using trace::ImportedRole;

namespace {
constexpr size_t index_of(ImportedPhase phase) { return static_cast<size_t>(phase); }
}  // namespace

RoleFinder::Words RoleFinder::words(Evidence evidence) {
  switch (evidence) {
    case Evidence::made_by_module:
      return {ImportedRole::parameter, "a module made or moved it, and it was alive in a call of one"};
    case Evidence::zeroed:
      return {ImportedRole::gradient, "allocated in a backward, freed by zero_grad()"};
    case Evidence::accumulated:
      return {ImportedRole::gradient, "allocated by AccumulateGrad"};
    case Evidence::alive_in_step:
      return {ImportedRole::gradient, "allocated in a backward, alive in an optimizer step"};
    case Evidence::made_as_state:
      return {ImportedRole::optimizer_state, "allocated by _init_group() of an optimizer"};
    case Evidence::outlives_step:
      return {ImportedRole::optimizer_state, "allocated in an optimizer step, alive after it"};
    case Evidence::freed_by_engine:
      return {ImportedRole::saved, "allocated outside of a backward, freed by autograd's engine"};
    case Evidence::freed_in_backward:
      return {ImportedRole::saved, "allocated in a forward, freed in the middle of a backward"};
    case Evidence::none:
    case Evidence::count:
      break;
  }
  return {};
}

void RoleFinder::allocated(trace::AllocationId id, uint32_t call) {
  all_.resize(size_t{id.value} + 1);
  all_[id.value].call = call;
  const StackFacts& made = facts(call);
  settle_pending(made.phase == ImportedPhase::backward);
  if (made.is_known || made.phase != ImportedPhase::unknown) {
    last_[index_of(made.phase)] = id.value;
    last_known_ = id.value;
  }
}

// If the next allocation is in a backward too, the program did not run in between.
void RoleFinder::settle_pending(bool is_in_backward) {
  for (const uint32_t number : pending_) {
    if (is_in_backward) all_[number].evidence = Evidence::freed_in_backward;
  }
  pending_.clear();
}

void RoleFinder::given_back(trace::AllocationId id, uint32_t call) {
  Allocation& one = all_[id.value];
  if (std::exchange(one.is_given_back, true)) return;
  const StackFacts& end = facts(call);
  one.evidence = evidence_of(id.value, &end);
  const StackFacts& made = facts(one.call);
  const uint32_t last_backward = last_[index_of(ImportedPhase::backward)];
  const bool may_be_saved = one.evidence == Evidence::none && !end.is_known && made.phase == ImportedPhase::forward &&
                            last_backward == last_known_ && last_backward > id.value;
  if (may_be_saved) pending_.push_back(id.value);
}

uint32_t RoleFinder::last_outside_of_step() const {
  return std::max({last_[index_of(ImportedPhase::unknown)], last_[index_of(ImportedPhase::forward)],
                   last_[index_of(ImportedPhase::backward)]});
}

// `end`: facts of the stack that freed it; null: it is alive at the end.
RoleFinder::Evidence RoleFinder::evidence_of(uint32_t number, const StackFacts* end) const {
  const StackFacts& made = facts(all_[number].call);
  if (made.is_workspace) return Evidence::none;
  switch (made.phase) {
    case ImportedPhase::optimizer:
      if (end == nullptr && made.makes_state) return Evidence::made_as_state;
      if (last_outside_of_step() <= number) return Evidence::none;
      return made.makes_state ? Evidence::made_as_state : Evidence::outlives_step;
    case ImportedPhase::backward:
      // Hooks and nodes in Python may make allocations of any role.
      if (made.runs_python) return Evidence::none;
      if (end != nullptr && end->zeroes) return Evidence::zeroed;
      // An allocation that is alive in later backwards may be a library's cache.
      if (last_[index_of(ImportedPhase::optimizer)] <= number ||
          last_[index_of(ImportedPhase::backward)] > last_[index_of(ImportedPhase::optimizer)])
        return Evidence::none;
      return made.accumulates ? Evidence::accumulated : Evidence::alive_in_step;
    case ImportedPhase::unknown:
    case ImportedPhase::forward:
      break;
  }
  if (made.makes_module) {
    return last_[index_of(ImportedPhase::forward)] > number ? Evidence::made_by_module : Evidence::none;
  }
  const bool by_engine = end != nullptr && end->phase == ImportedPhase::backward && !end->runs_python;
  return by_engine && end->is_known ? Evidence::freed_by_engine : Evidence::none;
}

void RoleFinder::write(trace::ProcessSinks& tables, trace::SharedTables& shared) {
  std::array<trace::StringId, static_cast<size_t>(Evidence::count)> texts{};
  for (uint32_t number = 1; number < all_.size(); ++number) {
    Allocation& one = all_[number];
    if (!one.is_given_back) one.evidence = evidence_of(number, nullptr);
    const StackFacts& made = facts(one.call);
    const Words said = words(one.evidence);
    if (!made.op && !made.node && made.phase == ImportedPhase::unknown && said.role == ImportedRole::unknown) continue;
    trace::StringId& text = texts[static_cast<size_t>(one.evidence)];
    if (!text && !said.text.empty()) text = shared.string(said.text);
    tables.push<table::ImportedFacts>({.allocation = trace::AllocationId{number},
                                       .op = made.op,
                                       .called = made.called,
                                       .node = made.node,
                                       .phase = made.phase,
                                       .role = said.role,
                                       .evidence = text});
  }
}

}  // namespace tapelens::snapshot
