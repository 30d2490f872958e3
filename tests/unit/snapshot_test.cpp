// Imports synthetic memory snapshots of PyTorch.
#include <gtest/gtest.h>

#include <functional>

#include "analyzer/model/load.h"
#include "analyzer/snapshot/frame_list.h"
#include "analyzer/snapshot/import.h"
#include "testing/trace_builder.h"
#include "tests/unit/support/pickles.h"

namespace tapelens::snapshot {
namespace {

using namespace testing;
using trace::Bytes;
using trace::Loss;

constexpr int64_t kBase = 0x7f0000000000, kMiB = 1 << 20;

std::string stack(const std::string& function) {
  return list({dict({{"filename", text("train.py")}, {"line", number(7)}, {"name", text(function)}})});
}
std::string entry(const std::string& action, int64_t address, int64_t size, int64_t time, Pairs more = {}) {
  Pairs pairs{{"action", text(action)},
              {"addr", number(address)},
              {"size", number(size)},
              {"stream", number(3)},
              {"time_us", number(1000000 + time)}};
  pairs.insert(pairs.end(), more.begin(), more.end());
  return dict(pairs);
}
std::string block(int64_t address, int64_t size, int64_t requested, const std::string& state,
                  const std::string& frames = "]") {
  return dict({{"address", number(address)},
               {"size", number(size)},
               {"requested_size", number(requested)},
               {"state", text(state)},
               {"frames", frames}});
}
std::string segment(int64_t address, int64_t size, const std::vector<std::string>& blocks, Pairs more = {}) {
  Pairs pairs{{"device", number(0)},    {"address", number(address)}, {"total_size", number(size)},
              {"stream", number(3)},    {"blocks", list(blocks)},     {"segment_pool_id", pair(0, 2)},
              {"is_expandable", "\x89"}};
  pairs.insert(pairs.end(), more.begin(), more.end());
  return dict(pairs);
}
std::string snapshot(const std::vector<std::string>& segments, const std::vector<std::string>& trace, Pairs more = {}) {
  Pairs pairs{{"segments", list(segments)}, {"device_traces", list({list(trace)})}};
  pairs.insert(pairs.end(), more.begin(), more.end());
  return pickled(dict(pairs));
}

struct Imported {
  trace::SealSummary summary;
  model::Text text;
  model::Process process;

