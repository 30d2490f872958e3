// Lookups of times near the last result, compared with a search of all times.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "analyzer/model/sorted_times.h"

namespace tapelens::model {
namespace {

TEST(SortedTimes, FindsWhatASearchOfAllFinds) {
  std::mt19937 random(11);
  for (const size_t rows : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{5000}}) {
    SortedTimes times;
    std::vector<int64_t> all;
    int64_t now = 0;
    for (size_t i = 0; i < rows; ++i) {
      now += random() % 4 == 0 ? 1 + random() % 1000 : 0;  // many equal times
      times.push_back(now);
      all.push_back(now);
    }
    ASSERT_EQ(times.size(), rows);
    for (int i = 0; i < 3000; ++i) {
      const auto time = static_cast<int64_t>(random() % static_cast<uint64_t>(now + 3)) - 1;
      const size_t from = random() % (rows + 2);
      const auto begin = all.begin() + static_cast<int64_t>(std::min(from, rows));
      EXPECT_EQ(times.at_or_after(time, from),
                static_cast<size_t>(std::lower_bound(begin, all.end(), time) - all.begin()));
      EXPECT_EQ(times.after(time, from), static_cast<size_t>(std::upper_bound(begin, all.end(), time) - all.begin()));
    }
  }
}

}  // namespace
}  // namespace tapelens::model
