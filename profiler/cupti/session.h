// A session with CUPTI: from the subscription to the end, or until another client wants it. One at a time in a process,
// since CUPTI's callbacks carry no data of ours.
//
// Buffers are ours. CUPTI fills them and gives them back on a thread of its own, five times a second or as they are
// full, or on the thread that flushes; what is in them is told to the Sink then, one buffer at a time. Records may come
// in any order.
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
  std::string_view library;  // that asked for it: its path; empty: not known
};

// What a session tells. Called by one thread at a time, by any; must not throw.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void happened(std::span<const Activity> activities) = 0;
  virtual void dropped(uint64_t records) = 0;  // CUPTI had no room for them
};

// From CUPTI's functions, wherever they come from. The sink outlives the process. Empty, or one sentence that says why
// there is no session; then CUPTI is as it was before.
std::string begin(const Functions& functions, Sink& sink);
// Another client wants CUPTI: all is told, and CUPTI is as it was before. False if there was no session.
bool give_way();
// The process ends: all is told.
void finish();

}  // namespace tapelens::cupti
