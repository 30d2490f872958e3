// Whether a recorded command has made the requested steps, observed from outside. A process with a limit on its steps
// (TAPELENS_STEPS) marks its spool's header as finished.
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

  // Whether the command can be ended. If other processes record and have made fewer steps, this waits once more for the
  // time that the first one took: they may be slower ranks, or workers that make no steps. A process that ended too
  // early may be a failed rank, which is about to end the command.
  bool is_enough();
  bool is_late() const { return is_late_; }  // ended by the time limit

 private:
  const std::string folder_;
  const uint64_t steps_;
  const std::chrono::nanoseconds limit_;
  const Clock::time_point begin_ = Clock::now();
  std::optional<Clock::time_point> first_;  // when the first process had made its steps
  std::set<std::string> done_, ended_;      // spools of processes that made all steps, and of those that ended before
  bool is_late_ = false;
};

}  // namespace tapelens::cli
