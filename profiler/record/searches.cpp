// See searches.h.
#include "profiler/record/searches.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/variables.h"
#include "profiler/record/thread_state.h"

namespace tapelens::record {

std::atomic<bool> searches::g_are_wanted{false};

namespace {

constexpr int64_t kLeast = 1 << 20;  // a device with less is not searched for
constexpr int64_t kPart = 20;        // 5 % more than at the last search is a new peak, up to 5 % less is near it
constexpr uint64_t kBetween = 19;    // time between two searches near a peak, as a multiple of the last one's time

// The processor time of a thread for searches, in nanoseconds: a fixed one, and a share of all time. So a program that
// fills a device in its first second is searched, and one that runs long spends little.
struct SearchTime {
  uint64_t fixed, divisor;
  uint64_t spent = 0;

  bool allows(uint64_t elapsed) const { return spent <= fixed + elapsed / divisor; }
};

struct Device {
  std::atomic<int64_t> live{0};
  std::atomic<int64_t> searched{0};  // the most that was alive at a search

  bool is_near() const {
    const int64_t most = searched.load(std::memory_order_relaxed);
    return live.load(std::memory_order_relaxed) >= std::max(kLeast, most - most / kPart);
  }
  bool has_grown() const {
    const int64_t most = searched.load(std::memory_order_relaxed);
    return live.load(std::memory_order_relaxed) >= std::max(kLeast, most + most / kPart);
  }
};

struct LiveBlock {
  uint64_t bytes = 0;
  uint8_t device = 0;
  uint32_t variable = 0;  // its last reported name
};

struct Shard {
  base::Mutex lock;
  std::unordered_map<uint64_t, LiveBlock> blocks TAPELENS_GUARDED_BY(lock);  // by address
};

constexpr size_t kShards = 64, kCounted = 64;  // a power of two; devices whose allocator counts, from this slot on

struct Searches {
  std::array<Device, 2 * kCounted> devices;
  std::array<Shard, kShards> shards;
  std::atomic<bool> ran_out{false};
  std::atomic_flag is_searching = ATOMIC_FLAG_INIT;
  // Accessed by the searching thread only.
  uint64_t started = trace::monotonic_ns();
  uint64_t begin = 0;        // processor time of the thread at the begin of the search
  uint64_t end = 0;          // end of the last search
  uint64_t owed = 0;         // processor time of the searches since the last wait
  bool is_repeated = false;  // the next safe point searches again: the result has its variable there
  SearchTime near_peak{1'000'000'000, 20}, out_of_memory{2'000'000'000, 5};
  SearchTime* paying = nullptr;  // the budget of the last search

  Shard& shard_of(uint64_t address) { return shards[observe::slot_of(address, kShards)]; }
};
Searches& all() {
  static auto* made = new Searches;
  return *made;
}

uint64_t processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void may_be_due() {
  if (!observe::g_search_may_be_due.load(std::memory_order_relaxed)) {
    observe::g_search_may_be_due.store(true, std::memory_order_relaxed);
  }
}

void add(size_t slot, int64_t bytes) {
  Device& device = all().devices[slot];
  device.live.fetch_add(bytes, std::memory_order_relaxed);
  if (bytes > 0 && device.is_near()) may_be_due();
}

Search reason(Searches& s, uint64_t now, bool is_near, bool has_grown) {
  if (s.ran_out.load() && s.out_of_memory.allows(now - s.started)) {
    s.ran_out.store(false);
    s.paying = &s.out_of_memory;
    return Search::out_of_memory;
  }
  s.ran_out.store(false);
  if (!is_near || !s.near_peak.allows(now - s.started)) return Search::none;
  if (!has_grown && !s.is_repeated && now - s.end < kBetween * s.owed) return Search::none;
  s.paying = &s.near_peak;
  return Search::peak;
}

}  // namespace

void begin_searches() {
  (void)all();
  searches::g_are_wanted.store(true, std::memory_order_relaxed);
  observe::g_searches_variables = true;
}

void searches::is_alive(uint8_t device, uint64_t address, uint64_t bytes) noexcept {
  if (device >= kCounted) return;
  try {
    Shard& shard = all().shard_of(address);
    const base::MutexLock guard(shard.lock);
    shard.blocks[address] = {bytes, device};
  } catch (...) {  // no memory for the entry: the block is not counted, and the program keeps it
    return;
  }
  if (device != 0) add(device, static_cast<int64_t>(bytes));
}

void searches::is_freed(uint64_t address) {
  LiveBlock block;
  {
    Shard& shard = all().shard_of(address);
    const base::MutexLock guard(shard.lock);
    const auto at = shard.blocks.find(address);
    if (at == shard.blocks.end()) return;
    block = at->second;
    shard.blocks.erase(at);
  }
  if (block.device != 0) add(block.device, -static_cast<int64_t>(block.bytes));
}

void searches::are_alive(c10::Device device, uint64_t bytes) {
  const auto index = static_cast<size_t>(std::max<int>(0, device.index()));
  if (index >= kCounted) return;
  Device& of = all().devices[kCounted + index];
  of.live.store(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  if (of.is_near()) may_be_due();
}

void searches::memory_ran_out() {
  all().ran_out.store(true);
  may_be_due();
}

void memory_ran_out() {
  g_spool.memory_ran_out();
  if (searches::are_wanted()) searches::memory_ran_out();
}

// Also keeps the names of memory that no watched allocator made.
bool is_news(uint64_t address, uint32_t name) {
  Shard& shard = all().shard_of(address);
  const base::MutexLock guard(shard.lock);
  return std::exchange(shard.blocks[address].variable, name) != name;
}

// ---- observers.h

Search search_begins(observe::SafePoint at) {
  Searches& s = all();
  if (s.is_searching.test_and_set(std::memory_order_acquire)) return Search::none;
  const bool is_near = std::ranges::any_of(s.devices, &Device::is_near);
  const bool has_grown = is_near && std::ranges::any_of(s.devices, &Device::has_grown);
  const uint64_t now = trace::monotonic_ns();
  const Search why = reason(s, now, is_near, has_grown);
  if (why == Search::none) {
    s.is_repeated = false;
    // A device that comes near its peak meanwhile is noticed at its next allocation.
    if (!is_near) observe::g_search_may_be_due.store(false);
    if (s.ran_out.load()) may_be_due();
    s.is_searching.clear(std::memory_order_release);
    return why;
  }
  if (!s.is_repeated) s.owed = 0;
  s.is_repeated = !s.is_repeated && at == observe::SafePoint::end;
  s.begin = processor_time();
  return why;
}

void search_ends() {
  Searches& s = all();
  s.end = trace::monotonic_ns();
  const uint64_t took = processor_time() - s.begin;
  s.owed += took;
  s.paying->spent += took;
  for (Device& device : s.devices) {
    const int64_t live = device.live.load(std::memory_order_relaxed);
    if (live > device.searched.load(std::memory_order_relaxed)) device.searched.store(live, std::memory_order_relaxed);
  }
  s.is_searching.clear(std::memory_order_release);
}

}  // namespace tapelens::record