  // "requested [rounded] begin-end": a line each.
  std::string allocations() const {
    std::string out;
    for (const model::AllocationId id : process.allocations.ids()) {
      out += std::to_string(process.allocations.bytes[id].value);
      for (uint32_t row = 1; row <= process.device_blocks.rows(); ++row)
        if (process.device_blocks.allocation.raw[row] == id.value)
          out += " [" + std::to_string(process.device_blocks.rounded.raw[row]) + "]";
      const trace::Time freed = process.freed(id);
      out += " " + std::to_string(process.allocations.time[id].ns) + "-" +
             (freed == trace::kNever ? "" : std::to_string(freed.ns)) + "\n";
    }
    return out;
  }
  std::string segments() const {
    static constexpr const char* kChanges[] = {"alloc", "free", "map", "unmap"};
    std::string out;
    const model::SegmentEvents& s = process.segment_events;
    for (const model::SegmentEventId row : s.ids())
      out += std::string(kChanges[static_cast<int>(s.change[row])]) + " " +
             std::to_string(static_cast<int64_t>(s.address[row]) - kBase) + " " + std::to_string(s.bytes[row].value) +
             " " + std::to_string(s.time[row].ns) + "\n";
    return out;
  }
  uint64_t lost(Loss kind) const {
    for (const trace::SealLoss& loss : summary.losses)
      if (loss.kind == kind) return loss.count;
    return 0;
  }
};

trace::Result<Imported> import(const std::string& bytes) {
  const trace::TestFolder folder;
  write_file(folder / "s.pickle", bytes);
  ImportOptions options;
  options.input = folder / "s.pickle";
  options.output = folder / "s.tapelens";
  auto summary = import_snapshot(options);
  if (!summary) return summary.error();
  auto recording = trace::Recording::open(options.output);
  if (!recording) return recording.error();
  EXPECT_TRUE(recording->left_out().empty());
  const model::Text text = model::load_text(*recording);
  model::Process process = model::load_process(*recording, text, {});
  EXPECT_TRUE(process.left_out.empty());
  return Imported{*summary, text, std::move(process)};
}

std::string refused(const std::string& bytes) {
  const auto imported = import(bytes);
  return imported ? "" : imported.error().message.substr(imported.error().message.find("s.pickle"));
}

TEST(Snapshot, AHistoryIsItsAllocations) {
  const auto imported = import(snapshot(
      {segment(kBase, 20 * kMiB,
               {block(kBase, 2 * kMiB, 2 * kMiB - 5, "active_allocated", stack("f")),
                block(kBase + 2 * kMiB, 18 * kMiB, 0, "inactive")})},
      {entry("segment_alloc", kBase, 20 * kMiB, 0), entry("alloc", kBase, 2 * kMiB - 5, 0, {{"frames", stack("f")}}),
       entry("alloc", kBase + 2 * kMiB, 17 * kMiB + 1, 2, {{"frames", stack("g")}}),
       entry("free_requested", kBase + 2 * kMiB, 17 * kMiB + 1, 5),
       entry("free_completed", kBase + 2 * kMiB, 17 * kMiB + 1, 9), entry("snapshot", 0, 0, 10)}));
  ASSERT_TRUE(imported) << imported.error().message;
  // The second block has the rest of the segment, because the allocator splits off no piece below 1 MiB.
  EXPECT_EQ(imported->allocations(), std::to_string(2 * kMiB - 5) + " [" + std::to_string(2 * kMiB) + "] 2-\n" +
                                         std::to_string(17 * kMiB + 1) + " [" + std::to_string(18 * kMiB) +
                                         "] 2000-9000\n");
  EXPECT_EQ(imported->segments(), "alloc 0 20971520 1\n");
  EXPECT_EQ(imported->process.free_requests.rows(), 0U) << "completed right behind it";
  const model::StackId stack = imported->process.allocations.stack[model::AllocationId{2}];
  ASSERT_EQ(imported->text.stack(stack).size(), 1U);
  EXPECT_EQ(imported->text.string(imported->text.frame_function[imported->text.stack(stack)[0]]), "g");
  EXPECT_EQ(imported->process.summary.wall_ns, 1000000000U);
  EXPECT_EQ(imported->process.device_blocks.stream.raw[1], 3U);
  EXPECT_TRUE(imported->process.is_imported);
  EXPECT_TRUE(imported->summary.losses.empty());
  EXPECT_EQ(imported->summary.processes[0].devices[0].peak, Bytes{19 * kMiB - 4});
}

TEST(Snapshot, ABlockThatWaitsForAStreamIsAskedForFirst) {
  const auto imported =
      import(snapshot({segment(kBase, 2 * kMiB, {block(kBase, 512, 100, "active_pending_free")})},
                      {entry("alloc", kBase, 100, 0), entry("alloc", kBase + 512, 200, 1),
                       entry("free_requested", kBase + 512, 200, 2), entry("free_requested", kBase, 100, 3),
                       entry("free_completed", kBase + 512, 200, 4), entry("snapshot", 0, 0, 5)}));
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->allocations(), "100 [512] 1-\n200 [512] 1000-4000\n");
  const auto& requests = imported->process.free_requests;
  ASSERT_EQ(requests.rows(), 2U);
  EXPECT_EQ(requests.of.raw[1], 2U);
  EXPECT_EQ(requests.time.raw[1], 2000U);
  EXPECT_EQ(requests.of.raw[2], 1U);
  EXPECT_EQ(imported->segments(), "alloc 0 2097152 0\n");
}

TEST(Snapshot, WhatWasThereBeforeTheOldestEntryFollowsFromTheEnd) {
  const auto imported = import(
      snapshot({segment(kBase, 2 * kMiB,
                        {block(kBase, 1024, 700, "active_allocated", stack("old")),
                         block(kBase + 1024, 512, 9, "active_allocated")}),
                segment(kBase + 64 * kMiB, 2 * kMiB, {}, {{"is_expandable", "\x88"}})},
               {entry("free_requested", kBase + 4096, 300, 0), entry("free_completed", kBase + 4096, 300, 0),
                entry("segment_free", kBase + 32 * kMiB, 4 * kMiB, 1), entry("segment_map", kBase + 65 * kMiB, kMiB, 2),
                entry("segment_unmap", kBase + 66 * kMiB, kMiB, 3), entry("snapshot", 0, 0, 4)}));
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->allocations(), "700 [1024] 0-\n9 [512] 0-\n300 [512] 0-2\n");
  EXPECT_EQ(imported->segments(),
            "alloc 0 2097152 0\nalloc 33554432 4194304 0\nmap 67108864 1048576 0\nmap 69206016 1048576 0\n"
            "free 33554432 4194304 1000\nmap 68157440 1048576 2000\nunmap 69206016 1048576 3000\n");
  EXPECT_EQ(imported->lost(Loss::dropped_history), 1U) << "its stack says that it was allocated in the history";
}

