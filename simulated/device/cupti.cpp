// CUPTI: memory activities (MEMORY2, MEMORY_POOL) of simulated calls, for the client that enables them. The device runs
// no kernels, so torch.profiler works without kernel times.
//
// As in CUPTI, the client provides the buffers. A worker thread returns full buffers, and a flush returns all of them.
// A period for flushes has no effect on buffers that are not full (cupti_activity.h). A client that registers callbacks
// replaces those of the previous client. Tests can request optional behavior of CUPTI, and failures that a machine may
// have: cupti.h.
#include "simulated/device/cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "simulated/device/activities.h"
#include "simulated/device/state.h"

using namespace tapelens::simulated;

namespace {

constexpr int kMemory2 = 49;         // CUPTI_ACTIVITY_KIND_MEMORY2
constexpr int kMemoryPool = 50;      // CUPTI_ACTIVITY_KIND_MEMORY_POOL
constexpr uint32_t kUnknown = 9999;  // a kind unknown to every client
constexpr uint32_t kNone = 0xffffffffU;
constexpr size_t kFew = 4;  // records in a buffer, if tests want several buffers

// CUpti_ActivityMemory4. Without `source` up to CUDA 12.7.
struct Memory {
  uint32_t kind, operation, memory_kind, correlation;
  uint64_t address, bytes, timestamp, counter;
  uint32_t process, device, context, stream;
  const char* name;
  uint32_t is_async, padding, pool_type, pool_padding;
  uint64_t pool, threshold, reserved, used;
  const char* source;
};
static_assert(sizeof(Memory) == 128);
// CUpti_ActivityMemoryPool3
struct Pool {
  uint32_t kind, operation, type, correlation, process, device;
  uint64_t kept, address, reserved, threshold, timestamp, used, managed;
};
static_assert(sizeof(Pool) == 80);
constexpr uint32_t kLocal = 1;  // CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL
constexpr unsigned kSourceSince = 26;

using Request = void (*)(unsigned char** buffer, size_t* bytes, size_t* most);
using Complete = void (*)(void* context, uint32_t stream, unsigned char* buffer, size_t bytes, size_t valid);

struct Buffer {
  unsigned char* memory;
  size_t bytes, used, records;
};

constexpr size_t kMostWaiting = 64;
constexpr size_t kMostSources = 256;

// This lock is not held during calls of the client.
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t g_delivery = PTHREAD_MUTEX_INITIALIZER;  // serializes deliveries; g_mutex is taken while it is held
pthread_cond_t g_wake = PTHREAD_COND_INITIALIZER;
Request g_request;
Complete g_complete;
Buffer g_open;
Buffer g_waiting[kMostWaiting];
size_t g_waiting_count;
uint64_t g_dropped, g_buffers;
bool g_is_enabled, g_tells_pools, g_names_sources, g_has_worker;
const char* g_sources[kMostSources];
size_t g_source_count;

// Up to CUDA 12.9 a count, later derived from CUDA's version.
unsigned version() {
  if (cupti_wanted().no_memory2) return 13;  // CUDA 11.0
  if (cupti_wanted().no_source) return 24;   // CUDA 12.4
  const uint64_t cuda = settings().cuda;
  if (cuda >= 13000) return static_cast<unsigned>(cuda / 1000 * 10000 + cuda % 1000 / 10 * 100);
  constexpr unsigned kOf12[] = {19, 19, 20, 21, 22, 23, 24, 24, 26, 28};  // 12.0 and later
  const uint64_t minor = cuda % 1000 / 10;
  return kOf12[minor < 10 ? minor : 9];
}

size_t record_bytes(uint32_t kind) {
  if (kind == kMemoryPool) return sizeof(Pool);
  if (kind == kUnknown) return sizeof(uint64_t);
  return version() >= kSourceSince ? sizeof(Memory) : sizeof(Memory) - sizeof(char*);
}

uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000U + static_cast<uint64_t>(now.tv_nsec);
}

// An interned text: clients keep the pointer.
const char* kept(const char* text) {
  for (size_t i = 0; i < g_source_count; ++i) {
    if (std::strcmp(g_sources[i], text) == 0) return g_sources[i];
  }
  if (g_source_count == kMostSources) return nullptr;
  const char* copy = strdup(text);
  if (copy != nullptr) g_sources[g_source_count++] = copy;
  return copy;
}

// Called without the lock, because the loader has its own locks.
const char* caller() {
  if (caller_name() != nullptr) return caller_name();
  Dl_info found;
  if (caller_address() == nullptr || dladdr(caller_address(), &found) == 0) return nullptr;
  return found.dli_fname;
}

uint32_t kind_at(const unsigned char* record) {
  uint32_t kind = 0;
  std::memcpy(&kind, record, sizeof(kind));
  return kind;
}

