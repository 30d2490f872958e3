#include "analyzer/model/most_at_once.h"

#include <algorithm>
#include <tuple>

namespace tapelens::model {

Bytes most_at_once(std::vector<Presence> presences) {
  std::erase_if(presences, [](const Presence& one) { return one.when.begin >= one.when.end; });
  std::ranges::sort(presences, {}, [](const Presence& s) { return std::tuple(s.allocation, s.when.begin); });
  struct Change {
    Time time;
    int64_t bytes;
  };
  std::vector<Change> changes;
  changes.reserve(2 * presences.size());
  for (size_t i = 0; i < presences.size();) {
    Presence whole = presences[i++];
    for (; i < presences.size() && whole.allocation && presences[i].allocation == whole.allocation &&
           presences[i].when.begin <= whole.when.end;
         ++i) {
      whole.bytes = std::max(whole.bytes, presences[i].bytes);
      whole.when.end = std::max(whole.when.end, presences[i].when.end);
    }
    changes.push_back({whole.when.begin, whole.bytes.value});
    if (whole.when.end != kNever) changes.push_back({whole.when.end, -whole.bytes.value});
  }
  // At equal times, ends come before begins.
  std::ranges::sort(changes, {}, [](const Change& c) { return std::tuple(c.time, c.bytes); });
  int64_t now = 0, most = 0;
  for (const Change& change : changes) most = std::max(most, now += change.bytes);
  return Bytes{most};
}

}  // namespace tapelens::model
