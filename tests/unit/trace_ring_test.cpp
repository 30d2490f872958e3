// A spool that is trimmed while it is written, compared with the whole spool.
#include "tests/unit/trace_ring.h"

#include <filesystem>
#include <thread>

namespace tapelens::trace {
namespace {

TEST(Ring, IsTheEndOfTheWholeRecording) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    SpoolBuilder whole, ring;
    Program a(whole, seed), b(ring, seed);
    Random random(seed + 1000);
    constexpr uint64_t kSteps = 120;
    for (uint64_t step = 0; step < kSteps; ++step) {
      a.step();
      b.step();
      if (random.one_of(10)) leave_out(ring.path(), 1 + random.upto(5));
    }
    const RingState state = leave_out(ring.path(), 3);
    EXPECT_EQ(state.steps, kSteps);
    EXPECT_EQ(state.steps_left_out, kSteps - 3);
    const Recording all = whole.seal(), last = ring.seal();
    EXPECT_EQ(information(last, "steps_left_out"), std::to_string(kSteps - 3));
    EXPECT_EQ(last.rows(Table::backwards, {}), 3U);
    EXPECT_LT(last.rows(Table::operators, {}), all.rows(Table::operators, {}) / 2);
    expect_to_be_the_end_of(all, last);
  }
}

TEST(Ring, OfShortFormsIsTheEndOfTheWholeRecording) {
  for (uint32_t seed = 20; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    const TestFolder whole, ring;
    {
      SpoolBuilder b(whole, "1.spool");
      Program program(b.as_recorded(), seed);
      for (int step = 0; step < 60; ++step) program.step();
      b.finish();
    }
    std::filesystem::copy_file(whole / "1.spool", ring / "1.spool");
    for (const uint64_t last : {20, 9, 3}) leave_out(ring / "1.spool", last);
    const Recording all = seal_folder(whole).recording, last = seal_folder(ring).recording;
    EXPECT_EQ(information(last, "steps_left_out"), "57");
    EXPECT_EQ(last.rows(Table::backwards, {}), 3U);
    expect_to_be_the_end_of(all, last);
  }
}

TEST(Ring, NothingIsLeftOutBeforeThereAreMoreSteps) {
  SpoolBuilder b;
  Program program(b, 1);
  for (int i = 0; i < 3; ++i) program.step();
  EXPECT_EQ(leave_out(b.path(), 3).steps_left_out, 0U);
  EXPECT_FALSE(std::filesystem::exists(older_path(b.path())));
  EXPECT_EQ(information(b.seal(), "steps_left_out"), "");
}

TEST(Ring, SaysTheHighestPeakOfWhatWasLeftOut) {
  SpoolBuilder b;
  for (uint64_t step = 0; step < 10; ++step) {
    const uint64_t bytes = step == 4 ? 5000 : 100;
    b.op("aten::mm").alloc(0x10, bytes).end_op().free(0x10).optimizer("SGD").end_optimizer();
    if (step % 3 == 2) leave_out(b.path(), 2);
  }
  const Recording r = b.seal();
  EXPECT_EQ(information(r, "steps_left_out"), "7");
  const std::string peak = information(r, "steps_left_out_peak:cpu");
  EXPECT_EQ(peak.substr(0, 7), "5000 4 ") << peak;
}

TEST(Ring, SaysThatADeviceHadOnlyEmptyAllocations) {
  SpoolBuilder b;
  b.op("aten::empty").alloc(0x10, 8).block(0x20, 0, 0).end_op();
  for (uint64_t step = 0; step < 4; ++step) b.optimizer("SGD").end_optimizer();
  leave_out(b.path(), 2);
  const Recording r = b.seal();
  EXPECT_EQ(information(r, "steps_left_out_peak:cpu").substr(0, 4), "8 0 ");
  EXPECT_EQ(information(r, "steps_left_out_peak:cuda:0").substr(0, 4), "0 0 ");
}

TEST(Ring, CountsAnOlderBlockWithoutAnAddressOnce) {
  SpoolBuilder whole, ring;
  for (SpoolBuilder* b : {&whole, &ring}) {
    b->op("aten::empty").block(0, 8, 512, "cuda:0", 0, {}, kDeviceAllocationIsOlder).end_op();
    for (uint64_t step = 0; step < 4; ++step) b->op("aten::mm").end_op().optimizer("SGD").end_optimizer();
  }
  leave_out(ring.path(), 2);
  EXPECT_EQ(losses_of(whole.seal()), losses_of(ring.seal()));
}

