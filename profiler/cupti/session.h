// A session with CUPTI: from the subscription to the end, or until another client wants it. One at a time in a process,
// because CUPTI's callbacks carry no user data.
//
// Two sources:
//   activities. CUPTI fills our buffers. It returns them on its own thread when they are full, else on the thread that
//   flushes: the thread of delivery.h flushes five times a second. The SessionObserver gets their content then, one
//   buffer at a time. Records may be in any order. callbacks, on the thread that calls CUDA: at the begin of functions
//   that allocate memory, and at the end of functions for virtual memory, which have no activities. That thread may
//   hold any lock of the program.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "profiler/cupti/layout.h"

namespace tapelens::cupti {

// The driver allocated or freed memory.
struct Activity {
  bool is_allocation;
  MemoryKind kind;
  uint32_t device;  // numbered as CUDA numbers the visible devices
  uint64_t address;
  uint64_t bytes;
  uint64_t happened_ns;  // CLOCK_MONOTONIC
  uint32_t call;  // also passed to SessionObserver::called(), before or after, if the call began during the session
  std::string_view library;  // path of the library that requested it; empty: not known
};

// The size of a device's memory pool at a point of time.
struct PoolState {
  bool is_destroyed;
  uint32_t device;
  uint64_t address;         // identifies the pool
  uint64_t reserved, used;  // bytes
  uint64_t happened_ns;
};

// Physical memory lives as long as it has unreleased handles or mappings.
struct VirtualMemory {
  enum class Change : uint8_t { created, retained, released, mapped, unmapped };
  Change change;
  uint32_t device = 0;  // of `created`
  uint64_t handle = 0;  // 0 for `unmapped`
  uint64_t address = 0;
  uint64_t bytes = 0;  // of `created`; of `unmapped`: every mapping that starts there
  uint64_t happened_ns = 0;
  uint32_t call = 0;         // of `created`
  std::string_view library;  // likewise, as in Activity
};

// Receives the events of a session. Must not throw. All but called() are called by one thread at a time, by any thread.
class SessionObserver {
 public:
  virtual ~SessionObserver() = default;
  virtual void happened(std::span<const Activity> activities) = 0;
  virtual void were(std::span<const PoolState> pools) = 0;
  virtual void dropped(uint64_t records) = 0;  // CUPTI had no room for these records
  // Called by the thread that calls CUDA: the call with this number, which is never 0, begins. It may allocate nothing,
  // and may be reported repeatedly.
  virtual void called(uint32_t call) = 0;
  virtual void changed(const VirtualMemory& memory) = 0;  // likewise, at the call's end
};

// Finds the CUPTI of this process: the functions of the copy that PyTorch loaded, else of any loaded copy. None if no
// copy is loaded, or if it lacks a needed function: a second copy, loaded here, would be separate from the program's
// CUPTI.
std::optional<Functions> find_functions();

// Begins a session with these functions. The sink must outlive the process. Returns an empty string, or one sentence
// with the reason of a failure, after which CUPTI is as before.
std::string begin(const Functions& functions, SessionObserver& sink);
// Another client wants CUPTI: reports all remaining events and restores CUPTI. False without a session.
bool give_way();
// The process ends: reports all remaining events.
void finish();

}  // namespace tapelens::cupti
