// The processes of a recording in progress, followed together: `tapelens top` and `record --live`.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analyzer/live/followed.h"
#include "trace/result.h"

namespace tapelens::cli {

// The spools to follow: all of a folder, or one.
struct LiveTarget {
  std::string title;   // the recording, or the spool
  std::string folder;  // empty: only `spool`
  std::string spool;
};

// `name`: a recording that is written, its folder of spools, a spool, or a pid; empty: the newest folder of spools
// here.
trace::Result<LiveTarget> find_live_target(const std::string& name);

class LiveRun {
 public:
  using Clock = std::chrono::steady_clock;
  explicit LiveRun(LiveTarget target) : target_(std::move(target)) {}

  // Reads what the processes have committed, and looks for new ones, but not much longer than until `deadline`. False:
  // more is committed.
  bool poll(Clock::time_point deadline);
  // Whether all processes have ended, and none began for a second.
  bool is_over() const;
  const std::string& title() const { return target_.title; }
  const std::vector<std::unique_ptr<live::Followed>>& processes() const { return processes_; }

 private:
  void find_processes();

  const LiveTarget target_;
  std::vector<std::unique_ptr<live::Followed>> processes_;
  std::set<std::string> known_;
  Clock::time_point next_look_{}, last_new_ = Clock::now();
};

}  // namespace tapelens::cli
