#include "analyzer/advise/groups.h"

#include <algorithm>
#include <utility>

namespace tapelens::advise {

namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

void Groups::add(const Occurrence& occurrence, const peak::WhatIf& change, uint32_t variant) {
  if (occurrence.allocation && context_.process.allocations.device[occurrence.allocation] != context_.device) return;
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

peak::WhatIf share(const Process& process, const peak::WhatIf& change, std::vector<uint8_t>& claimed) {
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
  struct Span {
    uint32_t allocation;
    int64_t bytes;
    Interval when;
  };
  std::vector<Span> spans;
  spans.reserve(occurrences.size());
  for (const Occurrence& o : occurrences) spans.push_back({o.allocation.value, o.bytes.value, o.when});
  std::ranges::stable_sort(spans, {}, &Span::allocation);

  struct Step {
    int64_t time, bytes;
  };
  std::vector<Step> steps;
  steps.reserve(2 * spans.size());
  for (size_t i = 0; i < spans.size();) {
    Span span = spans[i++];
    for (; i < spans.size() && span.allocation != 0 && spans[i].allocation == span.allocation; ++i) {
      span.bytes = std::max(span.bytes, spans[i].bytes);
      span.when = {std::min(span.when.begin, spans[i].when.begin), std::max(span.when.end, spans[i].when.end)};
    }
    steps.push_back({span.when.begin.ns, span.bytes});
    if (span.when.end != kNever) steps.push_back({std::max(span.when.begin, span.when.end).ns, -span.bytes});
  }
  // Ends before begins of the same moment.
  std::ranges::sort(
      steps, [](const Step& a, const Step& b) { return a.time != b.time ? a.time < b.time : a.bytes < b.bytes; });
  int64_t now = 0, most = 0;
  for (const Step& step : steps) most = std::max(most, now += step.bytes);
  return Bytes{most};
}

}  // namespace tapelens::advise
