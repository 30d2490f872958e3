// An opened recording, for every command, the window and the C library. Its text and its processes are loaded at their
// first request. Safe from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/device_traits.h"
#include "analyzer/model/model.h"
#include "analyzer/model/text.h"
#include "analyzer/peak/analysis.h"
#include "trace/recording.h"
#include "trace/result.h"
#include "trace/types.h"

namespace tapelens::run {

using model::Bytes;

class ProcessRun;

// One device of a process. The process outlives it.
class DeviceRun {
 public:
  DeviceRun(const ProcessRun& of, model::DeviceId id);
  DeviceRun(const DeviceRun&) = delete;
  DeviceRun& operator=(const DeviceRun&) = delete;

  const ProcessRun& of() const { return of_; }
  model::DeviceId id() const { return analysis_.device(); }
  std::string_view name() const;  // "cuda:0"
  const model::DeviceTraits& traits() const;
  bool is_gpu() const { return traits().is_gpu(); }
  const peak::DeviceAnalysis& analysis() const { return analysis_; }
  // The most bytes that were alive, from Analysis::since() on: the peak of the device in every command.
  Bytes peak() const { return analysis_.largest().bytes; }

 private:
  const ProcessRun& of_;
  peak::DeviceAnalysis analysis_;
};

// One process of an opened recording, and its devices. Each derived part is computed once, at its first request. Safe
// from any thread.
class ProcessRun {
 public:
  ProcessRun(std::shared_ptr<const model::Text> text, model::Process process, trace::ProcessIndex index);
  ProcessRun(const ProcessRun&) = delete;
  ProcessRun& operator=(const ProcessRun&) = delete;

  const model::Text& text() const { return *text_; }
  const model::Process& process() const { return process_; }
  trace::ProcessIndex index() const { return index_; }  // in the recording
  const peak::Analysis& analysis() const { return analysis_; }
  // The devices that the process allocated on, in the order of their ids.
  std::vector<const DeviceRun*> devices() const;
  // Any device of the recording, and device 0: an allocation of a damaged recording may have no device.
  const DeviceRun& device(model::DeviceId id) const { return devices_[id.value]; }

 private:
  std::shared_ptr<const model::Text> text_;
  model::Process process_;
  trace::ProcessIndex index_;
  peak::Analysis analysis_;
  std::deque<DeviceRun> devices_;  // by id
};

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
