#include "analyzer/check/graphs.h"

#include <algorithm>

#include "trace/record.h"

namespace tapelens::check {

Graphs::Graphs(const Process& p, const Text& text)
    : flags_(p.nodes.rows() + 1, 0), died_(p.nodes.rows() + 1, kNever.ns) {
  // A stand-in has the flag of a custom node and this name.
  std::vector<uint8_t> is_stand_in(text.string_begin.size(), 0);
  for (uint32_t id = 1; id + 1 < text.string_begin.size(); ++id) {
    is_stand_in[id] = text.string(StringId{id}) == "SavedTensor";
  }
  for (uint32_t row = 1; row <= p.nodes.rows(); ++row) {
    if ((p.nodes.flags.raw[row] & trace::kNodeIsAccumulateGrad) == 0 && is_stand_in[p.nodes.type.raw[row]] == 0) {
      flags_[row] = kInner;
    }
  }
  for (uint32_t row = 1; row <= p.evaluations.rows(); ++row) flags_[p.evaluations.node.raw[row]] |= kEvaluated;
  for (uint32_t row = 1; row <= p.releases.rows(); ++row) {
    if ((p.releases.flags.raw[row] & trace::kNodeDied) != 0) {
      died_[p.releases.of.raw[row]] = static_cast<int64_t>(p.releases.time.raw[row]);
    }
  }
}

std::vector<bool> Graphs::never_differentiated(const Process& process) const {
  const uint32_t rows = process.nodes.rows();
  std::vector<bool> never(size_t{rows} + 1, false), is_passed(size_t{rows} + 1, false);
  // Edges lead to nodes that were made before, so one walk back sees all.
  for (uint32_t row = rows; row > 0; --row) {
    const NodeId node{row};
    const bool passes = is_evaluated(node) || is_passed[row];
    if (passes) {
      for (const uint32_t next : process.nodes.edges_of(node)) is_passed[next] = true;
    }
    never[row] = !passes && is_inner(node);
  }
  return never;
}

bool keeps_memory(const Context& context, SaveId save) {
  const Saves& s = context.process.saves;
  const AllocationId allocation = s.allocation[save];
  return allocation && (s.flags[save] & trace::kSaveIsPacked) == 0 &&
         context.process.allocations.origin[allocation] == Origin::allocator &&
         context.lifetimes.program_end(allocation) < s.released[save];
}

peak::WhatIf EarlyReleases::change(std::span<const SaveId> saves, Time at) {
  const Saves& s = context_.process.saves;
  const AllocationId allocation = s.allocation[saves.front()];
  peak::WhatIf change;
  change.without.assign(saves.begin(), saves.end());
  std::ranges::sort(change.without);
  std::vector<SaveId>& latest_first = latest_first_[allocation.value];
  if (latest_first.empty()) {
    const auto all = context_.provenance.saves(allocation);
    latest_first.assign(all.begin(), all.end());
    std::ranges::stable_sort(latest_first, std::ranges::greater(), [&](SaveId save) { return s.released[save]; });
  }
  // The saves keep the memory until `at`. It counts as extra memory after the other holders release the allocation.
  Time otherwise = context_.lifetimes.program_end(allocation);
  const auto other = std::ranges::find_if(
      latest_first, [&](SaveId save) { return !std::ranges::binary_search(change.without, save); });
  if (other != latest_first.end()) otherwise = std::max(otherwise, s.released[*other]);
  // The extra begins with the free of the allocation. The replay adds an extra one event before its begin.
  const uint32_t gone = context_.timeline.first_at_or_after(otherwise);
  if (otherwise < at && gone < context_.timeline.events()) {
    const Time begin{context_.timeline.moment_after(gone).time.ns + 1};
    if (begin < at) change.extras.push_back({allocation, {begin, at}, context_.process.allocations.bytes[allocation]});
  }
  return change;
}

size_t end_of_allocation(const Process& process, std::span<const SaveId> saves, size_t first) {
  size_t end = first + 1;
  while (end < saves.size() && process.saves.allocation[saves[end]] == process.saves.allocation[saves[first]]) ++end;
  return end;
}

}  // namespace tapelens::check
