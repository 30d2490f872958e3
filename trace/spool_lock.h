// A lock that knows its owner thread. The program may end (`_exit`) in a signal handler that interrupts a critical
// section; the handler must then not wait for its own thread. Held for microseconds.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace tapelens::trace {

class SpoolLock {
 public:
  // False if this thread holds the lock, or if another thread still holds it after `patience` tries of 0.1 ms.
  bool lock(uint32_t patience = UINT32_MAX) {
    const auto self = static_cast<uint32_t>(syscall(SYS_gettid));
    for (uint32_t waited = 0;; ++waited) {
      uint32_t holder = 0;
      if (holder_.compare_exchange_strong(holder, self, std::memory_order_acquire)) return true;
      if (holder == self || waited >= patience) return false;
      const struct timespec pause { 0, 100'000 };
      nanosleep(&pause, nullptr);
    }
  }
  bool try_lock() { return lock(0); }
  void unlock() { holder_.store(0, std::memory_order_release); }

 private:
  std::atomic<uint32_t> holder_{0};
};

// Unlocks at the end of the scope if the lock was taken.
class SpoolGuard {
 public:
  SpoolGuard(SpoolLock& lock, bool is_locked) : lock_(lock), is_locked_(is_locked) {}
  ~SpoolGuard() {
    if (is_locked_) lock_.unlock();
  }
  SpoolGuard(const SpoolGuard&) = delete;
  SpoolGuard& operator=(const SpoolGuard&) = delete;
  explicit operator bool() const { return is_locked_; }

 private:
  SpoolLock& lock_;
  bool is_locked_;
};

}  // namespace tapelens::trace
