// Sorted times, for repeated searches near the previous result. A separate column holds the time of every 64th row; it
// fits in the cache for ten million rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tapelens::model {

class SortedTimes {
 public:
  void reserve(size_t rows) {
    all_.reserve(rows);
    sparse_.reserve(rows / kEvery + 1);
  }
  void push_back(int64_t time) {
    if (all_.size() % kEvery == 0) sparse_.push_back(time);
    all_.push_back(time);
  }
  void shrink_to_fit() {
    all_.shrink_to_fit();
    sparse_.shrink_to_fit();
  }
  size_t size() const { return all_.size(); }
  bool empty() const { return all_.empty(); }
  int64_t operator[](size_t row) const { return all_[row]; }

  // The first row at or after a time, searched from row `from`; size() if none. A near result is found faster.
  size_t at_or_after(int64_t time, size_t from = 0) const {
    return first(from, [time](int64_t row) { return row < time; });
  }
  // The first row after a time; otherwise the same.
  size_t after(int64_t time, size_t from = 0) const {
    return first(from, [time](int64_t row) { return row <= time; });
  }

 private:
  static constexpr size_t kEvery = 64;

  template <class IsBefore>
  size_t first(size_t from, IsBefore is_before) const {
    if (from >= all_.size() || !is_before(all_[from])) return std::min(from, all_.size());
    size_t low = from / kEvery, step = 1;
    while (low + step < sparse_.size() && is_before(sparse_[low + step])) {
      low += step;
      step *= 2;
    }
    const auto sparse_end = sparse_.begin() + static_cast<int64_t>(std::min(sparse_.size(), low + step));
    const auto block = std::partition_point(sparse_.begin() + static_cast<int64_t>(low) + 1, sparse_end, is_before);
    const size_t begin = static_cast<size_t>(block - sparse_.begin() - 1) * kEvery;
    const size_t end = std::min(all_.size(), begin + kEvery);
    return static_cast<size_t>(std::partition_point(all_.begin() + static_cast<int64_t>(std::max(begin, from)),
                                                    all_.begin() + static_cast<int64_t>(end), is_before) -
                               all_.begin());
  }

  std::vector<int64_t> all_, sparse_;
};

}  // namespace tapelens::model
