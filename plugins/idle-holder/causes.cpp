#include "plugins/idle-holder/causes.h"

#include <algorithm>
#include <set>

#include "analyzer/check/patch_maker.h"
#include "analyzer/check/patch_tokens.h"

namespace tapelens::check {

bool is_cached_cast(const Context& context, const std::vector<bool>& parameters, AllocationId allocation) {
  const Process& p = context.process;
  const OperatorId called = context.provenance.maker(allocation);
  if (!called || p.freed(allocation) <= p.operators.end[called]) return false;
  if (!context.provenance.saves(allocation).empty()) return false;
  const Copy copy = context.provenance.copy_of(allocation);
  if (!copy.source || !parameters[copy.source.value]) return false;
  // If the called operator is the cast, the program requested the copy, and autocast does not cache it.
  return copy.op != called && p.allocations.bytes[allocation] != p.allocations.bytes[copy.source];
}

EditLine autocast_line(const Context& context, StackId stack) {
  for (const FrameId frame : context.text.stack(stack)) {
    if (!is_own_frame(context.text, frame)) continue;
    const auto at = recorded_statement_at(context, frame);
    if (!at) continue;
    const auto& all = at->source.statements();
    for (size_t header = at->source.header_of(at->statement); header < all.size();
         header = at->source.header_of(header)) {
      const Tokens tokens(at->source.begin(all[header]), at->source.end(all[header]));
      const bool is_region = is(tokens.front(), "with") &&
                             std::ranges::any_of(tokens, [](const Token& token) { return is(token, "autocast"); });
      if (is_region) return {frame, tokens.front().line + 1};
    }
  }
  return {};
}

Restored::Restored(const Context& context)
    : context_(context),
      contents_(context),
      views_(context.text, {"aten::set_", "aten::detach", "aten::detach_", "aten::alias", "aten::view", "aten::reshape",
                            "aten::as_strided", "aten::narrow", "aten::slice", "aten::select", "aten::t",
                            "aten::transpose", "aten::permute", "aten::squeeze", "aten::unsqueeze"}),
      is_of_restored_(context.text.frame_line.raw.size()) {
  for (const AllocationId allocation : context.allocations(Bytes{1})) {
    if (reads_of(allocation) != Reads::copies) continue;
    is_of_restored_[source_frame(context.text, place_of(context, allocation).stack).value] = true;
  }
}

bool Restored::has(AllocationId allocation) const {
  const Reads reads = reads_of(allocation);
  return reads == Reads::copies ||
         (reads == Reads::none &&
          is_of_restored_[source_frame(context_.text, place_of(context_, allocation).stack).value]);
}

Restored::Reads Restored::reads_of(AllocationId allocation) const {
  // A copy of a weight may be what a later run begins with again.
  const AllocationId source = context_.provenance.copy_of(allocation).source;
  if (contents_.has_role(allocation) || (source && contents_.has_role(source))) return Reads::other;
  const OperatorId maker = context_.provenance.maker(allocation);
  Reads reads = Reads::none;
  for (const OperatorId use : context_.provenance.uses(allocation)) {
    if (use == maker || views_.has(context_.process.operators.name[use])) continue;
    const bool is_copying = context_.provenance.name(use) == "copy_";
    if (is_copying && context_.provenance.writes(use, allocation)) continue;  // from the file
    if (!is_copying || !writes_state(use, allocation)) return Reads::other;
    reads = Reads::copies;
  }
  return reads;
}

bool Restored::writes_state(OperatorId op, AllocationId source) const {
  return std::ranges::any_of(context_.provenance.inputs(op), [&](uint32_t row) {
    const AllocationId input{row};
    return input && input != source && contents_.has_role(input) && context_.provenance.writes(op, input);
  });
}

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
