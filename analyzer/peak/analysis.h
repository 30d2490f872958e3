// What every reader of a process wants to have worked out of its columns, each part made once, when it is first asked
// for: the report, the advice, verify, the benches and the window share these.
//
// Any thread may ask for any part; one makes it, others that ask for the same part wait for that one. A part never
// changes once it is made. Parts of parts are made with them (lifetimes need the provenance), in one direction only:
// DeviceAnalysis asks Analysis, never the other way round.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/model/provenance.h"
#include "analyzer/model/steps.h"
#include "analyzer/model/text.h"
#include "analyzer/peak/device_memory.h"
#include "analyzer/peak/holders.h"
#include "analyzer/peak/replay.h"
#include "analyzer/peak/requests.h"
#include "analyzer/peak/timeline.h"

namespace tapelens::peak {

template <class T>
class Lazy {
 public:
  // `make` returns a T. What it throws, the caller gets; the next one to ask makes it again.
  template <class Make>
  const T& get(Make make) const {
    std::call_once(once_, [&] { value_.reset(new const T(make())); });
    return *value_;
  }

 private:
  mutable std::once_flag once_;
  mutable std::unique_ptr<const T> value_;
};

// Whichever device is looked at. The process and the text stay as they are while it lives.
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
  // When the program released each allocation, at the earliest: after its last use.
  const Lifetimes& lifetimes() const;
  // And at the latest: no recording has when a variable released what a save holds as well.
  const Lifetimes& longest_lifetimes() const;
  // One for each device that the process allocated on.
  const std::vector<DevicePeak>& devices() const;
  // Blocks and segments of one of them; of a device that tells of none, nothing.
  const DeviceMemory& memory(DeviceId device) const;
  // What was asked of its allocator; of a device that tells of no segments, nothing.
  const DeviceRequests& requests(DeviceId device) const;

  // What the recorder noted under a key: "torch_version". Empty: nothing.
  std::string_view information(std::string_view key) const;
  // What it noted under a key that it may have noted more than once, in the order of time.
  std::vector<std::string_view> all_information(std::string_view key) const;
  // Likewise, of a number of bytes; allocator::kNoLimit: nothing.
  uint64_t bytes_noted(std::string_view key) const;
  // Likewise, how many there are of something; 0: nothing.
  uint64_t count_noted(std::string_view key) const;
  // The memory that a device has in all, as its driver says, the simulated one or, of the CPU, the system; none: not
  // known.
  std::optional<Bytes> memory_of(DeviceId device) const;
  // The begin of the first step that was watched as a whole (`tapelens record --steps`): before it only memory was, so
  // that nothing there has a holder, and peaks are looked for from here on. Or the end of the steps that were left out,
  // or where the program said that what it wants begins (tapelens.start()).
  Time since() const;

 private:
  const Process& process_;
  const Text& text_;
  Lazy<std::vector<Step>> steps_;
  Lazy<Phases> phases_;
  Lazy<Provenance> provenance_;
  Lazy<Lifetimes> lifetimes_, longest_lifetimes_;
  Lazy<std::vector<DevicePeak>> devices_;
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
  // What was alive then, and why.
  const PeakSet& peak() const;
  // What the peak is without some of it. Cheap to make.
  Replay replay() const { return Replay(of_.lifetimes(), timeline(), of_.since()); }

 private:
  const Analysis& of_;
  const DeviceId device_;
  Lazy<Timeline> timeline_;
  Lazy<Timeline::Extreme> largest_;
  Lazy<PeakSet> peak_;
};

}  // namespace tapelens::peak
