// CUPTI: activities of memory (MEMORY2) of the calls that are simulated, to the client that asks for them. Nothing runs
// on the device, so torch.profiler goes on without times of kernels.
//
// As CUPTI does: buffers are the client's, a worker thread gives back those that are full, and all of them are given
// back when they are flushed. Who registers callbacks takes them from whoever had them. What CUPTI is free to do, and a
// machine may refuse, tests ask for by a variable of the environment (TAPELENS_SIMULATED_CUPTI): words that are
// separated by commas.
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "simulated/device/activities.h"
#include "simulated/device/state.h"
#include "simulated/settings/variables.h"

using namespace tapelens::simulated;

namespace {

// CUptiResult
enum Cupti : int {
  kCuptiSuccess = 0,
  kCuptiInvalidParameter = 1,
  kCuptiInvalidOperation = 7,
  kCuptiNoMore = 12,
  kCuptiInvalidKind = 21,
  kCuptiNotSupported = 27,
  kCuptiNotPermitted = 35,
  kCuptiHeld = 39,
};

constexpr int kMemory2 = 49;         // CUPTI_ACTIVITY_KIND_MEMORY2
constexpr uint32_t kUnknown = 9999;  // a kind that no client knows
constexpr uint32_t kNone = 0xffffffffU;
constexpr size_t kFew = 4;  // records in a buffer, where several buffers are wanted

// CUpti_ActivityMemory4. Up to CUDA 12.7 without `source`.
struct Memory {
  uint32_t kind, operation, memory_kind, correlation;
  uint64_t address, bytes, timestamp, counter;
  uint32_t process, device, context, stream;
  const char* name;
  uint32_t is_async, padding;
  uint64_t pool[5];
  const char* source;
};
static_assert(sizeof(Memory) == 128);
constexpr unsigned kSourceSince = 26;

using Request = void (*)(unsigned char** buffer, size_t* bytes, size_t* most);
using Complete = void (*)(void* context, uint32_t stream, unsigned char* buffer, size_t bytes, size_t valid);

struct Buffer {
  unsigned char* memory;
  size_t bytes, used, records;
};

// What the environment asks for.
struct Wanted {
  bool reversed;  // records and buffers, as far as they wait
  bool drops;     // every other buffer is lost
  bool unknown;   // a record of another kind before each
  bool no_memory2, no_source, refused, held;
};

constexpr size_t kMostWaiting = 64;
constexpr size_t kMostSources = 256;

// The lock is not held while the client is called.
pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t g_delivery = PTHREAD_MUTEX_INITIALIZER;  // one after another; g_mutex is taken while it is held
pthread_cond_t g_wake = PTHREAD_COND_INITIALIZER;
Request g_request;
Complete g_complete;
Buffer g_open;
Buffer g_waiting[kMostWaiting];
size_t g_waiting_count;
uint64_t g_dropped, g_buffers;
uint32_t g_correlation;
bool g_is_enabled, g_names_sources, g_has_worker;
uint32_t g_period_ms;
const char* g_sources[kMostSources];
size_t g_source_count;
bool g_is_subscribed;
char g_subscriber[128];

thread_local const void* t_caller = nullptr;
thread_local const char* t_caller_name = nullptr;

Wanted read_wanted() {
  Wanted wanted{};
  const char* text = std::getenv(TAPELENS_SIMULATED_CUPTI);
  while (text != nullptr && *text != '\0') {
    const char* comma = std::strchr(text, ',');
    const size_t length = comma != nullptr ? static_cast<size_t>(comma - text) : std::strlen(text);
    const auto is = [&](const char* word) { return std::strlen(word) == length && !std::strncmp(text, word, length); };
    wanted.reversed |= is("reversed");
    wanted.drops |= is("drops");
    wanted.unknown |= is("unknown");
    wanted.no_memory2 |= is("no_memory2");
    wanted.no_source |= is("no_source");
    wanted.refused |= is("refused");
    wanted.held |= is("held");
    text = comma != nullptr ? comma + 1 : nullptr;
  }
  return wanted;
}

pthread_once_t g_wanted_once = PTHREAD_ONCE_INIT;
Wanted g_wanted;
const Wanted& wanted() {
  pthread_once(&g_wanted_once, [] { g_wanted = read_wanted(); });
  return g_wanted;
}

// Up to CUDA 12.9 a count, since then made of CUDA's version.
unsigned version() {
  if (wanted().no_memory2) return 13;  // CUDA 11.0
  if (wanted().no_source) return 24;   // CUDA 12.4
  const uint64_t cuda = settings().cuda;
  if (cuda >= 13000) return static_cast<unsigned>(cuda / 1000 * 10000 + cuda % 1000 / 10 * 100);
  constexpr unsigned kOf12[] = {19, 19, 20, 21, 22, 23, 24, 24, 26, 28};  // 12.0 and later
  const uint64_t minor = cuda % 1000 / 10;
  return kOf12[minor < 10 ? minor : 9];
}

size_t record_bytes() { return version() >= kSourceSince ? sizeof(Memory) : sizeof(Memory) - sizeof(char*); }

uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000U + static_cast<uint64_t>(now.tv_nsec);
}

