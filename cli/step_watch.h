// Whether a recorded command has made as many steps as are wanted, seen from outside: a process whose recording is
// limited to its first steps (TAPELENS_STEPS) says in its spool's header that it is finished.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace tapelens::cli {

class StepWatch {
 public:
  using Clock = std::chrono::steady_clock;
  // `steps`: 0 waits for the end of the command.
  StepWatch(std::string folder, uint64_t steps, std::chrono::nanoseconds limit)
      : folder_(std::move(folder)), steps_(steps), limit_(limit) {}

  // Whether the command can be ended. Where other processes record and have not come so far, it is waited as long again
  // as the first took: they may be slower ranks, or workers that make no steps, and one that ended too early may be a
  // rank that failed, by which the command is about to end.
  bool is_enough();
  bool is_late() const { return is_late_; }  // the limit was what made it so

 private:
  const std::string folder_;
  const uint64_t steps_;
  const std::chrono::nanoseconds limit_;
  const Clock::time_point begin_ = Clock::now();
  std::optional<Clock::time_point> first_;  // a process had made its steps
  std::set<std::string> done_, ended_;      // spools: of those that had, and of those that ended before
  bool is_late_ = false;
};

}  // namespace tapelens::cli
