// Memory of a device that PyTorch's allocator knows nothing of, by the library that took it (`tapelens record
// --cupti`), and how it adds up to what was in use.
//
// The recording has each allocation of the driver's, physical memory (cuMemCreate) among them: PyTorch's segments are
// among those, known by the addresses at which they are, and are left out here. What was there before the recording was
// told of it (CUDA's context above all), and what the driver takes for itself, is in no allocation: it is what remains
// of the bytes in use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/text.h"
#include "analyzer/peak/device_memory.h"

namespace tapelens::peak {

// Where the program was on the thread on which a library asked.
struct OutsidePlace {
  std::string op;      // innermost: "aten::addmm"
  std::string module;  // empty: outside of modules
  std::string source;  // "train.py:42 forward"; empty: it has no stack
};

struct OutsideLibrary {
  std::string library;  // the path; empty: not known
  Bytes at_peak;        // alive at the moment that is asked for
  Bytes peak;           // the most of it at one time
  uint64_t allocations = 0;
  std::optional<OutsidePlace> first;  // of the first that was asked for in an operator; none: no such is known
};

// What pools of the driver's (cudaMallocAsync) have: what of it is handed out is a library's.
struct OutsidePools {
  Bytes reserved, unused;  // at the moment that is asked for
  Bytes unused_peak;       // the most at one time
};

// All of what was in use by all processes at the moment at which most was.
struct DeviceUse {
  Time time;
  Bytes total;  // of the device
  Bytes used;
  Bytes reserved;       // PyTorch's segments
  Bytes outside;        // what libraries took
  Bytes unused;         // in pools
  Bytes rest() const {  // not accounted for
    return {used.value - reserved.value - outside.value - unused.value};
  }
};

struct Outside {
  std::vector<OutsideLibrary> libraries;  // the most at the moment first
  Bytes at_peak, peak;                    // of all of them
  Time peak_time;
  std::optional<OutsidePools> pools;  // none: no pool was told of
  Bytes host_peak;                    // pinned memory of the host, by all libraries, PyTorch among them
  uint64_t unmatched = 0;             // frees of what was there before, or whose allocation was dropped
  std::optional<Time> until;          // another tool took CUPTI: nothing is known after
  std::optional<DeviceUse> use;       // none: NVML did not say
};

// None if the recording has nothing of it (it was made without `--cupti`, or CUPTI refused). `memory`: of the device.
std::optional<Outside> outside_memory(const Process& process, const model::Text& text, DeviceId device,
                                      const DeviceMemory& memory, Time moment);

}  // namespace tapelens::peak
