// Memory outside of PyTorch's allocator, from the spool to the report.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "analyzer/model/load.h"
#include "analyzer/peak/external_memory.h"
#include "testing/trace_builder.h"

namespace tapelens::peak {
namespace {

using trace::OutsideChange;
using trace::OutsideMemory;
using trace::SegmentChange;
using trace::SpoolBuilder;

constexpr auto kAllocated = OutsideChange::allocated;
constexpr auto kFreed = OutsideChange::freed;

struct Loaded {
  explicit Loaded(SpoolBuilder& b) : sealed(b.block(0x1, 1, 1).op("aten::empty").end_op().seal_all()) {
    text = load_text(sealed.recording);
    process = load_process(sealed.recording, text, trace::ProcessIndex{0});
    EXPECT_TRUE(process.left_out.empty());
  }
  DeviceId device(std::string_view name = "cuda:0") const {
    for (const DeviceId id : text.device_name.ids()) {
      if (text.string(text.device_name[id]) == name) return id;
    }
    ADD_FAILURE() << "no " << name;
    return {};
  }
  std::optional<ExternalMemory> external(Time moment = kNever, std::string_view name = "cuda:0") const {
    return external_memory(process, text, device(name), device_memory(process, device(name)), moment);
  }
  trace::Sealed sealed;
  Text text;
  Process process;
};

TEST(ExternalMemory, IsByLibraryThenAndAtMost) {
  SpoolBuilder b;
  b.outside(kAllocated, 0x1000, 100, "/lib/libnccl.so.2").outside(kAllocated, 0x2000, 50, "/lib/libnccl.so.2");
  b.outside(kFreed, 0x1000, 100, "").outside(kAllocated, 0x3000, 70, "");
  const Loaded l(b);
  const auto external = l.external();
  ASSERT_TRUE(external);
  ASSERT_EQ(external->libraries.size(), 2U);
  EXPECT_EQ(external->libraries[0].library, "");
  EXPECT_EQ(external->libraries[0].at_peak, Bytes{70});
  EXPECT_EQ(external->libraries[1].library, "/lib/libnccl.so.2");
  EXPECT_EQ(external->libraries[1].at_peak, Bytes{50});
  EXPECT_EQ(external->libraries[1].peak, Bytes{150});
  EXPECT_EQ(external->libraries[1].allocations, 2U);
  EXPECT_EQ(external->at_peak, Bytes{120});
  EXPECT_EQ(external->peak, Bytes{150});
  EXPECT_EQ(external->unmatched, 0U);
  EXPECT_FALSE(external->until);
  EXPECT_FALSE(external->use);
}

TEST(ExternalMemory, SegmentsOfPyTorchAreNot) {
  SpoolBuilder b;
  // The driver's allocation arrives before the segment, after it, or late. A later allocation reuses an address.
  b.outside(kAllocated, 0x100000, 4096, "/lib/libc10_cuda.so").segment(SegmentChange::allocated, 0x100000, 4096);
  b.segment(SegmentChange::allocated, 0x200000, 8192).outside(kAllocated, 0x200000, 8192, "/lib/libc10_cuda.so");
  // Allocations inside mapped pieces of an expandable segment.
  b.segment(SegmentChange::mapped, 0x800000, 0x4000).outside(kAllocated, 0x801000, 0x1000, "");
  for (int i = 0; i < 50; ++i) b.op("aten::relu").end_op();
  b.segment(SegmentChange::freed, 0x100000, 4096).outside(kFreed, 0x100000, 4096, "");
  b.outside(kAllocated, 0x100000, 300, "/lib/libnccl.so.2");
  for (int i = 0; i < 50; ++i) b.op("aten::relu").end_op();
  const Loaded l(b);
  const auto external = l.external();
  ASSERT_TRUE(external);
  ASSERT_EQ(external->libraries.size(), 1U);
  EXPECT_EQ(external->libraries[0].library, "/lib/libnccl.so.2");
  EXPECT_EQ(external->peak, Bytes{300});
}

TEST(ExternalMemory, IsOfOneDeviceAndNotOfTheHost) {
  SpoolBuilder b;
  b.outside(kAllocated, 0x1000, 100, "a").outside(kAllocated, 0x1000, 7, "a", "cuda:1");
  b.outside(kAllocated, 0x5000, 1000, "a", "cuda:0", 0, OutsideMemory::host);
  b.outside(kAllocated, 0x6000, 10, "a", "cuda:0", 0, OutsideMemory::managed);
  const Loaded l(b);
  EXPECT_EQ(l.external()->peak, Bytes{110});
  EXPECT_EQ(l.external()->host_peak, Bytes{1000});
  EXPECT_EQ(l.external(kNever, "cuda:1")->peak, Bytes{7});
}

TEST(ExternalMemory, FreesOfWhatIsNotKnownAreCounted) {
  SpoolBuilder b;
  b.outside(kFreed, 0x1000, 100, "").outside(kAllocated, 0x2000, 5, "a").outside(kAllocated, 0x2000, 9, "a");
  const Loaded l(b);
  EXPECT_EQ(l.external()->unmatched, 1U);
  EXPECT_EQ(l.external()->at_peak, Bytes{9});  // the free was lost: an address can be allocated only once
}

TEST(ExternalMemory, AddsUpToWhatIsInUseAtMost) {
  SpoolBuilder b;
  b.device_usage(500, 10000).segment(SegmentChange::allocated, 0x100000, 2048).outside(kAllocated, 0x2000, 300, "a");
  b.device_usage(3000, 10000).outside(kFreed, 0x2000, 300, "").device_usage(2700, 10000);
  b.outside(OutsideChange::ended, 0, 0, "").device_usage(9000, 10000);
  const Loaded l(b);
  const auto external = l.external();
  ASSERT_TRUE(external && external->use && external->until);
  EXPECT_EQ(external->use->used, Bytes{3000});
  EXPECT_EQ(external->use->reserved, Bytes{2048});
  EXPECT_EQ(external->use->external, Bytes{300});
  EXPECT_EQ(external->use->rest(), Bytes{652});
  EXPECT_EQ(external->use->total, Bytes{10000});
}

TEST(ExternalMemory, NothingOfItIsNothing) {
  SpoolBuilder b;
  b.segment(SegmentChange::allocated, 0x100000, 2048);
  const Loaded l(b);
  EXPECT_FALSE(l.external());
}

// ---- physical memory (cuMemCreate)

using trace::VirtualChange;

TEST(ExternalMemory, PhysicalMemoryLivesAsLongAsSomebodyRefersToIt) {
  SpoolBuilder b;
  // NCCL's order of calls: create, map; to free it, look up the handle again, release it twice, and unmap.
  b.physical({.change = VirtualChange::created, .handle = 7, .bytes = 300, .library = "/lib/libnccl.so.2"});
  b.physical({.change = VirtualChange::mapped, .handle = 7, .address = 0x10000});
  b.physical({.change = VirtualChange::retained, .handle = 7});
  b.physical({.change = VirtualChange::released, .handle = 7});
  b.physical({.change = VirtualChange::released, .handle = 7});
  b.outside(kAllocated, 0x5000, 11, "/lib/marker.so");  // while the handle is mapped
  b.physical({.change = VirtualChange::unmapped, .address = 0x10000, .bytes = 300});
  // The driver reuses the handle.
  b.physical({.change = VirtualChange::created, .handle = 7, .bytes = 40, .library = "/lib/libnccl.so.2"});
  const Loaded l(b);
  const auto external = l.external();
  ASSERT_TRUE(external);
  ASSERT_EQ(external->libraries.size(), 2U);
  EXPECT_EQ(external->libraries[0].library, "/lib/libnccl.so.2");
  EXPECT_EQ(external->libraries[0].at_peak, Bytes{40});
  EXPECT_EQ(external->libraries[0].peak, Bytes{300});
  EXPECT_EQ(external->libraries[0].allocations, 2U);
  EXPECT_EQ(external->peak, Bytes{311});
  EXPECT_EQ(external->unmatched, 0U);
}

TEST(ExternalMemory, SeveralMappingsAreUndoneByOneCall) {
  // One call unmaps all three mappings, or all but the last.
  for (const auto& [unmapped, left] : {std::pair{uint64_t{0x3000}, Bytes{0}}, {0x2000, Bytes{100}}}) {
    SpoolBuilder b;
    b.physical({.change = VirtualChange::created, .handle = 1, .bytes = 100});
    for (const uint64_t address : {0x1000, 0x2000, 0x3000}) {
      b.physical({.change = VirtualChange::mapped, .handle = 1, .address = address});
    }
    b.physical({.change = VirtualChange::released, .handle = 1});
    b.physical({.change = VirtualChange::unmapped, .address = 0x1000, .bytes = unmapped});
    EXPECT_EQ(Loaded(b).external()->at_peak, left);
  }
}

TEST(ExternalMemory, PhysicalMemoryOfPyTorchsExpandableSegmentsIsNot) {
  SpoolBuilder b;
  b.physical({.change = VirtualChange::created, .handle = 1, .bytes = 0x200000, .library = "/lib/libc10_cuda.so"});
  b.physical({.change = VirtualChange::mapped, .handle = 1, .address = 0x800000});
  b.segment(SegmentChange::mapped, 0x800000, 0x400000);
  // A mapped and an unmapped allocation of another library.
  b.physical({.change = VirtualChange::created, .handle = 2, .bytes = 50, .library = "/lib/libnccl.so.2"});
  b.physical({.change = VirtualChange::mapped, .handle = 2, .address = 0xc00000});
  b.physical({.change = VirtualChange::created, .handle = 3, .bytes = 6, .library = "/lib/libnccl.so.2"});
  for (int i = 0; i < 50; ++i) b.op("aten::relu").end_op();
  const Loaded l(b);
  ASSERT_EQ(l.external()->libraries.size(), 1U);
  EXPECT_EQ(l.external()->libraries[0].library, "/lib/libnccl.so.2");
  EXPECT_EQ(l.external()->peak, Bytes{56});
}

TEST(ExternalMemory, PhysicalMemoryIsOfTheDeviceItWasMadeOn) {
  SpoolBuilder b;
  b.physical({.change = VirtualChange::created, .handle = 1, .bytes = 5, .device = "cuda:1"});
  b.physical({.change = VirtualChange::created, .handle = 2, .bytes = 70});
  // Older handles are unknown.
  b.physical({.change = VirtualChange::released, .handle = 99});
  b.physical({.change = VirtualChange::mapped, .handle = 98, .address = 0x1000});
  b.physical({.change = VirtualChange::unmapped, .address = 0x1000, .bytes = 1});
  const Loaded l(b);
  EXPECT_EQ(l.external()->peak, Bytes{70});
  EXPECT_EQ(l.external(kNever, "cuda:1")->peak, Bytes{5});
}

// ---- origin of an allocation

TEST(ExternalMemory, TheFirstThatWasAskedForInAnOperatorNamesIt) {
  SpoolBuilder b;
  b.outside_call(3);  // in no operator
  b.enter("Net.fc", "Linear").op("aten::linear").op("aten::addmm").outside_call(4).end_op().end_op().leave();
  b.op("aten::mm").outside_call(5).outside_call(6).end_op();
  // Recorded later, in another order.
  b.outside(kAllocated, 0x3000, 1, "/lib/libcublas.so", "cuda:0", 0, OutsideMemory::device, 5);
  b.outside(kAllocated, 0x1000, 1, "/lib/libcublas.so", "cuda:0", 1000, OutsideMemory::device, 3);
  b.outside(kAllocated, 0x2000, 1, "/lib/libcublas.so", "cuda:0", 900, OutsideMemory::device, 4);
  b.physical({.change = VirtualChange::created, .handle = 1, .bytes = 8, .call = 6, .library = "/lib/libnccl.so.2"});
  b.outside(kAllocated, 0x4000, 1, "/lib/unknown.so", "cuda:0", 0, OutsideMemory::device, 77);
  const Loaded l(b);
  const auto external = l.external();
  ASSERT_EQ(external->libraries.size(), 3U);
  std::map<std::string, std::optional<FirstRequest>> first;
  for (const ExternalLibrary& one : external->libraries) first[one.library] = one.first;
  ASSERT_TRUE(first["/lib/libcublas.so"] && first["/lib/libnccl.so.2"]);
  EXPECT_EQ(first["/lib/libcublas.so"]->op, "aten::addmm");
  EXPECT_EQ(first["/lib/libcublas.so"]->module, "Net.fc");
  EXPECT_EQ(first["/lib/libnccl.so.2"]->op, "aten::mm");
  EXPECT_EQ(first["/lib/libnccl.so.2"]->module, "");
  EXPECT_FALSE(first["/lib/unknown.so"]);
}

// ---- pools

TEST(ExternalMemory, PoolsHaveMoreThanTheyHandOut) {
  SpoolBuilder b;
  b.outside(kAllocated, 0x1000, 100, "/lib/a.so").pool(0xa, 1000, 100).device_usage(1000, 10000);
  b.pool(0xb, 500, 500).pool(0xa, 400, 300);
  const Loaded l(b);
  const auto external = l.external();
  ASSERT_TRUE(external->pools && external->use);
  EXPECT_EQ(external->pools->reserved, Bytes{900});
  EXPECT_EQ(external->pools->unused, Bytes{100});
  EXPECT_EQ(external->pools->unused_peak, Bytes{900});
  EXPECT_EQ(external->use->external, Bytes{100});
  EXPECT_EQ(external->use->unused, Bytes{900});
  EXPECT_EQ(external->use->rest(), Bytes{0});
}

TEST(ExternalMemory, APoolThatIsDestroyedHasNothingAndWhatIsToldLateIsInOrder) {
  SpoolBuilder b;
  b.op("aten::relu").end_op().op("aten::relu").end_op();
  b.pool(0xa, 0, 0, 0, trace::PoolChange::destroyed).pool(0xa, 1000, 100, 500);  // before it was destroyed
  const Loaded l(b);
  EXPECT_EQ(l.external()->pools->reserved, Bytes{0});
  EXPECT_EQ(l.external()->pools->unused_peak, Bytes{900});
}

TEST(ExternalMemory, WithoutPoolsNothingIsSaidOfThem) {
  SpoolBuilder b;
  b.outside(kAllocated, 0x1000, 100, "/lib/a.so");
  EXPECT_FALSE(Loaded(b).external()->pools);
}

// Events in any order, each with its age, give the result of the events in order of time.
TEST(ExternalMemory, TheOrderInWhichItIsToldDoesNotMatter) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    struct Happened {
      OutsideChange change;
      uint64_t address, bytes;
    };
    std::vector<Happened> all;
    std::map<uint64_t, uint64_t> alive;
    uint64_t live = 0, most = 0;
    for (int i = 0; i < 60; ++i) {
      const uint64_t address = 0x1000 * (1 + random() % 12);
      if (const auto found = alive.find(address); found != alive.end()) {
        all.push_back({kFreed, address, found->second});
        live -= found->second;
        alive.erase(found);
      } else {
        const uint64_t bytes = 1 + random() % 1000;
        all.push_back({kAllocated, address, bytes});
        alive[address] = bytes;
        most = std::max(most, live += bytes);
      }
    }
    std::vector<size_t> told(all.size());
    for (size_t i = 0; i < told.size(); ++i) told[i] = i;
    std::ranges::shuffle(told, random);
    SpoolBuilder b;
    for (int i = 0; i < 100; ++i) b.op("aten::relu").end_op();
    const uint64_t begin = b.now();
    for (size_t place = 0; place < told.size(); ++place) {
      // All events happened before the first was recorded, at times 0, 1, 2, ... before `begin`.
      const Happened& one = all[told[place]];
      const uint64_t age = b.now() - begin + (all.size() - told[place]);
      b.outside(one.change, one.address, one.bytes, "a", "cuda:0", age);
    }
    const Loaded l(b);
    const auto external = l.external();
    ASSERT_TRUE(external);
    EXPECT_EQ(external->peak.value, static_cast<int64_t>(most));
    EXPECT_EQ(external->at_peak.value, static_cast<int64_t>(live));
    EXPECT_EQ(external->unmatched, 0U);
  }
}

}  // namespace
}  // namespace tapelens::peak
