// A mutex for clang's thread-safety analysis, which scripts/locks runs. Each member names the mutex that guards it,
// each function the mutex that its caller holds. Inline, as fast as std::mutex. Other compilers ignore the annotations.
// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#pragma once

#include <mutex>

#include "base/assert.h"
#ifdef TAPELENS_ASSERTIONS
#include <atomic>
#include <thread>
#endif

#ifdef __clang__
#define TAPELENS_ANNOTATION(...) __attribute__((__VA_ARGS__))
#else
#define TAPELENS_ANNOTATION(...)
#endif
#define TAPELENS_GUARDED_BY(lock) TAPELENS_ANNOTATION(guarded_by(lock))               // a lock guards this member
#define TAPELENS_PT_GUARDED_BY(lock) TAPELENS_ANNOTATION(pt_guarded_by(lock))         // a lock guards its target
#define TAPELENS_REQUIRES(...) TAPELENS_ANNOTATION(requires_capability(__VA_ARGS__))  // the caller holds it
#define TAPELENS_EXCLUDES(...) TAPELENS_ANNOTATION(locks_excluded(__VA_ARGS__))       // the caller does not hold it
#define TAPELENS_RETURNS_LOCK(lock) TAPELENS_ANNOTATION(lock_returned(lock))          // an accessor of this mutex
#define TAPELENS_NOT_ANALYZED TAPELENS_ANNOTATION(no_thread_safety_analysis)          // with the reason beside it

namespace tapelens::base {

class TAPELENS_ANNOTATION(capability("mutex")) Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

#ifdef TAPELENS_ASSERTIONS
  void lock() TAPELENS_ANNOTATION(acquire_capability()) {
    mutex_.lock();
    holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  void unlock() TAPELENS_ANNOTATION(release_capability()) {
    assert_held();
    holder_.store({}, std::memory_order_relaxed);
    mutex_.unlock();
  }
  bool is_held() const { return holder_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
#else
  void lock() TAPELENS_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() TAPELENS_ANNOTATION(release_capability()) { mutex_.unlock(); }
  bool is_held() const;  // by the calling thread: known to assertions alone
#endif
  // For code that the analysis cannot follow, such as a callback: the calling thread holds it.
  void assert_held() const TAPELENS_ANNOTATION(assert_capability(this)) { TAPELENS_ASSERT(is_held()); }

 private:
  std::mutex mutex_;
#ifdef TAPELENS_ASSERTIONS
  std::atomic<std::thread::id> holder_{};
#endif
};

// Holds a mutex until the end of its scope.
class TAPELENS_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TAPELENS_ANNOTATION(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() TAPELENS_ANNOTATION(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace tapelens::base
