// Values by index, each made at its first request. Safe from any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/mutex.h"

namespace tapelens::run {

// Keeps the last value, and others as long as a caller holds them.
template <class T>
class OnDemand {
 public:
  explicit OnDemand(size_t count) : made_(count) {}

  // `make` returns a shared pointer to a T. It is not called for a value that exists.
  template <class Make>
  std::shared_ptr<const T> get(size_t index, Make make) {
    const base::MutexLock guard(lock_);
    std::shared_ptr<const T> value = made_[index].lock();
    if (!value) {
      last_.reset();  // not two values in memory at once, unless a caller still holds the other
      value = make();
      made_[index] = value;
    }
    last_ = value;
    return value;
  }

 private:
  base::Mutex lock_;
  std::vector<std::weak_ptr<const T>> made_ TAPELENS_GUARDED_BY(lock_);
  std::shared_ptr<const T> last_ TAPELENS_GUARDED_BY(lock_);
};

}  // namespace tapelens::run
