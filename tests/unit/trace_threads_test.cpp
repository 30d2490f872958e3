// Merging of a process's threads in the sealer.
#include "testing/trace_builder.h"
#include "tests/unit/trace_values.h"

namespace tapelens::trace {
namespace {

TEST(SealOfThreads, EventsOfAllThreadsComeInTheOrderOfTime) {
  SpoolBuilder b;
  b.thread(1).at(100).op("a").at(300).op("c").at(500).op("e");
  b.thread(2).at(200).op("b").at(400).op("d").at(600).op("f");
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Operators>.begin), (Values<uint64_t>{0, 100, 200, 300, 400, 500, 600}));
  EXPECT_EQ(r.column(column<table::Operators>.thread), (Values<uint16_t>{0, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(r.column(column<table::Operators>.parent), (Values<uint32_t>{0, 0, 0, 1, 2, 3, 4}))
      << "each thread nests alone";
}

TEST(SealOfThreads, TimesNeverFallWithinAThread) {
  SpoolBuilder b;
  b.at(500).op("a").at(100).op("b").at(700).op("c");
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Operators>.begin), (Values<uint64_t>{0, 500, 500, 700}));
}

TEST(SealOfThreads, MemoryAllocatedOnOneThreadAndFreedOnAnotherIsOneAllocation) {
  SpoolBuilder b;
  b.thread(2).at(100).op("x").at(110).alloc(0x10, 8).at(120).end_op();
  b.thread(1).at(200).free(0x10);
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::Frees>.of), (Values<uint32_t>{0, 1}));
  EXPECT_TRUE(losses_of(r).empty());
}

TEST(SealOfThreads, AStringInternedOnOneThreadIsKnownToEarlierEventsOfAnother) {
  SpoolBuilder b;
  b.thread(2).at(900).op("shared");
  b.thread(1).at(100).op("shared");
  const Recording r = b.seal();
  const auto names = r.column(column<table::Operators>.name);
  EXPECT_EQ(strings_of(r)[names[1]], "shared");
  EXPECT_EQ(names[1], names[2]);
}

TEST(SealOfThreads, WhatOperatorsWereGivenIsInTheOrderOfTheOperatorsHoweverThreadsComeBetween) {
  SpoolBuilder b;
  const uint32_t first = b.layout("float32", 4, {2}, {1}), second = b.layout("float32", 4, {3}, {1});
  b.thread(1).at(100).op("aten::clone", {0x10});
  b.thread(2).at(200).op("aten::clone", {0x20}).views({{second, 0, 2}});
  b.thread(1).at(300).views({{first, 0, 1}}).end_op();
  b.thread(2).at(400).end_op();
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::InputViews>.op), (Values<uint32_t>{0, 1, 2}));
  EXPECT_EQ(r.column(column<table::InputViews>.layout), (Values<uint32_t>{0, 1, 2}));
  EXPECT_EQ(r.column(column<table::InputViews>.offset), (Values<uint64_t>{0, 1, 2}));
}

TEST(SealOfThreads, ARecordOfViewsThatDoesNotFollowItsOperatorIsNotTaken) {
  SpoolBuilder b;
  const uint32_t layout = b.layout("float32", 4, {2}, {1});
  b.op("aten::clone", {0x10}).alloc(0x20, 8).views({{layout, 0, 1}}).end_op();
  b.op("aten::clone", {0x10}).views({{layout, 0, 2}}).views({{layout, 0, 3}}).end_op();
  b.views({{layout, 0, 4}});
  const Recording r = b.seal();
  EXPECT_EQ(r.column(column<table::InputViews>.op), (Values<uint32_t>{0, 2}));
  EXPECT_EQ(r.column(column<table::InputViews>.offset), (Values<uint64_t>{0, 2}));
}

}  // namespace
}  // namespace tapelens::trace
