// Where each allocation lies in the picture of blocks: found when it is born, kept till it is gone.
#pragma once

#include <cstdint>
#include <map>
#include <set>

namespace tapelens::picture {

// Room for blocks, without an end: the smallest gap that is large enough, the lowest of those.
class Arena {
 public:
  int64_t take(int64_t bytes);
  void give(int64_t begin, int64_t bytes);
  int64_t extent() const { return most_; }  // above everything that ever lay there

 private:
  void add_gap(int64_t begin, int64_t end);
  void drop_gap(std::map<int64_t, int64_t>::iterator gap);

  std::map<int64_t, int64_t> gaps_;                 // begin, end; below end_
  std::set<std::pair<int64_t, int64_t>> by_bytes_;  // bytes, begin
  int64_t end_ = 0, most_ = 0;
};

}  // namespace tapelens::picture
