// Counters of a run's rewrites: several threads write while another one reads: policy/tally.h.
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "policy/tally.h"

namespace tapelens::policy {
namespace {

const TallyRow* row_of(const TallyFile& file, std::string_view rewrite, std::string_view reason) {
  const uint32_t rows = file.rows.load(std::memory_order_acquire);
  for (const TallyRow& row : std::span(file.row).first(rows)) {
    if (row.rewrite == rewrite && row.reason == reason) return &row;
  }
  return nullptr;
}

TEST(Tally, EachRewriteHasARowForWhatWasDoneAndOneForEachReasonNotTo) {
  const auto file = std::make_unique<TallyFile>();
  Tally tally(*file);
  EXPECT_EQ(file->magic, kTallyMagic);
  tally.count("wide-save", Level::encoded, "", 1, 100, 10);
  tally.count("wide-save", Level::encoded, "", 2, 100, 10);
  tally.count("wide-save", Level::encoded, "", 1, 100, 10);
  tally.count("wide-save", Level::encoded, "its values have no shorter form", 1, 100, 0);
  tally.count("wide-save", Level::recomputed, "", 1, 7, 0);  // the same name at another level is another row
  ASSERT_EQ(file->rows, 3U);
  const TallyRow* done = row_of(*file, "wide-save", "");
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->level, 1U);
  EXPECT_EQ(done->sites, 2U);
  EXPECT_EQ(done->times, 3U);
  EXPECT_EQ(done->bytes, 300U);
  EXPECT_EQ(done->kept, 30U);
  const TallyRow* skipped = row_of(*file, "wide-save", "its values have no shorter form");
  ASSERT_NE(skipped, nullptr);
  EXPECT_EQ(skipped->times, 1U);
  EXPECT_EQ(file->left_out, 0U);
}

TEST(Tally, TheMostBytesOfTheHostAreKept) {
  const auto file = std::make_unique<TallyFile>();
  Tally tally(*file);
  for (const uint64_t bytes : {10, 30, 20}) tally.count_host_bytes(bytes);
  EXPECT_EQ(file->host_bytes, 30U);
}

TEST(Tally, TextsThatAreTooLongAreCutAndStayTexts) {
  const auto file = std::make_unique<TallyFile>();
  Tally tally(*file);
  tally.count(std::string(500, 'r'), Level::encoded, std::string(500, 'w'), 0, 1, 0);
  EXPECT_EQ(file->row[0].rewrite, std::string(sizeof(TallyRow::rewrite) - 1, 'r'));
  EXPECT_EQ(file->row[0].reason, std::string(sizeof(TallyRow::reason) - 1, 'w'));
}

TEST(Tally, WhatFindsNoRoomIsCountedAsLeftOut) {
  const auto file = std::make_unique<TallyFile>();
  Tally tally(*file);
  for (size_t i = 0; i < kTallyRows + 3; ++i) tally.count("r" + std::to_string(i), Level::encoded, "", 0, 1, 0);
  EXPECT_EQ(file->rows, kTallyRows);
  EXPECT_EQ(file->left_out, 3U);
  tally.count("r0", Level::encoded, "", 0, 1, 0);  // names with a row keep it
  EXPECT_EQ(file->row[0].times, 2U);
  tally.count("r" + std::to_string(kTallyRows), Level::encoded, "", 0, 1, 0);
  EXPECT_EQ(file->left_out, 4U);
}

TEST(Tally, ThreadsThatCountAtOnceLoseNothingAndRowsAreWholeForWhoeverReads) {
  constexpr int kThreads = 4, kTimes = 2000, kRewrites = 50;
  const auto file = std::make_unique<TallyFile>();
  Tally tally(*file);
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kTimes; ++i) {
        const std::string name = "rewrite-" + std::to_string((i + thread) % kRewrites);
        tally.count(name, Level::encoded, "", static_cast<uint64_t>(thread), 3, 1);
      }
      --running;
    });
  }
  while (running > 0) {
    const uint32_t rows = file->rows.load(std::memory_order_acquire);
    for (const TallyRow& row : std::span(file->row).first(rows)) {
      ASSERT_TRUE(std::string_view(row.rewrite).starts_with("rewrite-")) << row.rewrite;
      ASSERT_EQ(row.level, 1U);
    }
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(file->rows, static_cast<uint32_t>(kRewrites));
  for (const TallyRow& row : std::span(file->row).first(kRewrites)) {
    EXPECT_EQ(row.times, static_cast<uint64_t>(kThreads * kTimes / kRewrites));
    EXPECT_EQ(row.bytes, 3 * row.times);
    EXPECT_EQ(row.kept, row.times.load());
    EXPECT_EQ(row.sites, static_cast<uint64_t>(kThreads));
  }
}

}  // namespace
}  // namespace tapelens::policy
