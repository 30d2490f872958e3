// The vertical place of each allocation in the picture of blocks: chosen at birth, kept until the free.
#pragma once

#include <cstdint>
#include <map>
#include <set>

namespace tapelens::picture {

// Unlimited space for blocks. A block takes the smallest gap that fits; of equal gaps the lowest.
class Arena {
 public:
  int64_t take(int64_t bytes);
  void give(int64_t begin, int64_t bytes);
  int64_t extent() const { return most_; }  // end of the highest place ever used

 private:
  void add_gap(int64_t begin, int64_t end);
  void drop_gap(std::map<int64_t, int64_t>::iterator gap);

  std::map<int64_t, int64_t> gaps_;                 // begin, end; below end_
  std::set<std::pair<int64_t, int64_t>> by_bytes_;  // bytes, begin
  int64_t end_ = 0, most_ = 0;
};

}  // namespace tapelens::picture
