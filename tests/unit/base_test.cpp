// Assertions, the mutex that clang's analysis knows, and loops over threads.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/assert.h"
#include "base/mutex.h"
#include "base/parallel.h"

namespace tapelens::base {
namespace {

struct Counter {
  Mutex lock;
  int count TAPELENS_GUARDED_BY(lock) = 0;

  void add() TAPELENS_EXCLUDES(lock) {
    const MutexLock guard(lock);
    add_locked();
  }
  void add_locked() TAPELENS_REQUIRES(lock) {
    lock.assert_held();
    ++count;
  }
};

TEST(Mutex, OneThreadAtATimeHoldsIt) {
  Counter counter;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10'000; ++j) counter.add();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const MutexLock guard(counter.lock);
  EXPECT_EQ(counter.count, 40'000);
}

TEST(ParallelFor, EachTaskRunsOnceAndItsWritesAreSeen) {
  for (const size_t count : {0, 1, 2, 3, 1000}) {
    std::vector<size_t> runs(count);
    parallel_for(count, kManyRows, [&](size_t i) { runs[i] += i + 1; });
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(runs[i], i + 1) << count;
  }
}

TEST(ParallelFor, ATaskMayHaveTasksOfItsOwn) {
  std::atomic<int> runs{0};
  parallel_for(5, kManyRows, [&](size_t) { parallel_for(7, kManyRows, [&](size_t) { ++runs; }); });
  EXPECT_EQ(runs, 35);
}

TEST(ParallelFor, FewRowsNeedNoThread) {
  const auto caller = std::this_thread::get_id();
  parallel_for(1000, kRowsWorthThreads - 1, [&](size_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST(ParallelFor, AnExceptionEndsItAndReachesTheCaller) {
  std::atomic<size_t> after{0};
  std::string said;
  try {
    parallel_for(100'000, kManyRows, [&](size_t i) {
      if (i == 3) throw std::runtime_error("three");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // all of them would take 10 s and more
      ++after;
    });
  } catch (const std::runtime_error& error) {
    said = error.what();
  }
  EXPECT_EQ(said, "three");
  EXPECT_LT(after, 100'000U - 1);
}

#ifdef TAPELENS_ASSERTIONS
TEST(AssertDeathTest, AFalseConditionAbortsWithItsText) {
  const int two = 2;
  TAPELENS_ASSERT(two == 2);
  EXPECT_DEATH(TAPELENS_ASSERT(two == 3), "base_test.cpp:[0-9]+: the assertion failed: two == 3");
}

TEST(MutexDeathTest, OnlyTheThreadThatLockedItHoldsIt) {
  Mutex lock;
  EXPECT_DEATH(lock.assert_held(), "is_held");
  const MutexLock guard(lock);
  lock.assert_held();
  bool is_held_by_other = true;
  std::thread([&] { is_held_by_other = lock.is_held(); }).join();
  EXPECT_FALSE(is_held_by_other);
}
#else
TEST(Assert, TheConditionIsNotEvaluated) {
  int evaluated = 0;
  TAPELENS_ASSERT(++evaluated == 0);
  EXPECT_EQ(evaluated, 0);
}

TEST(Mutex, ItIsAsLargeAsThatOfTheLibrary) { EXPECT_EQ(sizeof(Mutex), sizeof(std::mutex)); }
#endif

}  // namespace
}  // namespace tapelens::base
