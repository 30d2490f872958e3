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
  std::string directory;                          // contains *.spool, one per process
  std::string output;                             // written beside it under a random name, then renamed
  std::string name = {};                          // name of the final file: see SealedWriter::open()
  std::string command;                            // shell-quoted; empty: from the spools
  uint32_t mode = 0600;                           // permissions of the file
  int64_t duration_ns = 0;                        // 0: the last event
  std::function<void(double fraction)> progress;  // may be empty
  // Called with the path of the whole file before it gets its final name. The file stores the returned summary, at most
  // kMostSummaryBytes. Without a callback, or with an empty result, the file has no summary.
  std::function<std::string(const std::string& file)> summarize = {};
  // Seals only processes of these ranks; processes without a rank are left out. The file may then contain no process
  // and only a summary. None: all processes.
  std::optional<std::set<int32_t>> ranks = {};
  std::vector<uint32_t> running = {};  // the pids of processes that still run
};

struct DeviceSeal {
  std::string device;
  Bytes peak;
};
struct ProcessSeal {
  uint32_t pid = 0;
  int32_t rank = -1;
  std::vector<DeviceSeal> devices;
  uint64_t out_of_memory = 0;  // requests for which a device had no memory
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

// The rank of a spool's process; -1 if it has none, or the spool cannot be read.
int32_t rank_of_spool(const std::string& path);

// Never throws, and trusts no spool: torn data is left out and counted as Loss::torn_block. A process that ran no
// operator is not in the file. The caller removes the spools.
Result<SealSummary> seal(const SealOptions& options);

}  // namespace tapelens::trace