std::vector<std::pair<VirtualChange, uint64_t>> physical_memory(const Recording& r) {
  const auto changes = r.column(column<table::VirtualMemory>.change);
  const auto handles = r.column(column<table::VirtualMemory>.handle);
  std::vector<std::pair<VirtualChange, uint64_t>> all;
  for (size_t i = 1; i < changes.size(); ++i) all.emplace_back(static_cast<VirtualChange>(changes[i]), handles[i]);
  return all;
}

TEST(Ring, KeepsTheHandlesAndMappingsOfLivePhysicalMemory) {
  using enum VirtualChange;
  SpoolBuilder b;
  b.physical({created, 1, 0, 4096}).physical({mapped, 1, 0x10000}).physical({released, 1});  // alive by its mapping
  b.physical({created, 2, 0, 4096}).physical({retained, 2}).physical({released, 2});
  b.physical({created, 3, 0, 4096}).physical({mapped, 3, 0x20000}).physical({released, 3});
  b.physical({released, 4}).physical({created, 4, 0, 4096});  // reported late
  b.physical({created, 5, 0, 4096}).physical({mapped, 5, 0x40000});
  b.physical({created, 5, 0, 8192}).physical({unmapped, 0, 0x40000, 4096});  // the old mapping, of the old memory
  for (int i = 0; i < 100; ++i) b.physical({mapped, 2, 0x30000}).physical({unmapped, 0, 0x30000, 4096});
  b.physical({unmapped, 0, 0x20000, 4096});
  b.pool(0xa, 1000, 100).pool(0xa, 2000, 200).pool(0xb, 5, 5).pool(0xb, 0, 0, 0, PoolChange::destroyed);
  for (uint64_t step = 0; step < 4; ++step) b.op("aten::mm").end_op().optimizer("SGD").end_optimizer();
  leave_out(b.path(), 2);
  const Recording r = b.seal();
  const std::vector<std::pair<VirtualChange, uint64_t>> kept = {
      {created, 1}, {mapped, 1}, {released, 1}, {created, 2}, {created, 5}};
  EXPECT_EQ(physical_memory(r), kept);
  ASSERT_EQ(r.rows(Table::memory_pools, {}), 1U);
  EXPECT_EQ(r.column(column<table::MemoryPools>.reserved)[1], 2000U);
}

TEST(Ring, KeepsTheStepsAroundTheFirstTimeThatMoreIsAlive) {
  SpoolBuilder b;
  b.alloc(0x20, 600);
  std::vector<RingState> states;
  for (uint64_t step = 0; step < 40; ++step) {
    b.op("aten::mm").alloc(0x10, step >= 20 ? 500 : 300).block(0x30, 500, 512).end_op();
    b.free(0x10).free(0x30, "cuda:0").optimizer("SGD").end_optimizer();
    if (step % 3 == 0) states.push_back(leave_out(b.path(), 2, 1000));
  }
  EXPECT_FALSE(states[6].reached) << "each device by itself: 900 and 500";
  EXPECT_EQ(states[6].steps_left_out, 17U);
  EXPECT_EQ(states[7].reached, 20U);
  EXPECT_EQ(states.back().reached, 20U);
  EXPECT_EQ(states.back().steps_left_out, 18U);
  ASSERT_TRUE(stop_after_steps(b.path(), 22));
  EXPECT_FALSE(b.writer().is_enough(21));
  EXPECT_TRUE(b.writer().is_enough(22));
  const Recording r = b.seal();
  EXPECT_EQ(information(r, "steps_left_out"), "18");
  EXPECT_EQ(r.rows(Table::optimizer_steps, {}), 22U);
}

