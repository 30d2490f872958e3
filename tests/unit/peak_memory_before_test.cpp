// The segments that a device's allocator has when an imported history begins.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <vector>

#include "analyzer/peak/requests.h"
#include "testing/model_builder.h"

namespace tapelens::peak {
namespace {

using allocator::kExpandableAddresses;
using allocator::kMiB;
using testing::kCuda;

constexpr uint64_t kPage = 20 * kMiB;  // for large blocks
constexpr uint64_t kFirst = uint64_t{1} << 45;

void map(Process& p, int64_t time, uint64_t address, uint64_t stream, uint64_t bytes = kPage) {
  SegmentEvents& t = p.segment_events;
  t.time.raw.push_back(static_cast<uint64_t>(time));
  t.device.raw.push_back(static_cast<uint8_t>(kCuda.value));
  t.change.raw.push_back(static_cast<uint8_t>(SegmentChange::mapped));
  t.address.raw.push_back(address);
  t.bytes.raw.push_back(bytes);
  t.stream.raw.push_back(stream);
  t.graph_pool.raw.push_back(0);
  t.user_pool.raw.push_back(0);
}

Process imported() {
  Process p;
  p.is_imported = true;
  return p;
}

std::vector<uint64_t> bases(const Process& p) {
  std::vector<uint64_t> out;
  const MemoryBefore before = memory_before(p, kCuda, {});
  if (!before) return out;
  for (const auto& segment : *before) out.push_back(segment.base - kFirst);
  return out;
}

TEST(MemoryBefore, ARangeOfAddressesBeginsAtTheLowestThatIsOrBecomesMapped) {
  Process p = imported();
  map(p, 0, kFirst + 3 * kPage, 1);
  map(p, 0, kFirst + 9 * kPage, 1);                          // the same range
  map(p, 0, kFirst + 20 * kPage + kExpandableAddresses, 1);  // too far from its begin
  map(p, 0, kFirst + 6 * kPage, 2);                          // another stream
  map(p, 0, kFirst + 12 * kPage, 1, 2 * kMiB);               // small blocks
  map(p, 5, kFirst + 2 * kPage, 1);                          // later, below the first
  map(p, 6, kFirst + 11 * kPage, 1, 2 * kMiB);               // the same for small blocks
  map(p, 7, kFirst + 4 * kPage, 3);                          // a stream without memory before
  EXPECT_EQ(bases(p),
            (std::vector<uint64_t>{2 * kPage, 2 * kPage, 6 * kPage, 11 * kPage, 20 * kPage + kExpandableAddresses}));
}

// Processor time of the search with `count` streams, each with one range and one later mapping.
double seconds_for(uint64_t count) {
  Process p = imported();
  for (uint64_t i = 0; i < count; ++i) map(p, 0, kFirst + (2 * i + 1) * kPage, i);
  for (uint64_t i = 0; i < count; ++i) map(p, 1, kFirst + 2 * i * kPage, i);
  const std::clock_t begin = std::clock();
  EXPECT_EQ(bases(p).size(), count);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

TEST(MemoryBefore, CostsAtMostTwoPointThreeTimesAsMuchForTwiceAsMuch) {
  constexpr uint64_t kStreams = 1 << 10;
  constexpr int kDoublings = 4, kTries = 20;  // other programs disturb some tries
  constexpr double kMost = 2.3;
  double few = 1e9, many = 1e9, each = 1e9;
  for (int i = 0; i < kTries && each > kMost; ++i) {
    few = std::min(few, seconds_for(kStreams));
    many = std::min(many, seconds_for(kStreams << kDoublings));
    each = std::pow(many / few, 1.0 / kDoublings);
  }
  EXPECT_LE(each, kMost);
}

}  // namespace
}  // namespace tapelens::peak
