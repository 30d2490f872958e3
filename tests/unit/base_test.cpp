// Assertions, and the mutex that clang's analysis knows.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/assert.h"
#include "base/mutex.h"

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
