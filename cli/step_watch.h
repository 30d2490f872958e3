// Whether a recorded command has made as many steps as are wanted, seen from outside: a process whose recording is
// limited to its first steps (TAPELENS_STEPS) says in its spool's header that it is finished.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace tapelens::cli {

// Steps of the optimizer that stepped first, as profiler/observe/steps.h counts them.
uint64_t steps_in_spool(const std::string& spool);

class StepWatch {
 public:
  using Clock = std::chrono::steady_clock;
  // `steps`: 0 waits for the end of the command.
  StepWatch(std::string folder, uint64_t steps, std::chrono::nanoseconds limit)
      : folder_(std::move(folder)), steps_(steps), limit_(limit) {}

  // Whether the command can be ended. Ranks that have not come so far are waited for, for as long again as the first
  // took: other processes record too (workers that load data), and make no steps.
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
