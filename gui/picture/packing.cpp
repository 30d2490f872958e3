#include "gui/picture/packing.h"

#include <algorithm>
#include <iterator>

namespace tapelens::picture {

int64_t Arena::take(int64_t bytes) {
  const auto fit = by_bytes_.lower_bound({bytes, 0});
  if (fit == by_bytes_.end()) {
    const int64_t begin = end_;
    end_ += bytes;
    most_ = std::max(most_, end_);
    return begin;
  }
  const auto gap = gaps_.find(fit->second);
  const int64_t begin = gap->first, end = gap->second;
  drop_gap(gap);
  if (begin + bytes < end) add_gap(begin + bytes, end);
  return begin;
}

void Arena::give(int64_t begin, int64_t bytes) {
  if (bytes == 0) return;
  int64_t end = begin + bytes;
  auto above = gaps_.lower_bound(begin);
  if (above != gaps_.begin()) {
    const auto below = std::prev(above);
    if (below->second == begin) {
      begin = below->first;
      drop_gap(below);
    }
  }
  above = gaps_.lower_bound(begin);
  if (above != gaps_.end() && above->first == end) {
    end = above->second;
    drop_gap(above);
  }
  if (end == end_) {
    end_ = begin;
  } else {
    add_gap(begin, end);
  }
}

void Arena::add_gap(int64_t begin, int64_t end) {
  gaps_.emplace(begin, end);
  by_bytes_.emplace(end - begin, begin);
}

void Arena::drop_gap(std::map<int64_t, int64_t>::iterator gap) {
  by_bytes_.erase({gap->second - gap->first, gap->first});
  gaps_.erase(gap);
}

}  // namespace tapelens::picture
