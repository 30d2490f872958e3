// Results derived from the columns of a process. The report, the advice, verify, the benches and the window share them.
// Each part is computed once, at its first request.
//
// Any thread may request any part. One thread computes it; other threads that request the same part wait. A part never
// changes afterwards. A part computes the parts that it needs (lifetimes need the provenance), in one direction only:
// DeviceAnalysis calls Analysis, never the reverse.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/model/device_traits.h"
#include "analyzer/model/provenance.h"
#include "analyzer/model/steps.h"
#include "analyzer/model/text.h"
#include "analyzer/peak/device_memory.h"
#include "analyzer/peak/holders.h"
#include "analyzer/peak/in_use.h"
#include "analyzer/peak/replay.h"
#include "analyzer/peak/requests.h"
#include "analyzer/peak/timeline.h"

namespace tapelens::peak {

template <class T>
class Lazy {
 public:
  // `make` returns a T. An exception of `make` reaches the caller; the next request calls `make` again.
  template <class Make>
  const T& get(Make make) const {
    std::call_once(once_, [&] { value_.reset(new const T(make())); });
    return *value_;
  }

 private:
  mutable std::once_flag once_;
  mutable std::unique_ptr<const T> value_;
};

// The parts that do not depend on a device. The process and the text must not change while this object lives.
class Analysis {
 public:
  Analysis(const Process& process, const Text& text) : process_(process), text_(text) {}
  Analysis(const Analysis&) = delete;
  Analysis& operator=(const Analysis&) = delete;

  const Process& process() const { return process_; }
  const Text& text() const { return text_; }

  const std::vector<Step>& steps() const;
  const Phases& phases() const;
  const Provenance& provenance() const;
  // The earliest time at which the program can have released each allocation: after its last use.
  const Lifetimes& lifetimes() const;
  // The latest such time. A recording does not show when a variable released an allocation that a save also holds.
  const Lifetimes& longest_lifetimes() const;
  // The techniques and frameworks that the program uses already.
  const InUse& in_use() const;
  // One for each device that the process allocated on.
  const std::vector<DevicePeak>& devices() const;
  const model::DeviceTraits& traits(DeviceId device) const;
  // Blocks and segments of one of these devices; empty if its allocator reports none.
  const DeviceMemory& memory(DeviceId device) const;
  // The requests to its allocator; empty if the allocator reports no segments.
  const DeviceRequests& requests(DeviceId device) const;

  // The recorder's value of a key, such as "torch_version"; empty: none.
  std::string_view information(std::string_view key) const;
  // All values of a key that the recorder may have noted several times, in order of time.
  std::vector<std::string_view> all_information(std::string_view key) const;
  // The same for a number of bytes; allocator::kNoLimit: none.
  uint64_t bytes_noted(std::string_view key) const;
  // The same for a key of a device's type, such as &DeviceType::memory.
  uint64_t bytes_noted(DeviceId device, std::string_view model::DeviceType::*key) const;
  // The same for a count; 0: none.
  uint64_t count_noted(std::string_view key) const;
  // The total memory of a simulated GPU, or of the system for the CPU. None: unknown.
  std::optional<Bytes> memory_of(DeviceId device) const;
  // The begin of the part with holders and peaks. This is the begin of the first step that `tapelens record --steps`
  // recorded as a whole, because earlier memory has no holders. Or it is the end of omitted steps, or the program's
  // call of tapelens.start().
  Time since() const;

 private:
  const Process& process_;
  const Text& text_;
  Lazy<std::vector<Step>> steps_;
  Lazy<Phases> phases_;
  Lazy<Provenance> provenance_;
  Lazy<Lifetimes> lifetimes_, longest_lifetimes_;
  Lazy<InUse> in_use_;
  Lazy<std::vector<DevicePeak>> devices_;
  Lazy<std::vector<model::DeviceTraits>> traits_;  // by device
  // By device.
  std::array<Lazy<DeviceMemory>, 256> memories_;
  std::array<Lazy<DeviceRequests>, 256> requests_;
};

// The memory of one device of a process. The Analysis outlives it.
class DeviceAnalysis {
 public:
  DeviceAnalysis(const Analysis& of, DeviceId device) : of_(of), device_(device) {}
  DeviceAnalysis(const DeviceAnalysis&) = delete;
  DeviceAnalysis& operator=(const DeviceAnalysis&) = delete;

  const Analysis& of() const { return of_; }
  DeviceId device() const { return device_; }

  const Timeline& timeline() const;
  // The largest sum from Analysis::since() on.
  const Timeline::Extreme& largest() const;
  // The allocations alive at the peak, and their holders.
  const PeakSet& peak() const;
  // Predicts the peak without some allocations. Cheap to make.
  Replay replay() const { return Replay(of_.lifetimes(), timeline(), of_.since()); }

 private:
  const Analysis& of_;
  const DeviceId device_;
  Lazy<Timeline> timeline_;
  Lazy<Timeline::Extreme> largest_;
  Lazy<PeakSet> peak_;
};

// ---- the memory of each step on one device
struct StepMemory {
  uint32_t index = 0;
  model::Time begin, end;
  model::Bytes begin_live;  // live bytes at its begin
  model::Bytes peak;
  uint64_t allocations = 0;
  model::Bytes allocated;
  uint64_t backward_allocations = 0;
  bool complete = true;  // false: the part after the last step, or the whole run if it has no optimizer
};

std::vector<StepMemory> step_memory(const Analysis& analysis, const Timeline& timeline);

}  // namespace tapelens::peak
