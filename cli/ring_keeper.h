// `tapelens record --last K`: while the command runs, the older steps of its processes are left out of their spools
// (trace/ring.h).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace tapelens::cli {

class RingKeeper {
 public:
  // `steps` of each process are kept; 0: all, and nothing is done. `max_bytes`: at which a process stops recording.
  RingKeeper(std::string folder, uint64_t steps, uint64_t max_bytes);
  RingKeeper(const RingKeeper&) = delete;
  RingKeeper& operator=(const RingKeeper&) = delete;
  ~RingKeeper();

  // The command has ended: leaves out what is older now.
  void finish();

 private:
  void watch();
  void stop();
  // Where as much was written since the last time as was left then; at the end everywhere.
  void look(bool is_end);

  const std::string folder_;
  const uint64_t steps_, max_bytes_;
  std::map<std::string, uint64_t> next_at_;  // by spool: bytes at which it is looked at; UINT64_MAX: never again
  std::mutex lock_;                          // of is_over_
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;  // so that signals are passed on meanwhile; it takes none itself
};

}  // namespace tapelens::cli
