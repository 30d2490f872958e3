// Makes a recording of a memory snapshot of PyTorch: what it knows is in the recording's tables, and what it does not
// know (operators, autograd nodes, saves, modules) is in none. docs/import.md says what becomes of what.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "trace/result.h"
#include "trace/seal.h"

namespace tapelens::snapshot {

struct ImportOptions {
  std::string input, output;                      // the second is written under a random name, then renamed
  std::string name = {};                          // of what it becomes: see trace::SealedWriter::open()
  uint32_t mode = 0600;                           // permissions of it
  std::function<void(double fraction)> progress;  // may be empty
  std::function<std::string(const std::string& file)> summarize = {};  // as of trace::SealOptions
};

trace::Result<trace::SealSummary> import_snapshot(const ImportOptions& options);

}  // namespace tapelens::snapshot
