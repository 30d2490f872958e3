#include "analyzer/advise/groups.h"

#include <algorithm>
#include <utility>

#include "analyzer/model/most_at_once.h"
#include "analyzer/model/words.h"

namespace tapelens::advise {

using namespace check;

namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Whether the change drops a save of a compiled node, whose saves cannot be dropped.
bool is_of_compiler(const Context& context, const peak::WhatIf& change) {
  const Process& p = context.process;
  return std::ranges::any_of(change.without, [&](SaveId save) {
    return model::is_compiled(context.text.string(p.nodes.type[p.saves.node[save]]));
  });
}

}  // namespace

void Groups::add(const Occurrence& occurrence, const peak::WhatIf& change, uint32_t variant) {
  if (occurrence.allocation && context_.process.allocations.device[occurrence.allocation] != context_.device) return;
  // The recording left out older steps, so the later life of memory from those steps is unknown.
  const Time older = context_.process.older.until;
  if (occurrence.when.begin < older) return;
  if (occurrence.allocation && context_.process.allocations.time[occurrence.allocation] < older) return;
  if (is_of_compiler(context_, change)) return;
  if (chosen_ != nullptr && !chosen_->takes(rewrite_, occurrence, change)) return;
  const Places::Key key = places_.key(occurrence.place, variant);
  const auto [at, is_new] = numbers_.try_emplace(key, static_cast<uint32_t>(groups_.size()));
  if (is_new) groups_.push_back({key, {}, {}, {}});
  FoundGroup& group = groups_[at->second];
  group.occurrences.push_back(occurrence);
  append(group.change.without, change.without);
  append(group.change.ends, change.ends);
  append(group.change.aliases, change.aliases);
  append(group.change.extras, change.extras);
  append(group.change.keeps, change.keeps);
}

std::vector<FoundGroup> Groups::take() {
  for (FoundGroup& group : groups_) group.bytes = most_at_once(group.occurrences);
  return std::move(groups_);
}

peak::WhatIf without_claimed(const Process& process, const peak::WhatIf& change, std::vector<uint8_t>& claimed) {
  peak::WhatIf left = change;
  std::vector<AllocationId> ours, others;
  std::erase_if(left.without, [&](SaveId save) {
    const bool is_claimed = std::exchange(claimed[save.value], 1) != 0;
    (is_claimed ? others : ours).push_back(process.saves.allocation[save]);
    return is_claimed;
  });
  if (others.empty()) return left;
  std::ranges::sort(ours);
  std::ranges::sort(others);
  const auto is_needless = [&](const auto& instead) {
    return std::ranges::binary_search(others, instead.instead_of) &&
           !std::ranges::binary_search(ours, instead.instead_of);
  };
  std::erase_if(left.extras, is_needless);
  std::erase_if(left.keeps, is_needless);
  return left;
}

Bytes most_at_once(const std::vector<Occurrence>& occurrences) {
  std::vector<model::Presence> presences;
  presences.reserve(occurrences.size());
  for (const Occurrence& o : occurrences) presences.push_back({o.allocation, o.bytes, o.when});
  return model::most_at_once(std::move(presences));
}

}  // namespace tapelens::advise