// A text that stays: clients keep the pointer.
const char* kept(const char* text) {
  for (size_t i = 0; i < g_source_count; ++i) {
    if (std::strcmp(g_sources[i], text) == 0) return g_sources[i];
  }
  if (g_source_count == kMostSources) return nullptr;
  const char* copy = strdup(text);
  if (copy != nullptr) g_sources[g_source_count++] = copy;
  return copy;
}

// Without the lock: the loader has locks of its own.
const char* caller() {
  if (t_caller_name != nullptr) return t_caller_name;
  Dl_info found;
  if (t_caller == nullptr || dladdr(t_caller, &found) == 0) return nullptr;
  return found.dli_fname;
}

void reverse(Buffer& buffer) {
  const size_t size = record_bytes();
  unsigned char swap[sizeof(Memory)];
  for (size_t low = 0, high = buffer.records; low + 1 < high; ++low) {
    --high;
    unsigned char *first = buffer.memory + low * size, *last = buffer.memory + high * size;
    std::memcpy(swap, first, size);
    std::memcpy(first, last, size);
    std::memcpy(last, swap, size);
  }
}

// With the lock: what is in the open buffer waits to be given back.
void close_buffer() {
  if (g_open.memory == nullptr) return;
  if (g_waiting_count == kMostWaiting) {  // nobody takes them
    g_dropped += g_open.records;
    g_open.used = g_open.records = 0;
    return;
  }
  if (wanted().reversed) reverse(g_open);
  if (wanted().drops && g_buffers++ % 2 == 1) {
    g_dropped += g_open.records;
    g_open.used = g_open.records = 0;
  }
  g_waiting[g_waiting_count++] = g_open;
  g_open = {};
}

// With the lock, which is given up meanwhile.
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
    g_waiting[g_waiting_count++] = got;  // another thread was faster: it goes back empty
  }
  return true;
}

void append(const Memory& activity) {
  const size_t size = record_bytes();
  const bool is_few = wanted().reversed || wanted().drops;
  if (g_open.memory != nullptr && (g_open.used + size > g_open.bytes || (is_few && g_open.records == kFew))) {
    close_buffer();
    pthread_cond_signal(&g_wake);
  }
  if (!open_buffer() || g_open.used + size > g_open.bytes) {
    ++g_dropped;
    return;
  }
  std::memcpy(g_open.memory + g_open.used, &activity, size);
  g_open.used += size;
  ++g_open.records;
}

// Gives the client what waits.
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
    const Buffer& buffer = taken[wanted().reversed ? count - 1 - i : i];
    complete(nullptr, 0, buffer.memory, buffer.bytes, buffer.used);
  }
}

void* work(void*) {
  for (;;) {
    {
      const Lock lock(g_mutex);
      if (g_period_ms != 0) {
        timespec until{};
        clock_gettime(CLOCK_REALTIME, &until);
        const uint64_t ns = static_cast<uint64_t>(until.tv_nsec) + uint64_t{g_period_ms} * 1000000;
        until.tv_sec += static_cast<time_t>(ns / 1000000000);
        until.tv_nsec = static_cast<long>(ns % 1000000000);
        if (pthread_cond_timedwait(&g_wake, &g_mutex, &until) != 0 && g_open.records != 0) close_buffer();
      } else {
        pthread_cond_wait(&g_wake, &g_mutex);
      }
    }
    deliver();
  }
  return nullptr;
}

int subscribe(void** subscriber, const char* name, char* holder, size_t room) {
  if (wanted().refused) return kCuptiNotPermitted;
  const Lock lock(g_mutex);
  if (g_is_subscribed || wanted().held) {
    if (holder != nullptr && room > 0) {
      std::strncpy(holder, wanted().held ? "Nsight Systems" : g_subscriber, room - 1);
      holder[room - 1] = '\0';
    }
    return kCuptiHeld;
  }
  g_is_subscribed = true;
  std::strncpy(g_subscriber, name != nullptr ? name : "CUPTI", sizeof(g_subscriber) - 1);
  *subscriber = &g_is_subscribed;
  return kCuptiSuccess;
}

}  // namespace

