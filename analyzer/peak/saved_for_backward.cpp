#include <algorithm>
#include <unordered_map>
#include <vector>

#include "analyzer/model/most_at_once.h"
#include "analyzer/model/steps.h"
#include "analyzer/peak/replay.h"

namespace tapelens::peak {

namespace {

class Summing {
 public:
  Summing(const Lifetimes& lifetimes, const Timeline& timeline, Time since)
      : p_(lifetimes.process()), lifetimes_(lifetimes), timeline_(timeline), since_(since), begins_(p_) {
    has_role_.resize(size_t{p_.allocations.rows()} + 1);
    for (const uint32_t allocation : p_.roles.allocation.raw) has_role_[allocation] = 1;
    for (const uint32_t allocation : p_.nodes.parameter.raw) has_role_[allocation] = 1;
  }

  // Leaves out removed saves. The holders of a copy that is never made hold its source.
  void add_saves(std::span<const WhatIf* const> changes) {
    std::vector<SaveId> gone;
    std::unordered_map<uint32_t, AllocationId> source_of;  // by copy
    for (const WhatIf* change : changes) {
      gone.insert(gone.end(), change->without.begin(), change->without.end());
      for (const WhatIf::Alias& alias : change->aliases) source_of.emplace(alias.copy.value, alias.source);
    }
    std::ranges::sort(gone);
    for (uint32_t row = 1; row <= p_.allocations.rows(); ++row) {
      const AllocationId allocation{row};
      AllocationId kept = allocation;
      for (auto at = source_of.find(row); at != source_of.end() && at->second < kept;) {
        kept = at->second;
        at = source_of.find(kept.value);
      }
      if (has_role_[kept.value] != 0 || !is_on_device(kept)) continue;
      for (const SaveId save : lifetimes_.provenance().saves(allocation)) {
        if (std::ranges::binary_search(gone, save)) continue;
        add(kept, p_.allocations.bytes[kept],
            {std::max(p_.saves.time[save], lifetimes_.program_end(allocation)),
             std::min(p_.saves.released[save], p_.freed(allocation))});
      }
    }
  }

  // The memory that the run's rewrites kept in place of saves.
  void add_kept() {
    for (uint32_t row = 1; row <= p_.rewrites.rows(); ++row) {
      const RewriteId rewrite{row};
      const SaveId save = p_.rewrites.save[rewrite];
      if (!save || !is_on_device(p_.saves.allocation[save])) continue;
      add({}, p_.rewrites.kept[rewrite], {p_.rewrites.time[rewrite], p_.rewrites.until[rewrite]});
    }
  }

  // Adds the predicted ones.
  void add_extras(const Replayed& predicted) {
    for (const WhatIf* change : predicted.changes) {
      for (const WhatIf::Extra& extra : change->extras) {
        if (!extra.is_saved) continue;
        const AllocationId instead_of = extra.instead_of;
        if (instead_of && predicted.outcome.end(p_, instead_of) >= p_.freed(instead_of)) continue;
        add({}, extra.bytes, extra.when);
      }
    }
  }

  Bytes most() { return model::most_at_once(std::move(presences_)); }

 private:
  bool is_on_device(AllocationId allocation) const { return timeline_.event_of(allocation) < timeline_.events(); }

  void add(AllocationId allocation, Bytes bytes, Interval when) {
    when.begin = std::max(when.begin, since_);
    if (when.begin < when.end) presences_.push_back({allocation, bytes, begins_.within(when)});
  }

  const Process& p_;
  const Lifetimes& lifetimes_;
  const Timeline& timeline_;
  Time since_;
  model::BackwardBegins begins_;
  std::vector<uint8_t> has_role_;  // by allocation
  std::vector<model::Presence> presences_;
};

}  // namespace

Bytes saved_for_backward(const Lifetimes& lifetimes, const Timeline& timeline, Time since, const Replayed* predicted) {
  Summing sum(lifetimes, timeline, since);
  sum.add_saves(predicted != nullptr ? predicted->changes : std::span<const WhatIf* const>());
  sum.add_kept();
  if (predicted != nullptr) sum.add_extras(*predicted);
  return sum.most();
}

}  // namespace tapelens::peak