// Reverses the order of the records.
void reverse(Buffer& buffer) {
  auto* copy = static_cast<unsigned char*>(std::malloc(buffer.used));
  if (copy == nullptr) return;
  std::memcpy(copy, buffer.memory, buffer.used);
  size_t from = 0, to = buffer.used;
  while (from < buffer.used) {
    const size_t size = record_bytes(kind_at(copy + from));
    to -= size;
    std::memcpy(buffer.memory + to, copy + from, size);
    from += size;
  }
  std::free(copy);
}

// Requires the lock: moves the open buffer to the waiting ones.
void close_buffer() {
  if (g_open.memory == nullptr) return;
  if (g_waiting_count == kMostWaiting) {  // the client does not take them
    g_dropped += g_open.records;
    g_open.used = g_open.records = 0;
    return;
  }
  if (cupti_wanted().reversed) reverse(g_open);
  if (cupti_wanted().drops && g_buffers++ % 2 == 1) {
    g_dropped += g_open.records;
    g_open.used = g_open.records = 0;
  }
  g_waiting[g_waiting_count++] = g_open;
  g_open = {};
}

// Requires the lock, and releases it temporarily.
bool open_buffer() {
  if (g_open.memory != nullptr) return true;
  const Request request = g_request;
  if (request == nullptr) return false;
  Buffer got{};
  size_t most = 0;
  pthread_mutex_unlock(&g_mutex);
  request(&got.memory, &got.bytes, &most);
  pthread_mutex_lock(&g_mutex);
  if (got.memory == nullptr) return false;
  if (g_open.memory == nullptr) {
    g_open = got;
  } else if (g_waiting_count < kMostWaiting) {
    g_waiting[g_waiting_count++] = got;  // another thread was faster: return the buffer empty
  }
  return true;
}

void append(const void* record, size_t size) {
  const bool is_few = cupti_wanted().reversed || cupti_wanted().drops;
  if (g_open.memory != nullptr && (g_open.used + size > g_open.bytes || (is_few && g_open.records == kFew))) {
    close_buffer();
    pthread_cond_signal(&g_wake);
  }
  if (!open_buffer() || g_open.used + size > g_open.bytes) {
    ++g_dropped;
    return;
  }
  std::memcpy(g_open.memory + g_open.used, record, size);
  g_open.used += size;
  ++g_open.records;
}

// Passes the waiting buffers to the client.
void deliver() {
  const Lock one(g_delivery);
  Buffer taken[kMostWaiting];
  size_t count = 0;
  Complete complete;
  {
    const Lock lock(g_mutex);
    count = g_waiting_count;
    std::memcpy(taken, g_waiting, count * sizeof(Buffer));
    g_waiting_count = 0;
    complete = g_complete;
  }
  if (complete == nullptr) return;
  for (size_t i = 0; i < count; ++i) {
    const Buffer& buffer = taken[cupti_wanted().reversed ? count - 1 - i : i];
    complete(nullptr, 0, buffer.memory, buffer.bytes, buffer.used);
  }
}

void* work(void*) {
  for (;;) {
    {
      const Lock lock(g_mutex);
      while (g_waiting_count == 0) pthread_cond_wait(&g_wake, &g_mutex);
    }
    deliver();
  }
  return nullptr;
}

// Passes a record to the client if its kind is enabled.
template <class Record>
void tell(const Record& record) {
  if (cupti_wanted().unknown) {
    Record other{};
    other.kind = kUnknown;
    append(&other, record_bytes(kUnknown));
  }
  append(&record, record_bytes(record.kind));
}

}  // namespace

void tapelens::simulated::tell_memory(const MemoryActivity& activity) {
  if (!__atomic_load_n(&g_is_enabled, __ATOMIC_RELAXED)) return;
  const char* const source = activity.is_allocation ? caller() : nullptr;
  const uint32_t number = correlation();
  const Lock lock(g_mutex);
  if (!g_is_enabled) return;
  Memory told{};
  told.kind = kMemory2;
  told.operation = activity.is_allocation ? 1 : 2;
  told.memory_kind = static_cast<uint32_t>(activity.kind);
  told.correlation = number;
  told.address = reinterpret_cast<uintptr_t>(activity.address);
  told.bytes = activity.bytes;
  told.timestamp = now_ns();
  told.counter = reinterpret_cast<uintptr_t>(caller_address());
  told.process = static_cast<uint32_t>(getpid());
  told.device = static_cast<uint32_t>(activity.device);
  told.context = 1;
  told.stream = activity.is_async ? 7 : kNone;
  told.is_async = activity.is_async ? 1 : 0;
  told.source = source != nullptr && g_names_sources ? kept(source) : nullptr;
  if (activity.pool.pool != nullptr) {
    told.pool_type = kLocal;
    told.pool = reinterpret_cast<uintptr_t>(activity.pool.pool);
    told.threshold = activity.pool.threshold;
    told.reserved = activity.pool.reserved;
    told.used = activity.pool.used;
  }
  tell(told);
}

