// The live bytes of a device over time in bounded memory: the highest value of each interval, and the categories at
// that moment. The intervals double in length whenever the run outgrows them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/peak/holders.h"
#include "trace/types.h"

namespace tapelens::live {

using trace::Bytes;
using trace::Time;

using KindBytes = std::array<int64_t, peak::kHolderKinds>;  // live bytes, by HolderKind

class History {
 public:
  static constexpr size_t kMost = 512;  // intervals

  struct Highest {
    int64_t bytes = 0;
    KindBytes kinds{};
  };

  // The values from `time` on. Times do not decrease much: an earlier one counts for the last interval.
  void note(Time time, Bytes bytes, const KindBytes& kinds = {}) {
    if (highest_.empty()) begin_ = time.ns;
    const int64_t since = std::max<int64_t>(0, time.ns - begin_);
    while (since / interval_ >= static_cast<int64_t>(kMost)) fold();
    const auto at =
        std::max(static_cast<size_t>(since / interval_), highest_.empty() ? size_t{0} : highest_.size() - 1);
    while (highest_.size() <= at) highest_.push_back(last_);
    last_ = {bytes.value, kinds};
    if (bytes.value >= highest_[at].bytes) highest_[at] = last_;
  }
  // The highest moment of each interval up to `now`, from begin() on.
  std::vector<Highest> intervals(Time now) const {
    std::vector<Highest> intervals = highest_;
    if (intervals.empty()) return intervals;
    const int64_t end = std::min<int64_t>((now.ns - begin_) / interval_ + 1, static_cast<int64_t>(kMost));
    while (static_cast<int64_t>(intervals.size()) < end) intervals.push_back(last_);
    return intervals;
  }
  std::vector<int64_t> values(Time now) const {
    std::vector<int64_t> values;
    for (const Highest& interval : intervals(now)) values.push_back(interval.bytes);
    return values;
  }
  Time begin() const { return {begin_}; }
  Time interval() const { return {interval_}; }

 private:
  void fold() {
    const auto is_lower = [](const Highest& a, const Highest& b) { return a.bytes < b.bytes; };
    for (size_t i = 0; i < highest_.size(); i += 2)
      highest_[i / 2] = i + 1 < highest_.size() ? std::max(highest_[i], highest_[i + 1], is_lower) : highest_[i];
    highest_.resize((highest_.size() + 1) / 2);
    interval_ *= 2;
  }

  int64_t interval_ = 10'000'000;  // ns
  int64_t begin_ = 0;
  Highest last_;
  std::vector<Highest> highest_;
};

}  // namespace tapelens::live
