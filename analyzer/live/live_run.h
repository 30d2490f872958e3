// The processes of a recording in progress, followed together: `tapelens top`, `record --live`
// and the window.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/live/followed.h"

namespace tapelens::live {

// The spools to follow: all of a folder, or one.
struct LiveTarget {
  std::string title;   // the recording, or the spool
  std::string folder;  // empty: only `spool`
  std::string spool;
  // The file that `tapelens record` makes of the spools, unless it keeps them elsewhere (--spool-dir); empty: unknown.
  std::string recording() const;
};

LiveTarget folder_target(std::string folder);
// The spools of a path: a folder of spools, the recording that a program still writes, or one spool. None: the path has
// no spools.
std::optional<LiveTarget> target_at(const std::string& path);

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
  const std::vector<std::unique_ptr<Followed>>& processes() const { return processes_; }

 private:
  void find_processes();

  const LiveTarget target_;
  std::vector<std::unique_ptr<Followed>> processes_;
  std::set<std::string> known_;
  Clock::time_point next_look_{}, last_new_ = Clock::now();
};

}  // namespace tapelens::live