void tapelens::simulated::tell_pool(PoolOperation operation, int device, const PoolNow& pool, uint64_t kept) {
  if (!__atomic_load_n(&g_tells_pools, __ATOMIC_RELAXED)) return;
  const uint32_t number = correlation();
  const Lock lock(g_mutex);
  if (!g_tells_pools) return;
  Pool told{};
  told.kind = kMemoryPool;
  told.operation = static_cast<uint32_t>(operation);
  told.type = kLocal;
  told.correlation = number;
  told.process = static_cast<uint32_t>(getpid());
  told.device = static_cast<uint32_t>(device);
  told.kept = kept;
  told.address = reinterpret_cast<uintptr_t>(pool.pool);
  told.reserved = pool.reserved;
  told.threshold = pool.threshold;
  told.timestamp = now_ns();
  told.used = pool.used;
  tell(told);
}

TAPELENS_CUDA int cuptiGetVersion(unsigned* to) {
  *to = version();
  return kCuptiSuccess;
}

TAPELENS_CUDA int cuptiGetResultString(int result, const char** text) {
  switch (result) {
    case kCuptiSuccess:
      *text = "CUPTI_SUCCESS";
      break;
    case kCuptiInvalidKind:
      *text = "CUPTI_ERROR_INVALID_KIND";
      break;
    case kCuptiNotPermitted:
      *text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
      break;
    case kCuptiHeld:
      *text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
      break;
    default:
      *text = "CUPTI_ERROR_UNKNOWN";
  }
  return kCuptiSuccess;
}

TAPELENS_CUDA int cuptiActivityRegisterCallbacks(Request request, Complete complete) {
  if (request == nullptr || complete == nullptr) return kCuptiInvalidParameter;
  const Lock lock(g_mutex);
  g_request = request;
  g_complete = complete;
  return kCuptiSuccess;
}

// Other kinds have no records.
TAPELENS_CUDA int cuptiActivityEnable(int kind) {
  if (kind != kMemory2 && kind != kMemoryPool) return kCuptiSuccess;
  if (cupti_wanted().no_memory2) return kCuptiInvalidKind;
  const Lock lock(g_mutex);
  __atomic_store_n(kind == kMemory2 ? &g_is_enabled : &g_tells_pools, true, __ATOMIC_RELAXED);
  if (!g_has_worker) {
    pthread_t worker;
    g_has_worker = pthread_create(&worker, nullptr, work, nullptr) == 0;
    if (g_has_worker) pthread_detach(worker);
  }
  return kCuptiSuccess;
}

TAPELENS_CUDA int cuptiActivityDisable(int kind) {
  const Lock lock(g_mutex);
  if (kind == kMemory2) __atomic_store_n(&g_is_enabled, false, __ATOMIC_RELAXED);
  if (kind == kMemoryPool) __atomic_store_n(&g_tells_pools, false, __ATOMIC_RELAXED);
  return kCuptiSuccess;
}

TAPELENS_CUDA int cuptiActivityEnableAllocationSource(unsigned char enable) {
  if (version() < kSourceSince) return kCuptiNotSupported;  // this CUPTI version lacks the function
  const Lock lock(g_mutex);
  g_names_sources = enable != 0;
  return kCuptiSuccess;
}

TAPELENS_CUDA int cuptiActivityFlushPeriod(uint32_t) { return kCuptiSuccess; }

TAPELENS_CUDA int cuptiActivityFlushAll(uint32_t) {
  {
    const Lock lock(g_mutex);
    if (g_complete == nullptr) return kCuptiInvalidOperation;
    close_buffer();
  }
  deliver();
  return kCuptiSuccess;
}

TAPELENS_CUDA int cuptiActivityGetNextRecord(unsigned char* buffer, size_t valid, void** record) {
  unsigned char* next = buffer;
  if (auto* last = static_cast<unsigned char*>(*record)) next = last + record_bytes(kind_at(last));
  if (next >= buffer + valid) return kCuptiNoMore;
  *record = next;
  return kCuptiSuccess;
}

TAPELENS_CUDA int cuptiActivityGetNumDroppedRecords(void*, unsigned, size_t* dropped) {
  const Lock lock(g_mutex);
  *dropped = g_dropped;
  g_dropped = 0;
  return kCuptiSuccess;
}

TAPELENS_CUDA int cuptiGetTimestamp(uint64_t* ns) {
  *ns = now_ns();
  return kCuptiSuccess;
}
