#include "simulated/device/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "simulated/device/state.h"

namespace tapelens::simulated {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kLargePage = size_t{2} << 20;  // of a GPU: what is larger begins at one, as the driver has it

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;  // of all that follows; no other lock is taken while it is held
Range* g_ranges = nullptr;                            // in the order of their addresses
size_t g_count = 0, g_room = 0;
uint64_t g_used[kMostDevices];
bool g_said_no_addresses = false;

// The first range that begins behind the address.
size_t behind(const void* address) {
  size_t low = 0, high = g_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (g_ranges[middle].begin <= static_cast<const char*>(address)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The range that holds the address; null if there is none.
Range* holder(const void* address) {
  const size_t next = behind(address);
  if (next == 0) return nullptr;
  Range* range = &g_ranges[next - 1];
  return static_cast<const char*>(address) < range->begin + range->bytes ? range : nullptr;
}

bool is_on_device(const void* address) {
  const Range range = find_range(address);
  return range.kind == Kind::device || range.kind == Kind::pooled || range.kind == Kind::reserved;
}

}  // namespace

char* map_memory(size_t bytes, size_t alignment) {
  const size_t more = alignment > kPage ? alignment : 0;
  void* mapped =
      mmap(nullptr, bytes + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    say_once(g_said_no_addresses,
             "the system gives the simulated GPU no more address space (ulimit -v, or vm.overcommit_memory=2): this is "
             "reported to the program as out of memory");
    return nullptr;
  }
  char* begin = static_cast<char*>(mapped);
  if (more != 0) {
    char* aligned = begin + (alignment - reinterpret_cast<uintptr_t>(begin) % alignment) % alignment;
    if (aligned != begin) munmap(begin, static_cast<size_t>(aligned - begin));
    if (const size_t rest = static_cast<size_t>(begin + bytes + more - (aligned + bytes)); rest > 0) {
      munmap(aligned + bytes, rest);
    }
    begin = aligned;
  }
  madvise(begin, bytes, MADV_NOHUGEPAGE);  // a tensor of one element must not cost 2 MiB
  return begin;
}

bool take_bytes(int device, uint64_t bytes) {
  const Lock lock(g_mutex);
  if (bytes > settings().bytes - g_used[device]) return false;
  g_used[device] += bytes;
  return true;
}

void give_bytes(int device, uint64_t bytes) {
  const Lock lock(g_mutex);
  g_used[device] -= bytes < g_used[device] ? bytes : g_used[device];
}

uint64_t used_bytes(int device) {
  const Lock lock(g_mutex);
  return g_used[device];
}

void add_range(const Range& range) {
  const Lock lock(g_mutex);
  if (g_count == g_room) {
    g_room = g_room == 0 ? 1024 : 2 * g_room;
    void* larger = std::realloc(g_ranges, g_room * sizeof(Range));
    if (larger == nullptr) abort();
    g_ranges = static_cast<Range*>(larger);
  }
  const size_t at = behind(range.begin);
  std::memmove(g_ranges + at + 1, g_ranges + at, (g_count - at) * sizeof(Range));
  g_ranges[at] = range;
  ++g_count;
}

Range find_range(const void* address) {
  const Lock lock(g_mutex);
  const Range* range = holder(address);
  return range != nullptr ? *range : Range{};
}

Range take_range(const void* address) {
  const Lock lock(g_mutex);
  const Range* range = holder(address);
  if (range == nullptr || range->begin != address) return {};
  const Range taken = *range;
  const size_t at = static_cast<size_t>(range - g_ranges);
  std::memmove(g_ranges + at, g_ranges + at + 1, (g_count - at - 1) * sizeof(Range));
  --g_count;
  return taken;
}

void set_range_device(const void* address, int device) {
  const Lock lock(g_mutex);
  if (Range* range = holder(address)) range->device = device;
}

int allocate(int device, size_t bytes, void** memory) {
  *memory = nullptr;
  if (bytes == 0) return kSuccess;
  begin_context(device);
  const size_t whole = (bytes + kPage - 1) / kPage * kPage;
  if (whole < bytes || !take_bytes(device, whole)) return kOutOfMemory;
  char* begin = map_memory(whole, whole >= kLargePage ? kLargePage : kPage);
  if (begin == nullptr) {
    give_bytes(device, whole);
    return kOutOfMemory;
  }
  add_range({begin, whole, Kind::device, device, true});
  *memory = begin;
  return kSuccess;
}

int release(void* memory) {
  if (memory == nullptr) return kSuccess;
  const Range range = take_range(memory);
  if (range.kind == Kind::none) return kInvalidValue;
  munmap(range.begin, range.bytes);
  if (range.kind == Kind::device) give_bytes(range.device, range.bytes);
  return kSuccess;
}

void copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0 || to == from) return;
  if (bytes <= kKeptBytes) {
    std::memmove(to, from, bytes);
  } else if (!is_on_device(to)) {
    if (is_on_device(from)) {
      std::memset(to, 0, bytes);
    } else {
      std::memmove(to, from, bytes);
    }
  }
}

void fill(void* to, int value, size_t bytes) {
  if (bytes <= kKeptBytes || !is_on_device(to)) std::memset(to, value, bytes);
}

void fill_words(void* to, unsigned value, size_t words) {
  if (words > kKeptBytes / 4 && is_on_device(to)) return;
  for (size_t i = 0; i < words; ++i) std::memcpy(static_cast<char*>(to) + 4 * i, &value, 4);
}

}  // namespace tapelens::simulated