TEST(Ring, KeepsTheStepsBeforeTheFirstFailedRequestUntilItIsHandled) {
  SpoolBuilder b;
  KeepSteps keep{.last = 2, .failed_after = 0};
  const auto trim = [&] { return leave_out_older_steps(b.path(), keep); };
  for (uint64_t step = 0; step < 20; ++step) {
    if (step == 10 || step == 12) b.op("aten::empty").out_of_memory(512, 100, 200).end_op();
    b.op("aten::mm").alloc(0x10, 300).end_op().free(0x10).optimizer("SGD").end_optimizer();
    if (step == 9) {
      const auto before = trim();
      ASSERT_TRUE(before);
      EXPECT_EQ(before->steps_left_out, 8U);
      EXPECT_EQ(before->failed_at, 0U);
    }
  }
  const auto failed = trim();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->steps_left_out, 8U);
  EXPECT_EQ(failed->steps, 20U);
  EXPECT_GT(failed->failed_at, 0U);
  EXPECT_FALSE(failed->reached) << "that is the limit of live bytes";
  EXPECT_EQ(b.seal().rows(Table::out_of_memory, {}), 2U);
  keep.failed_after = failed->failed_at;
  const auto handled = trim();
  ASSERT_TRUE(handled);
  EXPECT_EQ(handled->steps_left_out, 18U);
  EXPECT_EQ(handled->failed_at, failed->failed_at) << "until now they were in the spool";
  EXPECT_EQ(b.seal().rows(Table::out_of_memory, {}), 0U);
}

TEST(Ring, WhatWasAliveIsNamed) {
  SpoolBuilder b;
  const uint32_t stack = b.stack({b.frame("train.py", 12, "train")});
  b.enter("Net", "Net").op("aten::empty", {}, stack).alloc(0x10, 64).end_op().leave();
  b.role(Role::parameter, "weight", 0x10, 64);
  b.op("aten::zeros_like", {0x10}, stack).alloc(0x20, 64).end_op();
  b.role(Role::optimizer_state, "exp_avg", 0x20, 64, 0x10).free(0x10);  // the parameter itself has been freed
  for (int step = 0; step < 5; ++step) b.op("aten::mm").end_op().optimizer("SGD").end_optimizer();
  leave_out(b.path(), 2);
  const Recording r = b.seal();
  const auto strings = strings_of(r);
  ASSERT_EQ(r.rows(Table::roles, {}), 2U);
  EXPECT_EQ(strings[r.column(column<table::Roles>.name)[1]], "weight");
  EXPECT_EQ(strings[r.column(column<table::Roles>.name)[2]], "exp_avg");
  EXPECT_EQ(r.column(column<table::Roles>.parameter)[2], 1U) << "the state says whose it is";
  EXPECT_EQ(r.column(column<table::Frees>.of), (Values<uint32_t>{0, 1}));
  EXPECT_EQ(r.column(column<table::Allocations>.op), (Values<uint32_t>{0, 1, 2}));
  EXPECT_EQ(r.rows(Table::operators, {}), 4U) << "two that made something, and two of the last steps";
}

// ---- the disk -------------------------------------------------------------------------------------------------------

TEST(Ring, TheSpoolTakesNoMoreThanItsLimitOnDisk) {
  const TestFolder folder;
  constexpr uint64_t kMost = 32 << 20;
  SpoolBuilder b(folder, "1.spool", {.max_bytes = kMost, .is_ring = true});
  uint64_t most = 0;
  const std::vector<uint64_t> inputs(1000, 1);
  for (int step = 0; step < 100; ++step) {
    for (int i = 0; i < 200; ++i) b.op("aten::cat", inputs).end_op();  // 1.6 MB
    b.optimizer("SGD").end_optimizer();
    if (step % 4 == 3) leave_out(b.path(), 3);
    most = std::max(most, on_disk(b.path()) + on_disk(older_path(b.path())));
  }
  EXPECT_FALSE(b.writer().stopped());
  EXPECT_LE(most, kMost);
  EXPECT_GT(std::filesystem::file_size(b.path()), uint64_t{150} << 20) << "it went on behind what was given back";
  leave_out(b.path(), 3);
  b.finish();
  EXPECT_LE(on_disk(b.path()), uint64_t{6} << 20);
  const Recording r = seal_folder(folder).recording;
  EXPECT_TRUE(losses_of(r).empty());
  EXPECT_EQ(r.rows(Table::operators, {}), 600U);
}