TEST(Snapshot, WhatCameAfterTheHistoryIsAtItsEnd) {
  // The last entry is not "snapshot": the history ended before the dump.
  const auto imported = import(snapshot(
      {segment(kBase, 2 * kMiB,
               {block(kBase, 1024, 700, "active_allocated"), block(kBase + 1024, 512, 10, "active_allocated")})},
      {entry("alloc", kBase, 600, 0), entry("alloc", kBase + 512, 20, 1), entry("free_completed", kBase + 512, 20, 2),
       entry("alloc", kBase + 1024, 10, 3)}));
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->allocations(), "600 [1024] 1-3001\n20 [512] 1000-2000\n10 [512] 3000-\n700 [1024] 3001-\n");
}

TEST(Snapshot, SeveralDevicesAreInTheOrderOfTime) {
  const std::string two =
      pickled(dict({{"segments", "]"},
                    {"device_traces", list({list({entry("alloc", kBase, 1, 0), entry("alloc", kBase + 512, 3, 20)}),
                                            "]", list({entry("alloc", kBase, 2, 10)})})},
                    {"host_segments", "]"},
                    {"host_traces", list({entry("alloc", 4096, 4, 15)})}}));
  const auto imported = import(two);
  ASSERT_TRUE(imported) << imported.error().message;
  std::string order;
  for (const model::AllocationId id : imported->process.allocations.ids())
    order +=
        std::string(imported->text.string(imported->text.device_name[imported->process.allocations.device[id]])) + " ";
  EXPECT_EQ(order, "cuda:0 cuda:2 pinned cuda:0 ");
}

