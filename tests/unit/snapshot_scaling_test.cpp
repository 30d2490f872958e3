// Imports snapshots that are expensive on purpose: time and memory grow linearly with the file.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "analyzer/snapshot/import.h"
#include "testing/trace_builder.h"
#include "tests/unit/support/doubling.h"
#include "tests/unit/support/pickles.h"
#include "trace/recording.h"

namespace {
std::atomic<uint64_t> allocated_bytes;

void* counted(size_t bytes) {
  allocated_bytes += bytes;
  void* place = std::malloc(bytes != 0 ? bytes : 1);
  if (place == nullptr) throw std::bad_alloc();
  return place;
}
}  // namespace

// Count all allocations of this program.
void* operator new(size_t bytes) { return counted(bytes); }
void* operator new[](size_t bytes) { return counted(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  allocated_bytes += bytes;
  return std::malloc(bytes != 0 ? bytes : 1);
}
void operator delete(void* place, const std::nothrow_t&) noexcept { std::free(place); }
void operator delete(void* place) noexcept { std::free(place); }
void operator delete[](void* place) noexcept { std::free(place); }
void operator delete(void* place, size_t) noexcept { std::free(place); }
void operator delete[](void* place, size_t) noexcept { std::free(place); }

namespace tapelens::snapshot {
namespace {

using namespace testing;

std::string entry(const std::string& action, uint64_t address, uint64_t size, const Pairs& more = {}) {
  Pairs pairs{{"action", text(action)},
              {"addr", number(static_cast<int64_t>(address))},
              {"size", number(static_cast<int64_t>(size))},
              {"time_us", number(1000)}};
  pairs.insert(pairs.end(), more.begin(), more.end());
  return dict(pairs);
}
std::string frame(const std::string& function) {
  return dict({{"filename", text("a.py")}, {"line", number(1)}, {"name", text(function)}});
}
std::string snapshot(const std::vector<std::string>& trace, const std::vector<std::string>& segments = {},
                     const Pairs& more = {}) {
  Pairs pairs{{"segments", list(segments)}, {"device_traces", list({list(trace)})}};
  pairs.insert(pairs.end(), more.begin(), more.end());
  return pickled(dict(pairs));
}
template <class Make>
std::vector<std::string> times(int count, Make make) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back(make(i));
  return out;
}
std::string alloc(int i, const Pairs& more = {}) {
  return entry("alloc", 0x10000 + 512 * static_cast<uint64_t>(i), 512, more);
}

// Each snapshot repeats one element `n` times.
std::string a_stack_that_grows_frame_by_frame(int n) {
  std::string frames = "]" + frame("f") + put() + "a";
  for (int i = 1; i < n; ++i) frames += get(0) + "a";
  return snapshot({alloc(0, {{"frames", frames}})});
}
std::string a_stack_of_lists_of_one(int n) {
  std::string frames = "](" + frame("f") + put() + "e";
  for (int i = 1; i < n; ++i) frames += "(" + get(0) + "e";
  return snapshot({alloc(0, {{"frames", frames}})});
}
std::string a_deep_stack_of_many_allocations(int n) {
  std::string frames = "](" + frame("f") + put();
  for (int i = 1; i < n; ++i) frames += get(0);
  std::vector<std::string> trace{alloc(0, {{"frames", frames + "e" + put()}})};
  for (int i = 1; i < n; ++i) trace.push_back(alloc(i, {{"frames", get(1)}}));
  return snapshot(trace);
}
std::string allocations_that_cover_all_blocks(int n) {
  const auto blocks = times(n, [](int i) {
    return dict(
        {{"address", number(0x1000 + 512 * int64_t{i})}, {"size", number(512)}, {"state", text("active_allocated")}});
  });
  std::vector<std::string> trace = times(n, [](int i) { return entry("alloc", 0x100000000 + i, 1 << 20); });
  for (int i = 0; i < n; ++i) trace.push_back(entry("alloc", 0x900 + i % 16, 1 << 30));
  return snapshot(trace,
                  {dict({{"address", number(0x1000)}, {"total_size", number(n * 512)}, {"blocks", list(blocks)}})});
}
std::string segments_that_overlap(int n) {
  std::vector<std::string> trace = times(n, [n](int i) {
    return entry(i % 2 != 0 ? "segment_alloc" : "segment_free", 0x1000 + uint64_t(i) * 7919 % n * 4096,
                 (uint64_t(i) % 97 + 1) * 4096000);
  });
  trace.push_back(alloc(0));
  return snapshot(trace);
}
std::string actions_of_their_own(int n) {
  std::vector<std::string> trace = times(n, [](int i) { return entry("zap" + std::to_string(i), 4096, 1); });
  trace.push_back(alloc(0));
  return snapshot(trace);
}
std::string texts_of_their_own(int n) {
  std::string all = "}(" + text("segments") + "]" + text("device_traces") + list({list({alloc(0)})});
  for (int i = 0; i < n; ++i) all += text("key " + std::to_string(i)) + "N";
  return pickled(all + "u");
}
std::string pools_of_their_own(int n) {
  return snapshot(times(n, [](int i) { return alloc(i, {{"pool_id", pair(i, i)}}); }));
}
std::string streams_of_their_own(int n) {
  return snapshot(times(n, [](int i) { return alloc(i, {{"stream", number(i)}}); }));
}
std::string notes_of_their_own(int n) {
  return snapshot(times(n, [](int i) { return alloc(i, {{"user_metadata", text("m" + std::to_string(i))}}); }));
}
std::string stacks_of_their_own(int n) {
  return snapshot(times(n, [](int i) { return alloc(i, {{"frames", list({frame("f" + std::to_string(i))})}}); }));
}
std::string blocks_of_one_allocation(int n) {
  const auto blocks = times(n, [](int) {
    return dict({{"address", number(0x10000)}, {"size", number(512)}, {"state", text("active_allocated")}});
  });
  return snapshot(times(n, [](int i) { return alloc(i); }),
                  {dict({{"address", number(0x10000)}, {"total_size", number(512)}, {"blocks", list(blocks)}})});
}

// Keys that collide in a fixed multiplicative hash: multiples of the inverse of its factor, and of 2^44.
std::string addresses_that_collide(int n) {
  return snapshot(times(n, [](int i) {
    const uint64_t k = static_cast<uint64_t>(i) / 2 + 1;
    return entry("alloc", i % 2 != 0 ? k << 44 : k * 0xf1de83e19937733dULL, 1);
  }));
}

struct Cost {
  double seconds = 1e9;  // processor time of this process, the least of three
  uint64_t bytes = 0;    // the sum of all allocations
};

Cost cost_of(const std::string& bytes) {
  const trace::TestFolder folder;
  write_file(folder / "s.pickle", bytes);
  ImportOptions options;
  options.input = folder / "s.pickle";
  options.output = folder / "s.tapelens";
  Cost cost;
  for (int i = 0; i < 3; ++i) {
    const uint64_t before = allocated_bytes;
    const double begin = testing::seconds_now();
    const auto imported = import_snapshot(options);
    cost.seconds = std::min(cost.seconds, testing::seconds_now() - begin);
    cost.bytes = allocated_bytes - before;
    EXPECT_TRUE(imported) << imported.error().message;
  }
  return cost;
}

struct Shape {
  const char* name;
  std::string (*make)(int);
};
class SnapshotScaling : public ::testing::TestWithParam<Shape> {};

TEST_P(SnapshotScaling, CostsEightTimesAsMuchForEightTimesAsMuch) {
  constexpr int kFew = 2500, kTimes = 8;
  const std::string small = GetParam().make(kFew), large = GetParam().make(kFew * kTimes);
  const Cost least = cost_of(GetParam().make(1));
  Cost few = cost_of(small), many = cost_of(large);
  const double grown = static_cast<double>(large.size()) / static_cast<double>(small.size());
  const uint64_t few_bytes = few.bytes - std::min(few.bytes, least.bytes);
  const uint64_t many_bytes = many.bytes - std::min(many.bytes, least.bytes);
  // Twice the growth of the file, because tables double when they grow. A quadratic cost is eight times the growth.
  EXPECT_LE(static_cast<double>(many_bytes), 2 * grown * static_cast<double>(few_bytes + (64 << 10)));
  const auto is_linear = [&] {
    return many.seconds - least.seconds <= 2.5 * grown * (few.seconds - least.seconds + 0.002);
  };
  for (int round = 0; round < 5 && !is_linear(); ++round) {  // other programs disturb some rounds
    few.seconds = std::min(few.seconds, cost_of(small).seconds);
    many.seconds = std::min(many.seconds, cost_of(large).seconds);
  }
  EXPECT_TRUE(is_linear()) << few.seconds << " s, then " << many.seconds << " s";
  // An absolute limit for each byte of a file.
  EXPECT_LE(many_bytes, 400 * large.size() + (1 << 20));
}

INSTANTIATE_TEST_SUITE_P(Shapes, SnapshotScaling,
                         ::testing::Values(Shape{"StackFrameByFrame", a_stack_that_grows_frame_by_frame},
                                           Shape{"StackOfListsOfOne", a_stack_of_lists_of_one},
                                           Shape{"DeepStackOfMany", a_deep_stack_of_many_allocations},
                                           Shape{"CoveringAllocations", allocations_that_cover_all_blocks},
                                           Shape{"OverlappingSegments", segments_that_overlap},
                                           Shape{"Actions", actions_of_their_own}, Shape{"Texts", texts_of_their_own},
                                           Shape{"CollidingAddresses", addresses_that_collide},
                                           Shape{"Pools", pools_of_their_own}, Shape{"Streams", streams_of_their_own},
                                           Shape{"Notes", notes_of_their_own}, Shape{"Stacks", stacks_of_their_own},
                                           Shape{"BlocksOfOneAllocation", blocks_of_one_allocation}),
                         [](const auto& shape) { return std::string(shape.param.name); });

}  // namespace
}  // namespace tapelens::snapshot
