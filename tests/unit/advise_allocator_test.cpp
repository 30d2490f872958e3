// Advice on allocator settings, and on settings that would make a run fit. The recording is small and the answers are
// known.
#include <gtest/gtest.h>

#include "analyzer/advise/advice.h"
#include "analyzer/advise/allocator_advice.h"
#include "analyzer/model/load.h"
#include "testing/trace_builder.h"
#include "tests/unit/support/recorded_allocator.h"

namespace tapelens::advise {
namespace {

using allocator::kMiB;
using trace::SpoolBuilder;

Bytes mib(int64_t count) { return Bytes{count << 20}; }

// Three allocations of 30 MiB that are alive together. Each of the first two has a finding that removes it.
struct Three {
  explicit Three(uint64_t card = allocator::kNoLimit, bool has_wrong_address = false) {
    SpoolBuilder b;
    testing::RecordedAllocator told(b, card);
    allocator::CachingAllocator a({}, told, 10);
    for (uint32_t number = 1; number <= 3; ++number) {
      if (!a.allocate(number, 30 * kMiB, 0, {})) {
        b.out_of_memory(30 * kMiB, 0, a.reserved(), card - a.reserved());
        continue;
      }
      b.op("aten::mm")
          .block(a.address_of(number) + (has_wrong_address ? 512 : 0), 30 * kMiB, a.bytes_of(number))
          .end_op();
    }
    sealed.emplace(b.op("aten::empty").end_op().seal_all());
    text = load_text(sealed->recording);
    process = load_process(sealed->recording, text, trace::ProcessIndex{0});
    analysis.emplace(process, text);
    device.emplace(*analysis, analysis->devices()[0].device);
    for (uint32_t id = 1; id <= 2; ++id) {
      Finding finding;
      finding.id = std::to_string(id);
      finding.is_in_all = true;
      advice.findings.push_back(finding);
      TimelineChange change;
      change.place = id;
      change.what.ends.push_back({AllocationId{id}, Time{process.allocations.time[AllocationId{id}].ns - 1}});
      changes.push_back(change);
    }
  }
  AllocatorAdvice operator()(AllocatorWanted wanted = {}, const RewrittenRuns& rewritten = {}) const {
    return *allocator_advice(*device, advice, changes, wanted, rewritten, {});
  }
  std::optional<trace::Sealed> sealed;
  Text text;
  Process process;
  std::optional<peak::Analysis> analysis;
  std::optional<peak::DeviceAnalysis> device;
  Advice advice;
  std::vector<TimelineChange> changes;
};

TEST(AllocatorAdvice, SaysWhatIsReservedWithTheFindingsFixedAndUnderOtherSettings) {
  const AllocatorAdvice advice = Three()();
  EXPECT_TRUE(advice.is_known()) << advice.differs;
  EXPECT_EQ(advice.reserved_before, mib(90));
  EXPECT_EQ(advice.reserved_after_all, mib(30));
  EXPECT_FALSE(advice.fits.has_value());
  ASSERT_FALSE(advice.tried.empty());
  for (const SettingTried& one : advice.tried) {
    // Pages have 20 MiB. 30 MiB are a multiple of a sixteenth and of an eighth of 16 MiB.
    EXPECT_EQ(one.reserved_peak, mib(one.settings == "expandable_segments:True" ? 100 : 90)) << one.settings;
  }
  EXPECT_EQ(advice.better(), nullptr);
}

TEST(AllocatorAdvice, FindsTheFewestFindingsThatAreEnough) {
  const Three three;
  const auto fits = [&](int64_t card) { return *three({mib(card)}).fits; };
  EXPECT_FALSE(fits(90).failed.has_value());
  const Fits one = fits(60);
  ASSERT_TRUE(one.failed.has_value());
  EXPECT_EQ(one.failed->bytes, mib(30));
  EXPECT_EQ(one.failed->reserved, mib(60));
  ASSERT_FALSE(one.ways.empty());
  EXPECT_EQ(one.ways[0].findings, (std::vector<size_t>{0}));
  EXPECT_EQ(one.ways[0].settings, "");
  EXPECT_EQ(one.ways[0].reserved_peak, mib(60));
  EXPECT_FALSE(one.ends_out_of_memory);
  EXPECT_EQ(fits(30).ways.at(0).findings, (std::vector<size_t>{0, 1}));
  EXPECT_TRUE(fits(20).ways.empty());
}

TEST(AllocatorAdvice, OfARunThatWasOutOfMemoryIsAskedForThatMemory) {
  const Three three(60 * kMiB);
  const AllocatorAdvice advice = three();
  ASSERT_TRUE(advice.is_known()) << advice.differs;
  EXPECT_EQ(advice.card, mib(60));
  ASSERT_TRUE(advice.fits.has_value());
  EXPECT_TRUE(advice.fits->ends_out_of_memory);
  EXPECT_TRUE(advice.fits->failed.has_value());
  ASSERT_FALSE(advice.fits->ways.empty());
  EXPECT_EQ(advice.fits->ways[0].findings.size(), 1u);
}

TEST(AllocatorAdvice, NamesRewritesThatAreEnoughByTheWorseOfTheirBounds) {
  const Three three(60 * kMiB);
  const TimelineChange& first = three.changes[0];
  TimelineChange nothing;
  const auto rewritten = [&] {
    return std::vector<RewrittenRun>{{"--apply lossless", {first}, {nothing}}, {"--apply bitwise", {first}, {first}}};
  };
  const Fits fits = *three({}, rewritten).fits;
  std::vector<std::string> named;
  for (const Way& way : fits.ways) {
    if (way.rewrites.empty()) continue;
    named.push_back(way.rewrites);
    EXPECT_EQ(way.changes(), 1u);
    EXPECT_TRUE(way.findings.empty());
    EXPECT_EQ(way.reserved_peak, mib(60));
  }
  EXPECT_EQ(named, std::vector<std::string>{"--apply bitwise"}) << "lossless may have no effect";
  EXPECT_EQ(fits.steps_before, 0u);
}

TEST(AllocatorAdvice, TriesAlternativesAloneAndThenWithFindings) {
  Three three;
  three.advice.findings[1].is_alternative = true;
  const Fits alone = *three({mib(60)}).fits;
  ASSERT_EQ(alone.ways.size(), 2u) << "the finding, and the alternative";
  EXPECT_EQ(alone.ways[1].findings, (std::vector<size_t>{1}));
  const Fits both = *three({mib(30)}).fits;
  ASSERT_EQ(both.ways.size(), 1u);
  EXPECT_EQ(both.ways[0].findings, (std::vector<size_t>{0, 1}));
}

TEST(AllocatorAdvice, HasNoFigureWhereTheReplayDiffers) {
  const AllocatorAdvice advice = Three(allocator::kNoLimit, true)({mib(60)});
  EXPECT_FALSE(advice.is_known());
  EXPECT_TRUE(advice.tried.empty());
  EXPECT_FALSE(advice.fits.has_value());
}

TEST(AllocatorAdvice, KeepsTheSettingsThatTheProgramHad) {
  EXPECT_EQ(with_setting("", "expandable_segments:True"), "expandable_segments:True");
  EXPECT_EQ(with_setting("max_split_size_mb:64, expandable_segments:False", "expandable_segments:True"),
            "max_split_size_mb:64,expandable_segments:True");
  EXPECT_EQ(with_setting("roundup_power2_divisions:[256:1,>:2],backend:native", "max_split_size_mb:128"),
            "roundup_power2_divisions:[256:1,>:2],backend:native,max_split_size_mb:128");
}

TEST(AllocatorAdvice, NamesASettingThatIsWorthIt) {
  AllocatorAdvice advice;
  advice.reserved_before = mib(1000);
  advice.tried = {{"a:1", mib(500), false}, {"b:1", mib(985), true}};
  ASSERT_NE(advice.better(), nullptr);
  EXPECT_EQ(advice.better()->settings, "b:1") << "with the other not all is served";
  advice.tried[1].reserved_peak = mib(995);
  EXPECT_EQ(advice.better(), nullptr);
}

}  // namespace
}  // namespace tapelens::advise