TEST(Snapshot, OutOfMemoryAndRanges) {
  const auto note = [](const std::string& said) { return Pairs{{"user_metadata", text(said)}}; };
  const auto imported = import(snapshot(
      {segment(kBase, 2 * kMiB, {})},
      {entry("alloc", kBase, 100, 10, note("a")), entry("alloc", kBase + 512, 100, 11, note("")),
       entry("free_completed", kBase, 100, 12, note("a")), entry("free_completed", kBase + 512, 100, 13, note("b")),
       dict(
           {{"action", text("oom")}, {"device_free", number(77)}, {"size", number(999)}, {"time_us", number(1000020)}}),
       entry("annotate", kBase, 100, 21, note("c")), entry("something new", kBase, 100, 22)},
      {{"external_annotations", list({dict({{"name", text("part")},
                                            {"stage", text("START")},
                                            {"device", number(0)},
                                            {"time_us", number(1000011)}}),
                                      dict({{"name", text("part")},
                                            {"stage", text("END")},
                                            {"device", number(0)},
                                            {"time_us", number(1000015)}})})}}));
  ASSERT_TRUE(imported) << imported.error().message;
  ASSERT_EQ(imported->process.out_of_memory.rows(), 1U);
  EXPECT_EQ(imported->process.out_of_memory.bytes.raw[1], 999U);
  EXPECT_EQ(imported->process.out_of_memory.free.raw[1], 77U);
  EXPECT_EQ(imported->process.out_of_memory.reserved.raw[1], static_cast<uint64_t>(2 * kMiB));
  std::string ranges;
  for (const model::Range& range : imported->process.ranges)
    ranges += std::string(imported->text.string(range.name)) + " " + std::to_string(range.when.begin.ns) + "-" +
              std::to_string(range.when.end.ns) + "\n";
  EXPECT_EQ(ranges, "a 1-2000\npart 1000-5000\nb 3000-3000\n");
  EXPECT_EQ(imported->lost(Loss::unknown_action), 1U);
  EXPECT_EQ(imported->summary.processes[0].out_of_memory, 1U);
}

TEST(Snapshot, OlderVersionsSayLess) {
  // Snapshots without times, addresses of blocks and requested sizes, with segments only, and empty ones.
  const std::string bare =
      dict({{"action", text("alloc")}, {"addr", number(kBase)}, {"size", number(5)}, {"stream", number(0)}});
  const auto imported = import(pickled(
      dict({{"segments",
             list({dict({{"device", number(0)},
                         {"address", number(kBase)},
                         {"total_size", number(2 * kMiB)},
                         {"stream", number(0)},
                         {"blocks", list({dict({{"size", number(512)}, {"state", text("active_allocated")}}),
                                          dict({{"size", number(1024)}, {"state", text("active_allocated")}})})}})})},
            {"device_traces", "]"}})));
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->allocations(), "512 [512] 0-\n1024 [1024] 0-\n");
  const auto untimed = import(pickled(dict({{"device_traces", list({list({bare, bare})})}})));
  ASSERT_TRUE(untimed) << untimed.error().message;
  EXPECT_EQ(untimed->allocations(), "5 [512] 1000-2000\n5 [512] 2000-\n");
  EXPECT_EQ(untimed->lost(Loss::unmatched_event), 1U);
  EXPECT_TRUE(refused(pickled(dict({{"segments", "]"}, {"device_traces", "]"}}))).find("holds no memory") !=
              std::string::npos);
}

TEST(Snapshot, RefusesWhatIsNone) {
  EXPECT_NE(refused(pickled("N")).find("a pickle of something else"), std::string::npos);
  EXPECT_NE(refused(snapshot({}, {dict({{"action", text("alloc")}})})).find("'addr' is missing"), std::string::npos);
  EXPECT_NE(refused(snapshot({}, {entry("alloc", kBase, -1, 0)})).find("'size' is not a size"), std::string::npos);
  EXPECT_NE(refused(snapshot({}, {entry("alloc", kBase, INT64_MAX, 0)})).find("'size' is not a size"),
            std::string::npos);
  EXPECT_NE(refused(snapshot({}, {entry("alloc", kBase, 1, -2000000)})).find("'time_us' is not a time"),
            std::string::npos);
  EXPECT_NE(refused(snapshot({}, {"N", entry("alloc", kBase, 1, 0)})).find("s.pickle: offset"), std::string::npos);
  EXPECT_NE(refused(snapshot({segment(kBase, 1, {}, {{"device", number(1000000000)}})}, {})).find("device 1000000000"),
            std::string::npos);
  EXPECT_NE(refused(snapshot({dict({{"total_size", number(1)}, {"blocks", "N"}})}, {})).find("'address' is missing"),
            std::string::npos);
  // One list of entries in two places could expand exponentially.
  const std::string twice = pickled(
      dict({{"segments", "]"}, {"device_traces", list({list({entry("alloc", kBase, 1, 0)}) + put(), get(0)})}}));
  EXPECT_NE(refused(twice).find("a list that is in two places"), std::string::npos);
  const std::string entry_twice = pickled(
      dict({{"segments", "]"}, {"device_traces", list({list({entry("alloc", kBase, 1, 0) + put(), get(0)})})}}));
  EXPECT_NE(refused(entry_twice).find("an entry twice"), std::string::npos);
}

