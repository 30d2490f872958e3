// A sealed recording. A process is loaded when one of its tables is requested. Safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "analyzer/tables/part.h"
#include "analyzer/tables/table.h"
#include "trace/recording.h"
#include "trace/result.h"

namespace tapelens::tables {

class Opened {
 public:
  // Error messages are for the user.
  static trace::Result<std::shared_ptr<Opened>> open(const std::string& path, MakeChecks checks);
  Opened(trace::Recording recording, std::shared_ptr<const Shared> shared);

  const trace::Recording& recording() const { return recording_; }
  const std::string& file() const { return shared_->file; }
  uint32_t processes() const { return static_cast<uint32_t>(recording_.processes().size()); }

  // The part that a table reads; shared tables ignore `process`. Keeps the last part, and others as long as a caller
  // holds them.
  std::shared_ptr<const Part> part(const Table& table, uint32_t process);
  // The number of rows that a table has for one process.
  uint64_t rows(const Table& table, uint32_t process) { return table.rows(*part(table, process)); }

 private:
  trace::Recording recording_;
  std::shared_ptr<const Shared> shared_;
  std::mutex lock_;  // guards parts_ and last_
  std::vector<std::weak_ptr<const Part>> parts_;
  std::shared_ptr<const Part> last_, of_shared_;
};

}  // namespace tapelens::tables
