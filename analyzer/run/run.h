// An opened recording, for every command, the window and the C library. Its text and its processes are loaded at their
// first request. Safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "analyzer/model/text.h"
#include "analyzer/run/process_run.h"
#include "trace/recording.h"
#include "trace/result.h"

namespace tapelens::run {

// Copies share one recording.
class Run {
 public:
  // Error messages are for the user.
  static trace::Result<Run> open(const std::string& path);
  Run(trace::Recording recording, std::string file = {});

  const trace::Recording& recording() const;
  const std::string& file() const;  // the path as it was opened; empty: not known
  // The names, stacks and layouts that all processes share.
  const model::Text& text() const { return *shared_text(); }
  const std::shared_ptr<const model::Text>& shared_text() const;
  uint32_t processes() const { return static_cast<uint32_t>(recording().processes().size()); }
  // Keeps the last process, and others as long as a caller holds them.
  std::shared_ptr<const ProcessRun> process(uint32_t index) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tapelens::run
