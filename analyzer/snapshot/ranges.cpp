#include "analyzer/snapshot/ranges.h"

#include <algorithm>

namespace tapelens::snapshot {

using trace::Time;

namespace {
constexpr Time kNoEnd{-1};  // 2^64-1 in the file
}

// Other threads, such as a backward's, have no note or a different one. So an event without a note does not end a
// range.
void Ranges::note(Range& open, StringId name, Time when) {
  if (!name) return;
  if (open.name && open.name != name) ranges_.push_back(std::exchange(open, Range{}));
  if (!open.name) open = {when, when, name};
  open.end = when;
}

void Ranges::noted(size_t device, const Note& of, Time when) {
  OfDevice& open = noted_[device];
  note(open.compile_context, of.compile_context, when);
  note(open.user_metadata, of.user_metadata, when);
}

void Ranges::annotated(const Annotation& annotation, Time when) {
  if (!annotation.name || annotation.stage == Annotation::Stage::neither) return;
  std::vector<Time>& begins = annotated_[{annotation.device, annotation.name}];
  if (annotation.stage == Annotation::Stage::begin) return begins.push_back(when);
  const Time begin = begins.empty() ? Time{} : begins.back();  // it began before the history
  if (!begins.empty()) begins.pop_back();
  ranges_.push_back({begin, when, annotation.name});
}

void Ranges::write(trace::ProcessSinks& tables) {
  for (const auto& [device, open] : noted_) {
    for (const Range& range : {open.compile_context, open.user_metadata})
      if (range.name) ranges_.push_back(range);
  }
  for (const auto& [which, begins] : annotated_)
    for (const Time begin : begins) ranges_.push_back({begin, trace::kNever, which.second});
  std::ranges::stable_sort(ranges_, {}, &Range::end);
  for (const Range& range : ranges_) {
    tables.push<trace::table::Ranges>({.begin = range.begin,
                                       .end = range.end == trace::kNever ? kNoEnd : range.end,
                                       .name = range.name,
                                       .thread = {}});
  }
}

}  // namespace tapelens::snapshot