TEST(Ring, WithoutAnybodyWhoLeavesOutItStopsAtItsLimit) {
  const TestFolder folder;
  constexpr uint64_t kMost = 32 << 20;
  SpoolBuilder b(folder, "1.spool", {.max_bytes = kMost, .is_ring = true});
  const std::vector<uint64_t> inputs(1000, 1);
  for (int i = 0; i < 8000; ++i) b.op("aten::cat", inputs).end_op();
  EXPECT_TRUE(b.writer().stopped());
  EXPECT_LE(std::filesystem::file_size(b.path()), kMost);
  b.finish();
  EXPECT_GT(lost(read_spool(b.path()), Loss::size_limit), 0U);
}

TEST(Ring, NothingIsGivenBackWhileSomebodyReads) {
  SpoolBuilder whole, ring;
  Program a(whole, 3), b(ring, 3);
  for (int i = 0; i < 300; ++i) a.step(), b.step();
  uint64_t events = 0;
  {
    const SpoolReader reader = read_spool(ring.path());
    const RingState state = leave_out(ring.path(), 3);
    EXPECT_EQ(state.steps_left_out, 297U);
    EXPECT_EQ(state.blocks, reader.blocks_on_disk());
    reader.for_each_event([&](const RecordHeader*, size_t, uint64_t) { ++events; }, [](size_t) {});
    EXPECT_EQ(events, read_spool(whole.path()).events());
    for (int i = 0; i < 3; ++i) {
      a.step(), b.step();
      leave_out(ring.path(), 3);
    }
  }
  EXPECT_LT(leave_out(ring.path(), 3).blocks, 4U);
  expect_to_be_the_end_of(whole.seal(), ring.seal());
}

// ---- while the program continues ------------------------------------------------------------------------------------

TEST(Ring, ThreadsGoOnWritingMeanwhile) {
  const TestFolder folder;
  const std::string path = folder / "1.spool";
  SpoolWriter writer;
  ASSERT_EQ(writer.open(path.c_str(), {.is_ring = true}), 0);
  constexpr uint64_t kEvents = 40'000;
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (uint64_t number = 1; number <= 3; ++number) {
    threads.emplace_back([&, number] {
      Lane lane;
      writer.attach(lane, static_cast<uint32_t>(number));
      const auto header = [](RecordKind kind, size_t bytes, uint32_t id = 0) {
        return RecordHeader{kind, 0, static_cast<uint16_t>(bytes / 8), id};
      };
      const auto operator_bytes = sizeof(OperatorRecord);
      for (uint64_t i = 0; i < kEvents; ++i) {
        const uint64_t address = number << 32 | i % 1000;
        if (i >= 1000) lane.write(FreeRecord{header(RecordKind::free, sizeof(FreeRecord)), ticks_now(), address});
        lane.write(OperatorRecord{header(RecordKind::operator_begin, operator_bytes), ticks_now(), 0, 0, 0});
        lane.write(
            AllocationRecord{header(RecordKind::allocation, sizeof(AllocationRecord)), ticks_now(), address, i + 1});
        lane.write(EventRecord{header(RecordKind::operator_end, sizeof(EventRecord)), ticks_now()});
        if (number != 1 || i % 100 != 99) continue;
        const auto bytes = sizeof(NamedEventRecord);
        lane.write(NamedEventRecord{header(RecordKind::optimizer_begin, bytes, 1), ticks_now()});
        lane.write(EventRecord{header(RecordKind::optimizer_end, sizeof(EventRecord)), ticks_now()});
      }
      lane.finish();
    });
  }
  std::thread watch([&] {
    while (!is_over) leave_out(path, 3);
  });
  for (std::thread& thread : threads) thread.join();
  is_over = true;
  watch.join();
  writer.finish();
  EXPECT_EQ(leave_out(path, 3).steps, kEvents / 100);
  writer.close();
  const Recording r = seal_folder(folder).recording;
  EXPECT_TRUE(losses_of(r).empty());
  EXPECT_EQ(information(r, "steps_left_out"), std::to_string(kEvents / 100 - 3));
  EXPECT_EQ(r.rows(Table::allocations, {}) - r.rows(Table::frees, {}), 3000U) << "what is alive at the end";
}

}  // namespace
}  // namespace tapelens::trace
