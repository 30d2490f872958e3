// Makes a recording from a memory snapshot of PyTorch. The recording's tables have the snapshot's facts. Tables of
// unknown facts (operators, autograd nodes, saves, modules) are empty. docs/import.md maps the parts of a snapshot to
// tables.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "trace/result.h"
#include "trace/seal.h"

namespace tapelens::snapshot {

struct ImportOptions {
  std::string input, output;                      // the second is written under a random name, then renamed
  std::string name = {};                          // the recording's name: see trace::SealedWriter::open()
  uint32_t mode = 0600;                           // permissions of it
  std::function<void(double fraction)> progress;  // may be empty
  std::function<std::string(const std::string& file)> summarize = {};  // as of trace::SealOptions
};

trace::Result<trace::SealSummary> import_snapshot(const ImportOptions& options);

}  // namespace tapelens::snapshot
