// `tapelens record --last K`: while the command runs, the older steps of its processes are left out of their spools
// (trace/ring.h).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "trace/ring.h"

namespace tapelens::cli {

class RingKeeper {
 public:
  // `keep.last` 0: all steps stay, and nothing is done. `max_bytes`: at which a process stops recording. Where
  // `keep.when` is exceeded, `keep.last` steps more are recorded, then no more of that process.
  RingKeeper(std::string folder, trace::KeepSteps keep, uint64_t max_bytes);
  RingKeeper(const RingKeeper&) = delete;
  RingKeeper& operator=(const RingKeeper&) = delete;
  ~RingKeeper();

  // The command has ended: leaves out what is older now.
  void finish();
  // After that: whether `keep.when` was exceeded in any process.
  bool is_reached() const { return is_reached_; }

 private:
  void watch();
  void stop();
  // Where as much was written since the last time as was left then; at the end everywhere.
  void look(bool is_end);

  const std::string folder_;
  static constexpr uint64_t kLeast = uint64_t{16} << 20;  // bytes: less is not worth the reading
  struct Spool {
    uint64_t next_at = kLeast;                         // bytes at which it is looked at; UINT64_MAX: never again
    uint64_t seen = 0;                                 // bytes that it had when it was looked at
    std::chrono::steady_clock::time_point not_before;  // it is looked at for `keep.when` alone
    bool is_reached = false;
  };
  const trace::KeepSteps keep_;
  const uint64_t max_bytes_;
  std::map<std::string, Spool> spools_;
  bool is_reached_ = false;
  std::mutex lock_;  // of is_over_
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;  // so that signals are passed on meanwhile; it takes none itself
};

}  // namespace tapelens::cli
