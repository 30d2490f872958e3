// `tapelens record --live`: the screen of `tapelens top` while the command runs, drawn by this process.
#pragma once

#include <condition_variable>
#include <string>
#include <thread>

#include "base/mutex.h"

namespace tapelens::cli {

class LiveScreen {
 public:
  // Follows the spools in `folder` for the recording at `output`; an empty folder shows nothing. Without a terminal
  // that the program does not write to, one line says what to do, and nothing is shown.
  LiveScreen(const std::string& folder, const std::string& output);
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;
  ~LiveScreen() { finish(); }
  void finish();  // restores the terminal

 private:
  void show(const std::string& folder, const std::string& title);
  bool wait();  // false: finish() was called

  int terminal_ = -1;
  base::Mutex lock_;
  std::condition_variable_any over_;
  bool is_over_ TAPELENS_GUARDED_BY(lock_) = false;
  std::thread thread_;  // lets the main thread forward signals; blocks all signals itself
};

}  // namespace tapelens::cli
