#include "profiler/cupti/session.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <type_traits>

#include "base/mutex.h"
#include "profiler/cupti/calls.h"
#include "profiler/cupti/clocks.h"
#include "profiler/cupti/delivery.h"
#include "profiler/cupti/records.h"

namespace tapelens::cupti {

namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;  // about 480 records: programs make few
constexpr uint32_t kFirstWithMemory2 = 14;         // CUDA 11.1

struct Session {
  Functions functions;
  SessionObserver* sink = nullptr;
  Subscriber subscriber = nullptr;
  bool names_sources = false;
};

// The lock for begin and end of the session. It is held during calls of CUPTI, which calls back, and until the thread
// of the delivery ends.
base::Mutex g_lock;
Delivery g_delivery TAPELENS_GUARDED_BY(g_lock);
base::Mutex g_telling;  // serializes calls of the SessionObserver; not held during calls of CUPTI or of the program
Session g_session;      // does not change during the session
std::atomic<bool> g_is_on{false};

void request_buffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *bytes = *buffer != nullptr ? kBufferBytes : 0;
  *most_records = 0;  // no limit
}

void complete_buffer(void* context, uint32_t stream, uint8_t* buffer, size_t, size_t valid) noexcept {
  if (buffer == nullptr) return;
  if (g_is_on.load(std::memory_order_acquire)) {
    const Session& s = g_session;
    Happened happened;
    size_t dropped = 0;
    if (s.functions.get_dropped(context, stream, &dropped) != Result::success) dropped = 0;
    try {
      if (valid > 0) read_records(s.functions, {buffer, valid}, s.names_sources, happened);
    } catch (...) {  // out of memory: count the buffer as dropped
      ++dropped;
    }
    const base::MutexLock lock(g_telling);
    if (!happened.activities.empty()) s.sink->happened(happened.activities);
    if (!happened.pools.empty()) s.sink->were(happened.pools);
    if (dropped > 0) s.sink->dropped(dropped);
  }
  std::free(buffer);
}

// A CUDA function begins or ends on this thread.
void called(void*, Domain domain, uint32_t function, const CallbackData* call) noexcept {
  if (!g_is_on.load(std::memory_order_acquire) || call == nullptr) return;
  const Session& s = g_session;
  if (call->site == CallbackSite::enter) {
    if (call->correlation != 0) s.sink->called(call->correlation);
    if (call->from_enter_to_exit != nullptr) *call->from_enter_to_exit = monotonic_ns();
  } else if (domain == Domain::driver && call->result != nullptr && *call->result == 0) {
    const std::optional<VirtualMemory> memory = virtual_memory(function, *call);
    if (!memory) return;
    const base::MutexLock lock(g_telling);
    s.sink->changed(*memory);
  }
}

std::string name_of(const Functions& f, Result result) {
  const char* text = nullptr;
  if (f.get_result_string(result, &text) == Result::success && text != nullptr) return text;
  return "error " + std::to_string(static_cast<int>(result));
}

std::string why_not(const Functions& f, Result result, const char* holder) {
  switch (result) {
    case Result::multiple_subscribers:
      return "another tool has CUPTI" + (*holder != '\0' ? " (" + std::string(holder) + ")" : std::string()) +
             ": only one can, record without it";
    case Result::insufficient_privileges:
    case Result::virtualized_device_insufficient_privileges:
      return "CUPTI is not permitted for this user (" + name_of(f, result) +
             "): an administrator has to allow it, NVreg_RestrictProfilingToAdminUsers=0";
    case Result::invalid_kind:
      return "this CUPTI cannot report memory (MEMORY2, since CUDA 11.1)";
    default:
      return "CUPTI does not begin: " + name_of(f, result);
  }
}

Result subscribe(const Functions& f, Subscriber* subscriber, std::span<char> holder) {
  if (f.subscribe_v2 == nullptr) return f.subscribe(subscriber, called, nullptr);
  const SubscriberParameters parameters{sizeof(SubscriberParameters), "Tapelens", holder.data(), holder.size()};
  return f.subscribe_v2(subscriber, called, nullptr, &parameters);
}

// Reverts begin(), in reverse order.
void release(const Session& s) TAPELENS_REQUIRES(g_lock) {
  g_delivery.stop();
  s.functions.disable(kMemory2);
  if (s.names_sources) {
    s.functions.disable(kMemoryPool);
    s.functions.enable_source(0);
  }
  s.functions.flush_all(kForced);  // before the end of the subscription: the next client must not get our buffers
  s.functions.unsubscribe(s.subscriber);
}

}  // namespace

std::optional<Functions> find_functions() {
  for (const char* name : {"libtorch_cpu.so", "libcupti.so.13", "libcupti.so.12"}) {
    // dlsym searches a library and its dependencies.
    void* handle = dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) continue;
    Functions found;
    bool has_all = true;
    each_function(found, [&](const char* symbol, auto& function, bool is_optional) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, symbol));
      has_all &= function != nullptr || is_optional;
    });
    dlclose(handle);  // the program keeps it
    if (has_all) return found;
  }
  return {};
}

std::string begin(const Functions& functions, SessionObserver& sink) {
  const base::MutexLock lock(g_lock);
  if (g_is_on.load(std::memory_order_relaxed)) return "CUPTI is in use already";
  uint32_t version = 0;
  if (const Result asked = functions.get_version(&version); asked != Result::success) {
    return why_not(functions, asked, "");
  }
  if (version < kFirstWithMemory2) return why_not(functions, Result::invalid_kind, "");
  char holder[128] = {};
  Subscriber subscriber = nullptr;
  const Result subscribed = subscribe(functions, &subscriber, holder);
  holder[sizeof(holder) - 1] = '\0';
  if (subscribed != Result::success) return why_not(functions, subscribed, holder);
  Result result = functions.register_callbacks(request_buffer, complete_buffer);
  bool names_sources = false;
  if (result == Result::success) {
    names_sources = functions.enable_source != nullptr && functions.enable_source(1) == Result::success;
    g_session = {functions, &sink, subscriber, names_sources};
    g_is_on.store(true, std::memory_order_release);
    prepare_caller();
    result = enable_calls(functions, subscriber);
  }
  if (result == Result::success) result = functions.enable(kMemory2);
  if (result == Result::success) {
    // Without it, a pool's state is that of its last allocation or free: later trims are not known.
    if (names_sources) functions.enable(kMemoryPool);
    if (g_delivery.start(functions.flush_all)) return "";
    release(g_session);
    g_is_on.store(false, std::memory_order_release);
    return "the system has no thread left";
  }
  g_is_on.store(false, std::memory_order_release);
  if (names_sources) functions.enable_source(0);
  functions.unsubscribe(subscriber);
  return why_not(functions, result, "");
}

bool give_way() {
  const base::MutexLock lock(g_lock);
  if (!g_is_on.load(std::memory_order_relaxed)) return false;
  release(g_session);
  g_is_on.store(false, std::memory_order_release);
  return true;
}

void finish() {
  const base::MutexLock lock(g_lock);
  if (!g_is_on.load(std::memory_order_relaxed)) return;
  g_delivery.stop();
  g_session.functions.flush_all(kForced);
  g_is_on.store(false, std::memory_order_release);
}

}  // namespace tapelens::cupti
