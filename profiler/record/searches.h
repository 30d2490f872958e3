// When to search the program's variables (`record --referrers`): near the peak of a device, and after an out of memory.
// Follows the live bytes of each device. Without --referrers every function costs one relaxed load. All of them may be
// called under an allocator's lock.
#pragma once

#include <c10/core/Device.h>

#include <atomic>
#include <cstdint>

namespace tapelens::record {

void begin_searches();  // called before the first hook

namespace searches {
extern std::atomic<bool> g_are_wanted;
void is_alive(uint8_t device, uint64_t address, uint64_t bytes) noexcept;
void is_freed(uint64_t address);
void are_alive(c10::Device device, uint64_t bytes);
void memory_ran_out();
inline bool are_wanted() { return g_are_wanted.load(std::memory_order_relaxed); }
}  // namespace searches

// Whether the variable of an address has changed: its last reported name, a string of the recording, is another one.
// Only with --referrers.
bool is_news(uint64_t address, uint32_t name);

// A block. `device`: its number in the recording, if its allocator does not count the live bytes; otherwise 0.
inline void is_alive(uint8_t device, uint64_t address, uint64_t bytes) {
  if (searches::are_wanted()) [[unlikely]]
    searches::is_alive(device, address, bytes);
}
inline void is_freed(uint64_t address) {
  if (searches::are_wanted()) [[unlikely]]
    searches::is_freed(address);
}
// All blocks of a device, counted by its allocator.
inline void are_alive(c10::Device device, uint64_t bytes) {
  if (searches::are_wanted()) [[unlikely]]
    searches::are_alive(device, bytes);
}
// A request for memory has failed, and its record, if any, is written.
void memory_ran_out();

}  // namespace tapelens::record
