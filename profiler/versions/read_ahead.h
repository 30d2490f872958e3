// The offloaded versions of a device, by the order of their saves, and which of them return before the backward reads
// them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "base/mutex.h"

namespace tapelens::versions {

// Values in other memory. Its functions may be called at any time, by any thread, and take only leaf locks.
class Away {
 public:
  virtual ~Away() = default;
  // Begins to copy the values to the device; no effect if they are there.
  virtual void fetch_ahead() noexcept = 0;
  // Frees the device's memory again, if fetch() did not return it.
  virtual void drop_ahead() noexcept = 0;
};

// For all threads. Its lock is a leaf: it calls no function of Away, and destroys none, while it holds the lock.
class ReadAhead {
 public:
  static constexpr size_t kAhead = 3;  // the most versions that return before they are read

  // `order`: Version::order(), unique.
  void add(uint64_t order, std::weak_ptr<Away> away);
  void remove(uint64_t order) noexcept;
  // A backward reads the save with this order: the kAhead versions that were saved before it return. Others that
  // returned and were not read go again: the backward is past them, or it is a backward of another graph.
  void read(uint64_t order);

 private:
  base::Mutex lock_;
  std::map<uint64_t, std::weak_ptr<Away>> away_ TAPELENS_GUARDED_BY(lock_);
  std::set<uint64_t> ahead_ TAPELENS_GUARDED_BY(lock_);  // told to return
};

}  // namespace tapelens::versions
