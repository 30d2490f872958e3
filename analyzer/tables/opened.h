// A sealed recording whose processes are loaded when a table of them is asked for. Any thread may ask.
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
  // Errors are for the user.
  static trace::Result<std::shared_ptr<Opened>> open(const std::string& path, MakeChecks checks);
  Opened(trace::Recording recording, std::shared_ptr<const Shared> shared);

  const trace::Recording& recording() const { return recording_; }
  const std::string& file() const { return shared_->file; }
  uint32_t processes() const { return static_cast<uint32_t>(recording_.processes().size()); }

  // Of the shared tables any. The one that was asked for last is kept, others as long as somebody has them.
  std::shared_ptr<const Part> part(const Table& table, uint32_t process);
  // Of a table: its rows of one process.
  uint64_t rows(const Table& table, uint32_t process) { return table.rows(*part(table, process)); }

 private:
  trace::Recording recording_;
  std::shared_ptr<const Shared> shared_;
  std::mutex lock_;  // of what follows
  std::vector<std::weak_ptr<const Part>> parts_;
  std::shared_ptr<const Part> last_, of_shared_;
};

}  // namespace tapelens::tables
