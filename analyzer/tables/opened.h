// The parts of an opened recording that its tables read. A process is loaded when one of its tables is requested. Safe
// from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "analyzer/run/on_demand.h"
#include "analyzer/run/run.h"
#include "analyzer/tables/part.h"
#include "analyzer/tables/table.h"
#include "trace/result.h"

namespace tapelens::tables {

class Opened {
 public:
  // Error messages are for the user.
  static trace::Result<std::shared_ptr<Opened>> open(const std::string& path, MakeChecks checks);
  Opened(run::Run run, MakeChecks checks);

  const run::Run& run() const { return run_; }

  // The part that a table reads; shared tables ignore `process`. Keeps the last part, and others as long as a caller
  // holds them.
  std::shared_ptr<const Part> part(const Table& table, uint32_t process);
  // The number of rows that a table has for one process.
  uint64_t rows(const Table& table, uint32_t process) { return table.rows(*part(table, process)); }

 private:
  run::Run run_;
  MakeChecks checks_;
  run::OnDemand<Part> parts_;
  peak::Lazy<std::shared_ptr<const Part>> of_shared_;
};

}  // namespace tapelens::tables
