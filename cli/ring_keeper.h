// `tapelens record --last K`: removes the older steps from the spools of the command's processes while it runs
// (trace/ring.h).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "trace/ring.h"

namespace tapelens::cli {

class FlightRecorder;

class RingKeeper {
 public:
  // `keep.last` 0 keeps all steps. `max_bytes`: the size at which a process stops recording. Once a process exceeds
  // `keep.when`, it records `keep.last` more steps and then stops. `recorder`: makes recordings on demand between the
  // removals, and decides for each spool what to keep; may be null.
  RingKeeper(std::string folder, trace::KeepSteps keep, uint64_t max_bytes, FlightRecorder* recorder = nullptr);
  RingKeeper(const RingKeeper&) = delete;
  RingKeeper& operator=(const RingKeeper&) = delete;
  ~RingKeeper();

  // Call after the command has ended; removes the older steps a last time, or makes the last recordings on demand.
  void finish();
  // Call after finish(). Whether any process exceeded `keep.when`.
  bool is_reached() const { return is_reached_; }

 private:
  void watch();
  void stop();
  // Handles spools that have written as much since the last look as was left then; at the end all spools.
  void look(bool is_end);

  const std::string folder_;
  static constexpr uint64_t kLeast = uint64_t{16} << 20;  // bytes; less is not worth reading
  struct Spool {
    uint64_t next_at = kLeast;                         // bytes at which to look again; UINT64_MAX: never
    uint64_t seen = 0;                                 // bytes at the last look
    std::chrono::steady_clock::time_point not_before;  // earliest next look for `keep.when` only
    bool is_reached = false;
  };
  const trace::KeepSteps keep_;
  const uint64_t max_bytes_;
  FlightRecorder* const recorder_;
  std::map<std::string, Spool> spools_;
  bool is_reached_ = false;
  base::Mutex lock_;
  std::condition_variable_any over_;
  bool is_over_ TAPELENS_GUARDED_BY(lock_) = false;
  std::thread thread_;  // lets the main thread forward signals; blocks all signals itself
};

}  // namespace tapelens::cli
