// Blocks and segments of a device, from the spool to its curves.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "analyzer/model/load.h"
#include "analyzer/peak/analysis.h"
#include "analyzer/peak/fragmentation.h"
#include "testing/trace_builder.h"

namespace tapelens::peak {
namespace {

using trace::SegmentChange;
using trace::SpoolBuilder;

struct Loaded {
  // A process without operators does not count as a training.
  explicit Loaded(SpoolBuilder& b) : sealed(b.op("aten::empty").end_op().seal_all()) {
    text = load_text(sealed.recording);
    process = load_process(sealed.recording, text, trace::ProcessIndex{0});
  }
  DeviceId device(std::string_view name) const {
    for (const DeviceId id : text.device_name.ids()) {
      if (text.string(text.device_name[id]) == name) return id;
    }
    ADD_FAILURE() << "no " << name;
    return {};
  }
  trace::Sealed sealed;
  Text text;
  Process process;
};

model::DeviceTraits traits_of(const Loaded& l, std::string_view device) {
  return model::device_traits(l.process, l.text)[l.device(device).value];
}

TEST(DeviceMemory, CountsBlocksUntilTheProgramGivesThemBackAndUntilNoStreamUsesThem) {
  SpoolBuilder b;
  b.segment(SegmentChange::allocated, 0x10000, 4096).block(0x10000, 100, 512).block(0x10200, 1000, 1024);
  b.request_free(0x10000).block(0x10600, 500, 512).free(0x10000, "cuda:0").free(0x10200, "cuda:0");
  b.segment(SegmentChange::allocated, 0x20000, 1000).segment(SegmentChange::freed, 0x20000, 1000);
  const Loaded l(b);
  EXPECT_TRUE(l.process.left_out.empty());
  const DeviceId gpu = l.device("cuda:0");
  const DeviceMemory memory = device_memory(l.process, gpu);
  EXPECT_EQ(memory.allocated.value, (std::vector<int64_t>{512, 1536, 1024, 1536, 512}));
  EXPECT_EQ(memory.waiting.value, (std::vector<int64_t>{512, 0}));
  EXPECT_EQ(memory.reserved.value, (std::vector<int64_t>{4096, 5096, 4096}));
  EXPECT_EQ(memory.allocated_peak, Bytes{1536});
  EXPECT_EQ(memory.active_peak, Bytes{2048});
  EXPECT_EQ(memory.reserved_peak, Bytes{5096});
  EXPECT_EQ(memory.segments, 2u);
  // The requested bytes count as alive until no stream uses them.
  ASSERT_EQ(device_peaks(l.process).size(), 1u);
  EXPECT_EQ(device_peaks(l.process)[0].peak, Bytes{1600});
  EXPECT_EQ(memory.allocated.at(Time{0}), 0);
  EXPECT_EQ(memory.allocated.at(kNever), 512);
}

TEST(DeviceMemory, IsOfOneDevice) {
  SpoolBuilder b;
  b.block(0x10000, 100, 512, "cuda:0").block(0x20000, 700, 1024, "cuda:1").alloc(0x30000, 5000);
  b.segment(SegmentChange::allocated, 0x20000, 2048, "cuda:1");
  const Loaded l(b);
  EXPECT_EQ(device_memory(l.process, l.device("cuda:0")).allocated_peak, Bytes{512});
  EXPECT_EQ(device_memory(l.process, l.device("cuda:0")).reserved_peak, Bytes{0});
  EXPECT_EQ(device_memory(l.process, l.device("cuda:1")).allocated_peak, Bytes{1024});
  EXPECT_EQ(device_memory(l.process, l.device("cuda:1")).reserved_peak, Bytes{2048});
  EXPECT_FALSE(traits_of(l, "cpu").has_blocks);
  EXPECT_TRUE(device_memory(l.process, l.device("cpu")).allocated.time.empty());
}

TEST(DeviceMemory, WhatWasThereBeforeTheWatchIsToldOnceAndOfNoOperator) {
  SpoolBuilder b;
  b.block(0x10000, 100, 512).op("aten::mm");
  b.block(0x10000, 1, 1, "cuda:0", 0, {}, trace::kDeviceAllocationIsOlder);
  b.block(0x20000, 200, 512, "cuda:0", 0, {}, trace::kDeviceAllocationIsOlder);
  b.block(0x30000, 300, 512).end_op();
  const Loaded l(b);
  EXPECT_TRUE(l.process.lost.empty());
  ASSERT_EQ(l.process.allocations.rows(), 3u);
  EXPECT_EQ(l.process.allocations.bytes[AllocationId{1}], Bytes{100});
  EXPECT_FALSE(l.process.allocations.op[AllocationId{2}]);
  EXPECT_TRUE(l.process.allocations.op[AllocationId{3}]);
}

TEST(Holders, OfWhatTheProgramGaveBackIsTheAllocatorAlone) {
  SpoolBuilder b;
  b.op("aten::exp").block(0x10000, 100, 512).node("ExpBackward0", 0x1).save(0x1, "result", 0x10000, 100).end_op();
  b.block(0x20000, 100, 512).request_free(0x10000).block(0x30000, 100, 512);
  const Loaded l(b);
  const Analysis analysis(l.process, l.text);
  const DeviceAnalysis device(analysis, l.device("cuda:0"));
  const PeakSet& peak = device.peak();
  ASSERT_EQ(peak.members.size(), 3u);
  for (const Member& member : peak.members) {
    ASSERT_EQ(member.holders, 1u);
    const bool waits = member.allocation == AllocationId{1};
    EXPECT_EQ(peak.holders_of(member)[0].kind, waits ? HolderKind::allocator : HolderKind::program);
  }
}

TEST(Fragmentation, EachSegmentIsInOneHoleWithAllItsGroups) {
  SpoolBuilder b;
  uint64_t node = 0x1;
  const auto saved = [&](const char* type, uint64_t address, uint64_t bytes) {
    b.op("aten::exp").block(address, bytes, bytes).node(type, node).save(node, "result", address, bytes).end_op();
    ++node;
  };
  for (const uint64_t segment : {0x10000U, 0x20000U, 0x30000U, 0x40000U})
    b.segment(SegmentChange::allocated, segment, 0x1000);
  saved("ExpBackward0", 0x10000, 0x200);
  saved("TanhBackward0", 0x10400, 0x100);
  saved("SinBackward0", 0x10600, 0x400);
  saved("ExpBackward0", 0x20000, 0x200);
  saved("TanhBackward0", 0x30000, 0xe00);
  saved("CosBackward0", 0x40000, 0x1000);  // a full segment
  const Loaded l(b);
  const Analysis analysis(l.process, l.text);
  const DeviceAnalysis device(analysis, l.device("cuda:0"));
  const PeakSet& set = device.peak();
  const auto segments = segments_at(l.process, set.device, set.when);
  const Fragmentation all = fragmentation(l.process, l.text, set, segments, 9);
  ASSERT_EQ(all.holes.size(), 2u);
  const auto type_of = [&](const Fragmentation::Group& group) {
    return std::string(
        l.text.string(l.process.nodes.type[main_holder(set.holders_of(set.members[group.member])).node]));
  };
  const Fragmentation::Hole& first = all.holes[0];
  EXPECT_EQ(first.segments, 2u);
  EXPECT_EQ(first.unused, Bytes{0x1000 - 0x700 + 0x1000 - 0x200});
  ASSERT_EQ(first.groups.size(), 3u);
  EXPECT_EQ(type_of(first.groups[0]), "ExpBackward0") << "it is in both segments";
  EXPECT_EQ(first.groups[0].allocations, 2u);
  EXPECT_EQ(first.groups[0].bytes, Bytes{0x400});
  EXPECT_EQ(type_of(first.groups[1]), "SinBackward0") << "the most bytes";
  EXPECT_EQ(type_of(first.groups[2]), "TanhBackward0");
  EXPECT_EQ(first.groups[2].bytes, Bytes{0x100}) << "only in these segments";
  EXPECT_EQ(all.holes[1].segments, 1u);
  EXPECT_EQ(all.holes[1].unused, Bytes{0x200});
  ASSERT_EQ(all.holes[1].groups.size(), 1u);
  EXPECT_EQ(type_of(all.holes[1].groups[0]), "TanhBackward0");
  EXPECT_EQ(fragmentation(l.process, l.text, set, segments, 1).holes.size(), 1u);
}

TEST(Segments, AreWhatIsReservedAtAMomentWithItsBlocksAndItsHoles) {
  SpoolBuilder b;
  b.segment(SegmentChange::allocated, 0x10000, 0x1000, "cuda:0", 5, {1, 2}).block(0x10200, 100, 0x200);
  b.block(0x10800, 100, 0x200)
      .segment(SegmentChange::mapped, 0x40000, 0x2000)
      .segment(SegmentChange::mapped, 0x42000, 0x2000);
  b.segment(SegmentChange::mapped, 0x44000, 0x1000, "cuda:0", 6).block(0x41000, 0x2000, 0x2000).request_free(0x10800);
  const uint64_t before = b.now();
  b.segment(SegmentChange::unmapped, 0x43000, 0x1000).segment(SegmentChange::freed, 0x10000, 0x1000);
  const Loaded l(b);
  const auto segments =
      segments_at(l.process, l.device("cuda:0"), moment_at(l.process, Time{static_cast<int64_t>(before)}));
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(segments[0].address, 0x10000u);
  EXPECT_EQ(segments[0].stream, 5u);
  EXPECT_EQ(segments[0].graph_pool, 1u);
  EXPECT_EQ(segments[0].user_pool, 2u);
  EXPECT_FALSE(segments[0].is_expandable);
  ASSERT_EQ(segments[0].blocks.size(), 2u);
  EXPECT_FALSE(segments[0].blocks[0].waits);
  EXPECT_TRUE(segments[0].blocks[1].waits);
  EXPECT_EQ(segments[0].used, Bytes{0x400});
  EXPECT_EQ(segments[0].largest_hole, Bytes{0x600}) << "behind the last block";
  // Adjacent pieces of one stream are one segment.
  EXPECT_EQ(segments[1].bytes, Bytes{0x4000});
  EXPECT_TRUE(segments[1].is_expandable);
  EXPECT_EQ(segments[1].largest_hole, Bytes{0x1000});
  EXPECT_EQ(segments[2].bytes, Bytes{0x1000});
  EXPECT_TRUE(segments[2].blocks.empty());
  const auto after = segments_at(l.process, l.device("cuda:0"), moment_at(l.process, kNever));
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(after[0].bytes, Bytes{0x3000});
}

TEST(Segments, AreNotKnownOfAnAllocatorThatTellsOfBlocksAlone) {
  SpoolBuilder b;
  b.block(0x10000, 100, 512).segment(SegmentChange::allocated, 0x90000, 4096, "cuda:1");
  const Loaded l(b);
  EXPECT_FALSE(traits_of(l, "cuda:0").has_segments);
  EXPECT_TRUE(traits_of(l, "cuda:1").has_segments);
}

TEST(Segments, HaveTheirLargestHoleAtEachRequestThatFoundNoMemory) {
  SpoolBuilder b;
  b.out_of_memory(1, 0, 0).segment(SegmentChange::allocated, 0x10000, 0x4000).block(0x11000, 0x1000, 0x1000);
  b.out_of_memory(1, 0, 0).out_of_memory(1, 0, 0, UINT64_MAX, "cuda:1").request_free(0x11000).out_of_memory(1, 0, 0);
  b.free(0x11000, "cuda:0")
      .out_of_memory(1, 0, 0)
      .segment(SegmentChange::freed, 0x10000, 0x4000)
      .out_of_memory(1, 0, 0);
  const Loaded l(b);
  EXPECT_EQ(largest_holes_out_of_memory(l.process, l.device("cuda:0")),
            (std::vector<Bytes>{Bytes{0}, Bytes{0x2000}, Bytes{0x2000}, Bytes{0x4000}, Bytes{0}}));
  // The segments at any time.
  const model::OutOfMemory& all = l.process.out_of_memory;
  EXPECT_EQ(
      segments_at(l.process, l.device("cuda:0"), moment_at(l.process, all.time[OutOfMemoryId{2}]))[0].largest_hole,
      Bytes{0x2000});
}

// Compares with separate counters, which work like PyTorch's.
TEST(DeviceMemory, AddsUpWhateverTheOrder) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    SpoolBuilder b;
    struct Block {
      uint64_t address, bytes, rounded;
      bool waits = false;
    };
    std::vector<Block> blocks;
    int64_t allocated = 0, active = 0, requested = 0, allocated_peak = 0, active_peak = 0, requested_peak = 0;
    uint64_t next = 0x10000;
    for (int i = 0; i < 400; ++i) {
      if (blocks.empty() || random() % 5 < 2) {
        const uint64_t bytes = 1 + random() % 5000, rounded = (bytes + 511) / 512 * 512;
        b.block(next, bytes, rounded);
        blocks.push_back({next, bytes, rounded});
        next += rounded;
        allocated += static_cast<int64_t>(rounded), active += static_cast<int64_t>(rounded);
        requested += static_cast<int64_t>(bytes);
        allocated_peak = std::max(allocated_peak, allocated);
        active_peak = std::max(active_peak, active);
        requested_peak = std::max(requested_peak, requested);
        continue;
      }
      Block& block = blocks[random() % blocks.size()];
      if (!block.waits) allocated -= static_cast<int64_t>(block.rounded);
      if (!block.waits && random() % 3 == 0) {
        block.waits = true;
        b.request_free(block.address);
        continue;
      }
      active -= static_cast<int64_t>(block.rounded), requested -= static_cast<int64_t>(block.bytes);
      b.free(block.address, "cuda:0");
      block = blocks.back();
      blocks.pop_back();
    }
    const Loaded l(b);
    const DeviceMemory memory = device_memory(l.process, l.device("cuda:0"));
    EXPECT_EQ(memory.allocated_peak, Bytes{allocated_peak}) << seed;
    EXPECT_EQ(memory.active_peak, Bytes{active_peak}) << seed;
    EXPECT_EQ(memory.allocated.value.back(), allocated) << seed;
    EXPECT_EQ(device_peaks(l.process)[0].peak, Bytes{requested_peak}) << seed;
  }
}

}  // namespace
}  // namespace tapelens::peak
