#include "analyzer/peak/saved.h"

#include <algorithm>
#include <unordered_map>

namespace tapelens::peak {

Saved::Saved(const Lifetimes& lifetimes, const Timeline& timeline, Time since)
    : lifetimes_(lifetimes), timeline_(timeline), since_(since), begins_(lifetimes.process()) {
  const Process& p = lifetimes.process();
  has_role_.resize(size_t{p.allocations.rows()} + 1);
  for (const uint32_t allocation : p.roles.allocation.raw) has_role_[allocation] = 1;
  for (const uint32_t allocation : p.nodes.parameter.raw) has_role_[allocation] = 1;
}

void Saved::add(std::vector<model::Span>& spans, Interval when, Bytes bytes) const {
  when.begin = std::max(when.begin, since_);
  spans.push_back({{}, bytes, begins_.within(when)});
}

bool Saved::counts(AllocationId allocation) const {
  return has_role_[allocation.value] == 0 && timeline_.event_of(allocation) < timeline_.events();
}

Interval Saved::held(AllocationId allocation, std::span<const SaveId> gone) const {
  const Process& p = lifetimes_.process();
  Interval when{kNever, Time{0}};
  for (const SaveId save : lifetimes_.provenance().saves(allocation)) {
    if (std::ranges::binary_search(gone, save)) continue;
    when.begin = std::min(when.begin, std::max(p.saves.time[save], lifetimes_.program_end(allocation)));
    when.end = std::max(when.end, std::min(p.saves.released[save], p.freed(allocation)));
  }
  return when;
}

Bytes Saved::most() const {
  const Process& p = lifetimes_.process();
  std::vector<model::Span> spans;
  for (uint32_t row = 1; row <= p.allocations.rows(); ++row) {
    const AllocationId allocation{row};
    if (!lifetimes_.provenance().saves(allocation).empty() && counts(allocation)) {
      add(spans, held(allocation, {}), p.allocations.bytes[allocation]);
    }
  }
  return model::most_at_once(std::move(spans));
}

Bytes Saved::most_without(const Replay::Outcome& outcome, std::span<const WhatIf* const> changes) const {
  const Process& p = lifetimes_.process();
  std::vector<SaveId> gone;
  std::unordered_map<uint32_t, AllocationId> source_of;  // by copy
  for (const WhatIf* change : changes) {
    gone.insert(gone.end(), change->without.begin(), change->without.end());
    for (const WhatIf::Alias& alias : change->aliases) source_of.emplace(alias.copy.value, alias.source);
  }
  std::ranges::sort(gone);

  std::vector<model::Span> spans;
  std::unordered_map<uint32_t, Interval> held_for_copies;  // by source
  for (uint32_t row = p.allocations.rows(); row > 0; --row) {
    const AllocationId allocation{row};
    Interval when = held(allocation, gone);
    if (const auto more = held_for_copies.find(row); more != held_for_copies.end()) {
      when = {std::min(when.begin, more->second.begin), std::max(when.end, more->second.end)};
    }
    if (when.begin >= when.end) continue;
    // A copy is later than its source.
    if (const auto source = source_of.find(row); source != source_of.end()) {
      const auto [at, is_new] = held_for_copies.try_emplace(source->second.value, when);
      if (!is_new) at->second = {std::min(at->second.begin, when.begin), std::max(at->second.end, when.end)};
    } else if (counts(allocation)) {
      add(spans, when, p.allocations.bytes[allocation]);
    }
  }
  for (const WhatIf* change : changes) {
    for (const WhatIf::Extra& extra : change->extras) {
      if (!extra.is_saved) continue;
      if (extra.instead_of && outcome.end(p, extra.instead_of) >= p.freed(extra.instead_of)) continue;
      add(spans, extra.when, extra.bytes);
    }
  }
  return model::most_at_once(std::move(spans));
}

}  // namespace tapelens::peak