std::string frame(const std::string& function) {
  return dict({{"filename", text("train.py")}, {"line", number(7)}, {"name", text(function)}});
}
std::string functions_of(const Imported& imported, uint32_t allocation) {
  std::string out;
  for (const model::FrameId id :
       imported.text.stack(imported.process.allocations.stack[model::AllocationId{allocation}]))
    out += std::string(imported.text.string(imported.text.frame_function[id])) + " ";
  return out;
}

TEST(Snapshot, AStackMayGrowByOneFrameAtATime) {
  const std::string grown = "]" + frame("f") + "a" + frame("g") + "a(" + frame("h") + "e" + put();
  const auto imported = import(snapshot(
      {}, {entry("alloc", kBase, 1, 0, {{"frames", grown}}), entry("alloc", kBase + 512, 1, 1, {{"frames", get(0)}}),
           entry("alloc", kBase + 1024, 1, 2, {{"frames", stack("i")}})}));
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(functions_of(*imported, 1), "f g h ");
  EXPECT_EQ(functions_of(*imported, 2), "f g h ");
  EXPECT_EQ(functions_of(*imported, 3), "i ");
  EXPECT_EQ(imported->text.stack_begin.size() - 2, 2U) << "none of a part of a list";
  EXPECT_TRUE(imported->summary.losses.empty());
}

TEST(Snapshot, AnEntryMayHaveTwoStacks) {
  const auto imported =
      import(snapshot({}, {entry("alloc", kBase, 1, 0, {{"frames", stack("f")}, {"forward_frames", stack("g")}}),
                           entry("alloc", kBase + 512, 1, 1, {{"forward_frames", stack("g")}, {"frames", stack("f")}}),
                           entry("alloc", kBase + 1024, 1, 2, {{"frames", "]"}, {"forward_frames", stack("g")}})}));
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(functions_of(*imported, 1) + functions_of(*imported, 2) + functions_of(*imported, 3), "f f g ");
}

TEST(Snapshot, AStackThatIsTooDeepIsCutAndCounted) {
  std::string frames = "](" + frame("f") + put();
  for (size_t i = 1; i <= kMostFrames; ++i) frames += get(0);
  const auto imported = import(snapshot({}, {entry("alloc", kBase, 1, 0, {{"frames", frames + "e" + put()}}),
                                             entry("alloc", kBase + 512, 1, 1, {{"frames", get(1)}})}));
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->text.stack(imported->process.allocations.stack[model::AllocationId{2}]).size(), kMostFrames);
  EXPECT_EQ(imported->lost(Loss::truncated_text), 1U);
}

TEST(Snapshot, NoNumberOfPoolsIsTooLarge) {
  constexpr int kPools = 70000;
  std::vector<std::string> trace;
  for (int i = 1; i <= kPools; ++i) trace.push_back(entry("alloc", kBase + 512 * i, 1, 0, {{"pool_id", pair(i, 0)}}));
  const auto imported = import(snapshot({}, trace));
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->process.device_blocks.graph_pool.raw[kPools], static_cast<uint32_t>(kPools));
}

