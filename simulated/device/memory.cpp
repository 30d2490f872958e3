#include "simulated/device/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "simulated/device/activities.h"
#include "simulated/device/state.h"

namespace tapelens::simulated {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kLargePage = size_t{2} << 20;  // page of a GPU: larger ranges begin at such a page, as in the driver

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;  // guards all that follows; a leaf lock
MemoryRange* g_ranges = nullptr;                      // in address order
size_t g_count = 0, g_room = 0;
uint64_t g_used[kMostDevices];
bool g_said_no_addresses = false;

// The index of the first range that begins after the address.
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

// The range that contains the address; null if none.
MemoryRange* holder(const void* address) {
  const size_t next = behind(address);
  if (next == 0) return nullptr;
  MemoryRange* range = &g_ranges[next - 1];
  return static_cast<const char*>(address) < range->begin + range->bytes ? range : nullptr;
}

// Zeroes the memory. For a large range, whole pages are returned to the system, which is free for untouched pages; the
// ends share pages with other blocks.
void clear(char* begin, size_t bytes) {
  if (bytes <= kKeptBytes) {
    std::memset(begin, 0, bytes);
    return;
  }
  char* const end = begin + bytes;
  const size_t before = (kPage - reinterpret_cast<uintptr_t>(begin) % kPage) % kPage;
  const size_t after = reinterpret_cast<uintptr_t>(end) % kPage;
  std::memset(begin, 0, before);
  std::memset(end - after, 0, after);
  madvise(begin + before, bytes - before - after, MADV_DONTNEED);
}

// The known flags of a part of a GPU's range. Null if the range has none.
char* known_of(const MemoryRange& range, const void* memory, size_t bytes) {
  if (range.known == nullptr) return nullptr;
  const auto offset = static_cast<size_t>(static_cast<const char*>(memory) - range.begin);
  return bytes <= range.bytes - offset ? range.known + offset : nullptr;
}

void set_known(const MemoryRange& range, const void* memory, size_t bytes, bool known) {
  char* const flags = known_of(range, memory, bytes);
  if (flags == nullptr || bytes == 0) return;
  if (known) {
    std::memset(flags, 1, bytes);
  } else {
    clear(flags, bytes);
  }
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
  madvise(begin, bytes, MADV_NOHUGEPAGE);  // a tensor with one element must not use 2 MiB
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

void add_range(const MemoryRange& range) {
  MemoryRange added = range;
  if (range.is_on_device()) added.known = map_memory(range.bytes, 1);
  const Lock lock(g_mutex);
  if (g_count == g_room) {
    g_room = g_room == 0 ? 1024 : 2 * g_room;
    void* larger = std::realloc(g_ranges, g_room * sizeof(MemoryRange));
    if (larger == nullptr) abort();
    g_ranges = static_cast<MemoryRange*>(larger);
  }
  const size_t at = behind(range.begin);
  std::memmove(g_ranges + at + 1, g_ranges + at, (g_count - at) * sizeof(MemoryRange));
  g_ranges[at] = added;
  ++g_count;
}

MemoryRange find_range(const void* address) {
  const Lock lock(g_mutex);
  const MemoryRange* range = holder(address);
  return range != nullptr ? *range : MemoryRange{};
}

MemoryRange take_range(const void* address) {
  const Lock lock(g_mutex);
  const MemoryRange* range = holder(address);
  if (range == nullptr || range->begin != address) return {};
  const MemoryRange taken = *range;
  const size_t at = static_cast<size_t>(range - g_ranges);
  std::memmove(g_ranges + at, g_ranges + at + 1, (g_count - at - 1) * sizeof(MemoryRange));
  --g_count;
  if (taken.known != nullptr) munmap(taken.known, taken.bytes);
  return taken;
}

void set_range_device(const void* address, int device) {
  const Lock lock(g_mutex);
  if (MemoryRange* range = holder(address)) range->device = device;
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
  tell_memory({true, ActivityMemory::device, begin, whole, device, false});
  *memory = begin;
  return kSuccess;
}

int release(void* memory) {
  if (memory == nullptr) return kSuccess;
  const MemoryRange range = take_range(memory);
  if (range.kind == Kind::none) return kInvalidValue;
  if (range.kind != Kind::reserved) {
    const auto kind = range.kind == Kind::device    ? ActivityMemory::device
                      : range.kind == Kind::managed ? ActivityMemory::managed
                                                    : ActivityMemory::pinned;
    tell_memory({false, kind, range.begin, range.bytes, range.device, false});
  }
  munmap(range.begin, range.bytes);
  if (range.kind == Kind::device) give_bytes(range.device, range.bytes);
  return kSuccess;
}

void make_new(void* memory, size_t bytes) {
  clear(static_cast<char*>(memory), bytes);
  set_known(memory, bytes, false);
}

bool is_known(const void* memory, size_t bytes) {
  const char* const flags = known_of(find_range(memory), memory, bytes);
  return flags != nullptr && (bytes == 0 || std::memchr(flags, 0, bytes) == nullptr);
}

void set_known(void* memory, size_t bytes, bool known) { set_known(find_range(memory), memory, bytes, known); }

namespace {
thread_local Pieces t_pieces{};
}  // namespace

void repeat_next_copy(const Pieces& pieces) { t_pieces = pieces; }

void copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0 || to == from) return;
  const Pieces pieces = t_pieces;
  t_pieces = {};
  const MemoryRange target = find_range(to), source = find_range(from);
  const bool is_kept = bytes <= kKeptBytes;
  if (is_kept || (!target.is_on_device() && !source.is_on_device())) std::memmove(to, from, bytes);
  if (target.is_on_device()) {
    char* const flags = known_of(target, to, bytes);
    const char* const source_flags = known_of(source, from, bytes);
    if (is_kept && source_flags != nullptr && flags != nullptr) {
      std::memmove(flags, source_flags, bytes);
    } else {
      set_known(target, to, bytes, is_kept && !source.is_on_device());
    }
  } else if (source.is_on_device()) {
    if (!is_kept && target.kind == Kind::pinned && target.is_ours) {
      clear(static_cast<char*>(to), bytes);  // takes no memory of this machine
    } else if (!is_kept) {
      std::memset(to, 0, bytes);
    }
    if (!is_kept || !is_known(from, bytes)) tell_read(bytes);
  }
  if (pieces.count == 0 || bytes != pieces.bytes || to != pieces.all + static_cast<size_t>(pieces.own) * bytes) return;
  for (int i = 0; i < pieces.count; ++i) copy(pieces.all + static_cast<size_t>(i) * bytes, to, bytes);
}

void fill(void* to, int value, size_t bytes) {
  const MemoryRange target = find_range(to);
  if (bytes <= kKeptBytes || !target.is_on_device()) std::memset(to, value, bytes);
  set_known(target, to, bytes, bytes <= kKeptBytes);
}

void fill_words(void* to, unsigned value, size_t words) {
  const MemoryRange target = find_range(to);
  const bool is_kept = words <= kKeptBytes / 4;
  set_known(target, to, 4 * words, is_kept);
  if (!is_kept && target.is_on_device()) return;
  for (size_t i = 0; i < words; ++i) std::memcpy(static_cast<char*>(to) + 4 * i, &value, 4);
}

}  // namespace tapelens::simulated
