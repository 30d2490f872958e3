// How `tapelens dump` asks a running `tapelens record --on-demand` for a recording: by files in the folder of its
// spools, which only this user can write into.
//
//   recorder      the pid of the recorder; exists while it answers requests
//   PID.request   empty; PID is the asking process
//   PID.answer    renamed when complete: "+" and the path of a recording on each line, or "-" and one sentence
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "trace/result.h"

namespace tapelens::cli {

struct DumpAnswer {
  std::vector<std::string> files = {};  // absolute paths of the recordings
  std::string refused = {};             // one sentence if no recording was made
};

// The recorder's side. Not for concurrent use.
class DumpRequests {
 public:
  // Begins to accept requests. If that fails, there will be none.
  explicit DumpRequests(std::string folder);
  DumpRequests(const DumpRequests&) = delete;
  DumpRequests& operator=(const DumpRequests&) = delete;
  // Accepts no more. Waits at most 2 s for living askers to take their answers, and removes the files.
  ~DumpRequests();

  bool accepts() const { return accepts_; }
  // The askers whose requests are not answered yet, in no order.
  std::vector<pid_t> pending() const;
  void answer(pid_t asker, const DumpAnswer& answer) const;

 private:
  const std::string folder_;
  bool accepts_ = false;
};

// Whether a living recorder answers requests in this folder.
bool has_recorder(const std::string& folder);
// Removes the files that a killed recorder left in the folder.
void remove_requests(const std::string& folder);

// Finds the recorder of a process. If the process has none, finds those of its descendants: `pid` is a recorder, or a
// launcher of several. Returns their folders, at least one.
trace::Result<std::vector<std::string>> recorders_of(pid_t pid);

// Asks the recorder of a folder and waits for its answer. An error if the recorder ends before.
trace::Result<DumpAnswer> request_dump(const std::string& folder);

}  // namespace tapelens::cli
