// Turns the spools of a recording into one sealed file.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trace/result.h"
#include "trace/types.h"

namespace tapelens::trace {

struct SealOptions {
  std::string directory;                          // holds *.spool, one each process
  std::string output;                             // written beside it under a random name, then renamed
  std::string name = {};                          // of what it becomes: see SealedWriter::open()
  std::string command;                            // shell-quoted; empty: from the spools
  uint32_t mode = 0600;                           // permissions of the file
  int64_t duration_ns = 0;                        // 0: the last event
  std::function<void(double fraction)> progress;  // may be empty
  // Called with the whole file before it has its name; what it returns is carried in it, at most kMostSummaryBytes.
  // Empty, or nothing returned: the file has no summary.
  std::function<std::string(const std::string& file)> summarize = {};
  // Processes of other ranks are left out, those without a rank too: the file may be of no process, with a summary
  // alone. None: all.
  std::optional<std::set<int32_t>> ranks = {};
};

struct DeviceSeal {
  std::string device;
  Bytes peak;
};
struct ProcessSeal {
  uint32_t pid = 0;
  int32_t rank = -1;
  std::vector<DeviceSeal> devices;
  uint64_t out_of_memory = 0;  // requests that a device had no memory for
  uint64_t steps_left_out = 0;
};
struct SealLoss {
  Loss kind{};
  uint64_t count = 0;
};
struct SealSummary {
  std::vector<ProcessSeal> processes;  // those that ran an operator; empty: no file was written
  std::vector<SealLoss> losses;
  uint64_t events = 0;
  uint64_t spool_bytes = 0, file_bytes = 0;
};

// Never throws, never trusts a spool: what is torn is left out and counted as Loss::torn_block.
// A process that ran no operator leaves nothing. The spools are left alone; the caller removes them.
Result<SealSummary> seal(const SealOptions& options);

}  // namespace tapelens::trace