// Expects that sizes with a sum of 2^63 are refused, and that a smaller sum is imported.
void expect_less_than_all(const char* what, const std::function<std::string(int)>& make, int most) {
  const auto less = import(make(most));
  EXPECT_TRUE(less) << what << ": " << less.error().message;
  EXPECT_NE(refused(make(most + 1)).find("its sizes add up to more than 2^63 bytes"), std::string::npos) << what;
}

TEST(Snapshot, SizesThatAddUpToMoreThanANumberAreRefused) {
  constexpr int64_t kLarge = int64_t{1} << 52;  // 2048 of these are 2^63
  const auto many = [](const std::string& action) {
    return [action](int count) {
      std::vector<std::string> trace{entry("alloc", kBase, 1, 0)};
      for (int i = 0; i < count; ++i) trace.push_back(entry(action, 4096, kLarge, i));
      return snapshot({}, trace);
    };
  };
  expect_less_than_all("alloc", many("alloc"), 2047);
  expect_less_than_all("segment_alloc", many("segment_alloc"), 2046);  // freed at the end: the snapshot has no segment
  expect_less_than_all("oom", many("oom"), 2047);
  // Blocks at the end, without entries.
  expect_less_than_all(
      "blocks",
      [](int count) {
        std::vector<std::string> segments;
        for (int i = 0; i < count; ++i) {
          const auto at = static_cast<int64_t>(static_cast<uint64_t>(i) * kLarge + 512);
          segments.push_back(segment(at, kLarge - 512, {block(at, kLarge - 512, kLarge - 512, "active_allocated")}));
        }
        return snapshot(segments, {});
      },
      2048);
  // The allocated bytes of each failed request.
  expect_less_than_all(
      "allocated",
      [](int count) {
        std::vector<std::string> trace{entry("alloc", 4096, kLarge, 0)};
        for (int i = 0; i < count; ++i) trace.push_back(entry("oom", 4096, 1, i));
        return snapshot({}, trace);
      },
      2047);
}

TEST(Snapshot, WhereNothingIsAllocatedNothingIsImported) {
  for (const char* action : {"segment_alloc", "oom", "free_requested", "something new"}) {
    EXPECT_NE(refused(snapshot({}, {entry(action, 4096, 1, 0), entry("alloc", kBase, 0, 1)})).find("holds no memory"),
              std::string::npos)
        << action;
  }
}

TEST(Snapshot, MemoryBehindTheLastAddressIsRefused) {
  const std::string why = "memory that ends behind the last address";
  for (const char* action :
       {"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map"})
    EXPECT_NE(refused(snapshot({}, {entry(action, -512, 1024, 0)})).find(why), std::string::npos) << action;
  EXPECT_NE(refused(snapshot({segment(-512, 1024, {})}, {})).find(why), std::string::npos);
  EXPECT_NE(refused(snapshot({segment(kBase, 1024, {block(-512, 1024, 0, "inactive")})}, {})).find(why),
            std::string::npos);
  EXPECT_NE(refused(snapshot({segment(-1024, 512, {block(0, 512, 0, "inactive"), block(0, 1024, 0, "inactive")})}, {}))
                .find(why),
            std::string::npos);
}

TEST(Snapshot, TheFirstOfTwoBlocksOfAnAllocationCounts) {
  const auto imported =
      import(snapshot({segment(kBase, 20 * kMiB,
                               {block(kBase, 3 * kMiB, 2 * kMiB, "active_allocated"),
                                block(kBase, 4 * kMiB, 2 * kMiB, "active_allocated"),
                                block(kBase + 8 * kMiB, 5 * kMiB, 4 * kMiB, "active_allocated")})},
                      {entry("alloc", kBase, 2 * kMiB, 0), entry("alloc", kBase + 8 * kMiB, 4 * kMiB, 1)}));
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->allocations(), "2097152 [3145728] 1-\n4194304 [5242880] 1000-\n");
}

}  // namespace
}  // namespace tapelens::snapshot
