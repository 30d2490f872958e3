// A session with CUPTI: from the subscription to the end, or until another client wants it. One at a time in a process,
// since CUPTI's callbacks carry no data of ours.
//
// Two sources:
//   activities. Buffers are ours. CUPTI fills them and gives them back on a thread of its own, five times a second or
//   as they are full, or on the thread that flushes; what is in them is told to the Sink then, one buffer at a time.
//   Records may come in any order. callbacks, on the thread that calls CUDA, as functions that hand out memory begin,
//   and of virtual memory, of which there are no activities, as they end. That thread may have any lock of the
//   program's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "profiler/cupti/layout.h"

namespace tapelens::cupti {

// The driver handed memory out, or took it back.
struct Activity {
  bool is_allocation;
  MemoryKind kind;
  uint32_t device;  // as CUDA numbers those that the process sees
  uint64_t address;
  uint64_t bytes;
  uint64_t happened_ns;      // CLOCK_MONOTONIC
  uint32_t call;             // Sink::called() was told of it, or will be, if it was made while the session was on
  std::string_view library;  // that asked for it: its path; empty: not known
};

// What a pool of a device's memory had at a moment.
struct PoolState {
  bool is_destroyed;
  uint32_t device;
  uint64_t address;         // names the pool
  uint64_t reserved, used;  // bytes
  uint64_t happened_ns;
};

// Physical memory: it lives as long as there are handles that were not released, or mappings.
struct VirtualMemory {
  enum class Change : uint8_t { created, retained, released, mapped, unmapped };
  Change change;
  uint32_t device = 0;  // of `created`
  uint64_t handle = 0;  // not of `unmapped`
  uint64_t address = 0;
  uint64_t bytes = 0;  // of `created`; of `unmapped`: every mapping that begins there
  uint64_t happened_ns = 0;
  uint32_t call = 0;         // of `created`
  std::string_view library;  // likewise, as in Activity
};

// What a session tells. Must not throw. All but called() by one thread at a time, by any.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void happened(std::span<const Activity> activities) = 0;
  virtual void were(std::span<const PoolState> pools) = 0;
  virtual void dropped(uint64_t records) = 0;  // CUPTI had no room for them
  // By the thread that calls CUDA: the call of that number, which is never 0, begins. It may hand out nothing, and be
  // told of more than once.
  virtual void called(uint32_t call) = 0;
  virtual void changed(const VirtualMemory& memory) = 0;  // likewise, at its end
};

// From CUPTI's functions, wherever they come from. The sink outlives the process. Empty, or one sentence that says why
// there is no session; then CUPTI is as it was before.
std::string begin(const Functions& functions, Sink& sink);
// Another client wants CUPTI: all is told, and CUPTI is as it was before. False if there was no session.
bool give_way();
// The process ends: all is told.
void finish();

}  // namespace tapelens::cupti