Caller::Caller(const void* return_address, const char* name) : is_outermost_(t_caller == nullptr) {
  if (!is_outermost_) return;
  t_caller = return_address;
  t_caller_name = name;
}

Caller::~Caller() {
  if (!is_outermost_) return;
  t_caller = nullptr;
  t_caller_name = nullptr;
}

void tapelens::simulated::tell_memory(const MemoryActivity& activity) {
  if (!__atomic_load_n(&g_is_enabled, __ATOMIC_RELAXED)) return;
  const char* const source = activity.is_allocation ? caller() : nullptr;
  const Lock lock(g_mutex);
  if (!g_is_enabled) return;
  Memory told{};
  told.kind = kMemory2;
  told.operation = activity.is_allocation ? 1 : 2;
  told.memory_kind = static_cast<uint32_t>(activity.kind);
  told.correlation = ++g_correlation;
  told.address = reinterpret_cast<uintptr_t>(activity.address);
  told.bytes = activity.bytes;
  told.timestamp = now_ns();
  told.counter = reinterpret_cast<uintptr_t>(t_caller);
  told.process = static_cast<uint32_t>(getpid());
  told.device = static_cast<uint32_t>(activity.device);
  told.context = 1;
  told.stream = activity.is_async ? 7 : kNone;
  told.is_async = activity.is_async ? 1 : 0;
  told.source = source != nullptr && g_names_sources ? kept(source) : nullptr;
  if (wanted().unknown) {
    Memory other{};
    other.kind = kUnknown;
    append(other);
  }
  append(told);
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

TAPELENS_CUDA int cuptiGetCallbackName(int, unsigned, const char** name) {
  *name = "";
  return kCuptiSuccess;
}

TAPELENS_CUDA int cuptiSubscribe(void** subscriber, void*, void*) { return subscribe(subscriber, nullptr, nullptr, 0); }

// The begin of CUpti_SubscriberParams.
struct SubscriberParameters {
  size_t bytes;
  const char* name;
  char* holder;
  size_t holder_room;
};

TAPELENS_CUDA int cuptiSubscribe_v2(void** subscriber, void*, void*, const SubscriberParameters* parameters) {
  if (parameters == nullptr) return subscribe(subscriber, nullptr, nullptr, 0);
  if (parameters->bytes < sizeof(SubscriberParameters)) return kCuptiInvalidParameter;
  return subscribe(subscriber, parameters->name, parameters->holder, parameters->holder_room);
}

TAPELENS_CUDA int cuptiUnsubscribe(void* subscriber) {
  const Lock lock(g_mutex);
  if (subscriber != &g_is_subscribed || !g_is_subscribed) return kCuptiInvalidParameter;
  g_is_subscribed = false;
  return kCuptiSuccess;
}

TAPELENS_CUDA int cuptiActivityRegisterCallbacks(Request request, Complete complete) {
  if (request == nullptr || complete == nullptr) return kCuptiInvalidParameter;
  const Lock lock(g_mutex);
  g_request = request;
  g_complete = complete;
  return kCuptiSuccess;
}

// Of other kinds there is nothing to tell.
TAPELENS_CUDA int cuptiActivityEnable(int kind) {
  if (kind != kMemory2) return kCuptiSuccess;
  if (wanted().no_memory2) return kCuptiInvalidKind;
  const Lock lock(g_mutex);
  __atomic_store_n(&g_is_enabled, true, __ATOMIC_RELAXED);
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
  return kCuptiSuccess;
}

TAPELENS_CUDA int cuptiActivityEnableAllocationSource(unsigned char enable) {
  if (version() < kSourceSince) return kCuptiNotSupported;  // where CUPTI has no such function
  const Lock lock(g_mutex);
  g_names_sources = enable != 0;
  return kCuptiSuccess;
}

TAPELENS_CUDA int cuptiActivityFlushPeriod(uint32_t ms) {
  const Lock lock(g_mutex);
  g_period_ms = ms;
  pthread_cond_signal(&g_wake);
  return kCuptiSuccess;
}

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
  unsigned char* next = *record == nullptr ? buffer : static_cast<unsigned char*>(*record) + record_bytes();
  if (next + record_bytes() > buffer + valid) return kCuptiNoMore;
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
