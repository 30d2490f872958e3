// Replays a recording's requests on the allocator model: exact results, inexact results, and reserved bytes under other
// settings.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "analyzer/model/load.h"
#include "analyzer/peak/analysis.h"
#include "analyzer/peak/reserved.h"
#include "testing/trace_builder.h"
#include "tests/unit/support/recorded_allocator.h"

namespace tapelens::peak {
namespace {

using allocator::CachingAllocator;
using allocator::kMiB;
using testing::kBase;
using testing::RecordedAllocator;
using trace::SegmentChange;
using trace::SpoolBuilder;

struct Loaded {
  explicit Loaded(SpoolBuilder& b) : sealed(b.op("aten::empty").end_op().seal_all()) {
    text = load_text(sealed.recording);
    process = load_process(sealed.recording, text, trace::ProcessIndex{0});
    analysis.emplace(process, text);
    for (const DeviceId id : text.device_name.ids()) {
      if (text.string(text.device_name[id]) == "cuda:0") gpu = id;
    }
  }
  const DeviceRequests& requests() const { return analysis->requests(gpu); }
  ReservedOutcome run(std::string_view settings, uint64_t card = allocator::kNoLimit) const {
    return ReservedReplay(process, requests()).run({allocator::parse_settings(settings).settings, card});
  }
  trace::Sealed sealed;
  Text text;
  Process process;
  std::optional<Analysis> analysis;
  DeviceId gpu;
};

TEST(DeviceRequests, OfARunAreExactUnderEachSettingAndOnAFullCard) {
  for (const char* settings : {"", "expandable_segments:True", "max_split_size_mb:32", "roundup_power2_divisions:4"}) {
    for (uint32_t seed = 0; seed < 6; ++seed) {
      std::mt19937 random(seed);
      SpoolBuilder b;
      b.information("cuda_allocator_settings", settings);
      const uint64_t card = seed % 2 == 0 ? 300 * kMiB : allocator::kNoLimit;
      RecordedAllocator device(b, card);
      CachingAllocator a(allocator::parse_settings(settings).settings, device, 1000);
      std::vector<uint32_t> live;
      uint64_t failures = 0;
      for (uint32_t number = 1; number < 400; ++number) {
        if (random() % 60 == 0) a.empty_cache();
        while (!live.empty() && random() % 5 < 2) {
          std::swap(live[random() % live.size()], live.back());
          b.free(a.address_of(live.back()), "cuda:0");
          a.free(live.back());
          live.pop_back();
        }
        const uint64_t bytes = 1 + (uint64_t{1} << (random() % 26)) + random() % 5000;
        if (!a.allocate(number, bytes, 0, {})) {
          b.out_of_memory(a.rounded(bytes), 0, a.reserved(), 300 * kMiB - a.reserved());
          ++failures;
          continue;
        }
        b.block(a.address_of(number), bytes, a.bytes_of(number));
        live.push_back(number);
      }
      EXPECT_EQ(failures == 0, card == allocator::kNoLimit);
      const Loaded l(b);
      ASSERT_EQ(l.requests().differs, "") << settings << " " << seed;
      EXPECT_GT(l.requests().compared, 400u);
      const ReservedOutcome same = l.run(settings, card);
      EXPECT_EQ(same.peak, Bytes{static_cast<int64_t>(a.reserved_peak())}) << settings << " " << seed;
      EXPECT_EQ(same.failed.has_value(), failures > 0);
    }
  }
}

// A small run that PyTorch's allocator could make. Each test below changes one thing.
struct Small {
  uint64_t second = kBase + 512, second_bytes = 1024, segment = 2 * kMiB;
  bool extra_segment = false, frees_used_segment = false, has_segment = true;
  std::string_view settings = "";

