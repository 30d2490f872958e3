// Predicts a device's reserved bytes with findings fixed and under other settings, and finds changes that make a
// recording fit into a number of bytes. It replays the program's requests to the allocator. The replay of the unchanged
// requests must equal the recording exactly (peak/requests.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/peak/analysis.h"
#include "analyzer/peak/reserved.h"

namespace tapelens::advise {

using namespace model;

struct Advice;
struct TimelineChange;
struct RewrittenRun;

// A value of PYTORCH_CUDA_ALLOC_CONF.
struct SettingTried {
  std::string settings;  // the whole value, with the program's own settings:
                         // "max_split_size_mb:64,expandable_segments:True"
  Bytes reserved_peak;   // counts requests that found memory
  bool is_served = true;
};

// Changes with which all requests find memory. Each of them is necessary.
struct Way {
  std::vector<size_t> findings;  // indices into Advice::findings, ascending
  std::string settings;          // as in SettingTried; empty: unchanged
  Bytes reserved_peak;           // with rewrites: an upper bound
  std::string rewrites;          // options of `tapelens run`: "--apply lossless"; empty: none

  size_t changes() const { return findings.size() + (settings.empty() ? 0 : 1) + (rewrites.empty() ? 0 : 1); }
};

struct Fits {
  Bytes card;  // capacity for segments
  // The first request that finds no memory without changes; none: the recording fits.
  struct Failure {
    Time time;
    Bytes bytes, reserved;  // the block's size; the bytes of all segments then
  };
  std::optional<Failure> failed;
  std::vector<Way> ways;  // the fewest changes first; empty: no tried change is enough
  // The recording itself ran out of memory there; the program's later requests are unknown.
  bool ends_out_of_memory = false;
  uint64_t steps_before = 0;  // completed steps before that
};

struct AllocatorAdvice {
  std::string settings;       // the program's settings; empty: none
  std::string differs;        // the reason why figures are missing; empty: the figures are valid
  uint64_t compared = 0;      // events that equal the recording in the replay
  std::optional<Bytes> card;  // capacity for segments in the recorded run, if known
  Bytes reserved_before;
  Bytes reserved_after_all;         // with the findings fixed that Advice::peak_after_all excludes
  std::vector<SettingTried> tried;  // the lowest first; among equal ones the smallest change first
  std::optional<Fits> fits;

  bool is_known() const { return differs.empty(); }
  // The tried settings that reserve least, if that is at least 1 % less than before; null: no such settings.
  const SettingTried* better() const;
};

// Sets a key: "expandable_segments:True" replaces any other value of this key.
std::string with_setting(std::string_view settings, std::string_view key_and_value);

struct AllocatorWanted {
  std::optional<Bytes>
      fits{};  // the bytes of a card to fit into; none: computed only if the recording ran out of memory
};

// The most bytes that the device's allocator reserves with these rewrites, on a card without limit. None: the replay of
// its requests differs from the recording, or it reports no segments.
std::optional<Bytes> reserved_with(const peak::DeviceAnalysis& device, const RewrittenRun& rewritten);

// The changes of the rewrites (advice.h). Called only if a recording has to fit; may be empty.
using RewrittenRuns = std::function<std::vector<RewrittenRun>()>;

// None: the device's allocator reports no segments.
std::optional<AllocatorAdvice> allocator_advice(const peak::DeviceAnalysis& device, const Advice& advice,
                                                std::span<const TimelineChange> changes, const AllocatorWanted& wanted,
                                                const RewrittenRuns& rewritten,
                                                const std::function<void(std::string_view, double)>& progress);

}  // namespace tapelens::advise
