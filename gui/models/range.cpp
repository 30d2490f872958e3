#include "gui/models/range.h"

#include <algorithm>
#include <unordered_map>

#include "analyzer/model/attribution.h"
#include "gui/models/visible_text.h"

namespace tapelens::gui {

namespace {

struct Sum {
  uint64_t allocations = 0;
  Bytes bytes;
  AllocationId largest;
};

}  // namespace

RangeFacts range_facts(const Document& document, const Subject& subject, Interval range) {
  const Process& p = subject.of.process;
  const Text& text = document.text();
  const peak::Timeline& timeline = subject.timeline;
  RangeFacts facts;
  facts.when = range;
  const auto largest = timeline.largest(range);
  facts.peak = largest.bytes;
  facts.peak_time = std::max(largest.when.time, range.begin);
  const uint32_t first = timeline.first_at_or_after(range.begin), last = timeline.first_at_or_after(range.end, first);
  facts.begin = timeline.live_after_first(first);
  facts.end = timeline.live_after_first(last);
  std::unordered_map<uint64_t, Sum> sums;  // by operator and line
  for (uint32_t event = first; event < last; ++event) {
    if (!timeline.is_allocation(event)) continue;
    const AllocationId id = timeline.allocation_of(event);
    const Bytes bytes = p.allocations.bytes[id];
    ++facts.allocations;
    facts.allocated += bytes;
    if (p.freed(id) < range.end) {
      ++facts.freed;
      continue;
    }
    const model::FrameId line = source_frame(text, stack_of(p, text, id));
    Sum& sum = sums[uint64_t{called_name_of(p, text, id).value} << 32 | line.value];
    ++sum.allocations;
    sum.bytes += bytes;
    if (!sum.largest || p.allocations.bytes[sum.largest] < bytes) sum.largest = id;
  }
  facts.groups = sums.size();
  std::vector<const Sum*> order;
  for (const auto& [key, sum] : sums) order.push_back(&sum);
  std::ranges::sort(order, [](const Sum* a, const Sum* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->largest < b->largest;
  });
  for (size_t i = 0; i < std::min(order.size(), RangeFacts::kMostGroups); ++i) {
    const AllocationId id = order[i]->largest;
    RangeFacts::Group& group = facts.stay.emplace_back();
    group.op = visible(text.string(called_name_of(p, text, id)));
    if (const model::FrameId line = source_frame(text, stack_of(p, text, id)))
      group.source = visible(peak::frame_text(text, line));
    group.module = visible(text.string(text.module_path[module_of(p, id)]));
    group.allocations = order[i]->allocations;
    group.bytes = order[i]->bytes;
    group.largest = id;
  }
  return facts;
}

}  // namespace tapelens::gui