  std::string differs() const {
    SpoolBuilder b;
    b.information("cuda_allocator_settings", settings);
    if (has_segment) b.segment(SegmentChange::allocated, kBase, segment);
    if (extra_segment) b.segment(SegmentChange::allocated, kBase + 64 * kMiB, 2 * kMiB);
    b.block(kBase, 100, 512).block(second, 1000, second_bytes);
    if (frees_used_segment) b.segment(SegmentChange::freed, kBase, 2 * kMiB);
    b.free(kBase, "cuda:0").free(second, "cuda:0");
    return Loaded(b).requests().differs;
  }
};

// Frees cached segments and reserves a larger one, before the operator or within it.
DeviceRequests given_back(const char* op, bool is_within) {
  SpoolBuilder b;
  const auto gives_back = [&] { b.segment(SegmentChange::freed, kBase, 40 * kMiB); };
  b.segment(SegmentChange::allocated, kBase, 40 * kMiB).block(kBase, 40 * kMiB, 40 * kMiB).free(kBase, "cuda:0");
  if (!is_within) gives_back();
  b.op(op);
  if (is_within) gives_back();
  b.segment(SegmentChange::allocated, 2 * kBase, 60 * kMiB).block(2 * kBase, 60 * kMiB, 60 * kMiB).end_op();
  return Loaded(b).requests();
}

TEST(DeviceRequests, TellAnEmptiedCacheFromWhatTheAllocatorGaveBackForARequest) {
  const auto emptied = [](const DeviceRequests& requests) {
    EXPECT_EQ(requests.differs, "");
    return std::ranges::count(requests.all, Request::Kind::give_back, &Request::kind);
  };
  EXPECT_EQ(emptied(given_back("aten::empty", false)), 1);
  EXPECT_EQ(emptied(given_back("aten::empty", true)), 0) << "no program runs there";
  EXPECT_EQ(emptied(given_back("mine::op", true)), 1) << "it may be one";
}

TEST(DeviceRequests, SayWhereTheModelDiffers) {
  EXPECT_EQ(Small{}.differs(), "");
  EXPECT_EQ(Small{.second = kBase + 1024}.differs(), "a block lies elsewhere");
  EXPECT_EQ(Small{.second_bytes = 1536}.differs(), "a block has another size");
  EXPECT_NE(Small{.segment = 4 * kMiB}.differs(), "");
  EXPECT_NE(Small{.extra_segment = true}.differs(), "");
  EXPECT_NE(Small{.frees_used_segment = true}.differs(), "");
  EXPECT_NE(Small{.has_segment = false}.differs(), "");
  EXPECT_EQ(Small{.settings = "something_new:True"}.differs(), "the setting something_new is not modelled");
}

TEST(ReservedReplay, CountsWhatIsNeverMadeEndsSoonerAndIsThereInstead) {
  SpoolBuilder b;
  RecordedAllocator device(b);
  CachingAllocator a({}, device, 10);
  for (uint32_t number = 1; number <= 3; ++number) {
    ASSERT_TRUE(a.allocate(number, 30 * kMiB, 0, {}));
    b.op("aten::mm").block(a.address_of(number), 30 * kMiB, a.bytes_of(number)).end_op();
  }
  for (uint32_t number = 1; number <= 3; ++number) b.free(a.address_of(number), "cuda:0");
  const Loaded l(b);
  ASSERT_TRUE(l.requests().is_exact()) << l.requests().differs;
  const DeviceAnalysis device_analysis(*l.analysis, l.gpu);
  const ReservedReplay replay(l.process, l.requests());
  const auto with = [&](const WhatIf& change) {
    const Replay::Outcome outcome = device_analysis.replay().without(change);
    const WhatIf* const changes[] = {&change};
    const Replayed replayed{outcome, changes};
    return replay.run({}, &replayed).peak;
  };
  EXPECT_EQ(replay.run({}).peak, Bytes{static_cast<int64_t>(90 * kMiB)});
  WhatIf never;
  never.ends.push_back({AllocationId{2}, Time{l.process.allocations.time[AllocationId{2}].ns - 1}});
  EXPECT_EQ(with(never), Bytes{static_cast<int64_t>(60 * kMiB)});
  WhatIf sooner;
  sooner.ends.push_back({AllocationId{1}, Time{l.process.allocations.time[AllocationId{2}].ns + 5}});
  EXPECT_EQ(with(sooner), Bytes{static_cast<int64_t>(60 * kMiB)}) << "the third lies where the first did";
  never.extras.push_back(
      {AllocationId{2}, {l.process.allocations.time[AllocationId{2}], kNever}, Bytes{25 << 20}, false});
  EXPECT_EQ(with(never), Bytes{static_cast<int64_t>(86 * kMiB)});
}

TEST(ReservedReplay, EndsAtTheFirstRequestThatFindsNoMemory) {
  SpoolBuilder b;
  RecordedAllocator device(b);
  CachingAllocator a({}, device, 10);
  for (uint32_t number = 1; number <= 3; ++number) {
    ASSERT_TRUE(a.allocate(number, 30 * kMiB, 0, {}));
    b.block(a.address_of(number), 30 * kMiB, a.bytes_of(number));
  }
  const Loaded l(b);
  const ReservedOutcome outcome = l.run("", 70 * kMiB);
  ASSERT_TRUE(outcome.failed.has_value());
  EXPECT_EQ(outcome.failed->request.row, 3u);
  EXPECT_EQ(outcome.failed->bytes, Bytes{30 << 20});
  EXPECT_EQ(outcome.failed->reserved, Bytes{60 << 20});
  EXPECT_FALSE(l.run("", 90 * kMiB).failed.has_value());
}

}  // namespace
}  // namespace tapelens::peak
