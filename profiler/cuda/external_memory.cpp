
#include <dlfcn.h>
#include <sys/syscall.h>
#include <torch/csrc/profiler/orchestration/observer.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "profiler/cuda/device_memory.h"
#include "profiler/cupti/clocks.h"
#include "profiler/cupti/session.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/observers.h"
#include "profiler/record/intern.h"
#include "profiler/record/recorder.h"
#include "profiler/record/storage.h"

namespace tapelens::cuda {
namespace {

using record::ThreadState;
using trace::OutsideChange;
using trace::OutsideMemory;
using trace::RecordKind;

OutsideMemory memory_of(cupti::MemoryKind kind) {
  switch (kind) {
    case cupti::MemoryKind::device:
    case cupti::MemoryKind::array:
    case cupti::MemoryKind::device_static:
      return OutsideMemory::device;
    case cupti::MemoryKind::managed:
    case cupti::MemoryKind::managed_static:
      return OutsideMemory::managed;
    case cupti::MemoryKind::pinned:
    case cupti::MemoryKind::pageable:
      return OutsideMemory::host;
    default:
      return OutsideMemory::unknown;
  }
}

trace::VirtualChange change_of(cupti::VirtualMemory::Change change) {
  using Change = cupti::VirtualMemory::Change;
  switch (change) {
    case Change::created:
      return trace::VirtualChange::created;
    case Change::retained:
      return trace::VirtualChange::retained;
    case Change::released:
      return trace::VirtualChange::released;
    case Change::mapped:
      return trace::VirtualChange::mapped;
    case Change::unmapped:
      break;
  }
  return trace::VirtualChange::unmapped;
}

// Events arrive on any thread, also CUPTI's: use a separate lane.
class Recorder : public cupti::SessionObserver {
 public:
  Recorder() { record::g_spool.attach(own_.lane, static_cast<uint32_t>(syscall(SYS_gettid))); }

  void happened(std::span<const cupti::Activity> activities) override {
    if (!record::is_recording()) return;
    try {
      const base::MutexLock lock(lock_);
      const auto now = cupti::same_moment(trace::ticks_now);
      for (const cupti::Activity& a : activities) {
        write({.header = header(a.device, a.library.empty() ? 0 : record::intern_string(own_, a.library)),
               .ticks = now.other,
               .age = now.ns - std::min(now.ns, a.happened_ns),
               .address = a.address,
               .bytes = a.bytes,
               .change = a.is_allocation ? OutsideChange::allocated : OutsideChange::freed,
               .memory = memory_of(a.kind),
               .reserved = {},
               .call = a.call});
      }
    } catch (...) {
      dropped(activities.size());
    }
    g_waits.store(true, std::memory_order_relaxed);  // the next operator reads the device's usage
  }

  void were(std::span<const cupti::PoolState> pools) override {
    if (!record::is_recording()) return;
    const base::MutexLock lock(lock_);
    const auto now = cupti::same_moment(trace::ticks_now);
    for (const cupti::PoolState& pool : pools) {
      own_.lane.write(trace::MemoryPoolRecord{
          .header = record::header<trace::MemoryPoolRecord>(RecordKind::memory_pool, device_of(pool.device)),
          .ticks = now.other,
          .age = now.ns - std::min(now.ns, pool.happened_ns),
          .address = pool.address,
          .reserved = pool.reserved,
          .used = pool.used,
          .change = pool.is_destroyed ? trace::PoolChange::destroyed : trace::PoolChange::now,
          .padding = {}});
    }
  }

  // On the program's thread, which may hold the lock of PyTorch's allocator: see device_memory.h. A thread on which
  // LibTorch has never run is in no operator.
  void called(uint32_t call) override {
    if (!record::is_recording()) return;
    const auto* thread = static_cast<const observe::Thread*>(*observe::g_inject->thread_slot());
    if (thread == nullptr || thread->recording == nullptr) return;
    thread->recording->lane.write(trace::OutsideCallRecord{
        record::header<trace::OutsideCallRecord>(RecordKind::outside_call), trace::ticks_now(), call, 0});
  }

  void changed(const cupti::VirtualMemory& memory) override {
    if (!record::is_recording()) return;
    try {
      const base::MutexLock lock(lock_);
      const auto now = cupti::same_moment(trace::ticks_now);
      const uint32_t library = memory.library.empty() ? 0 : record::intern_string(own_, memory.library);
      own_.lane.write(trace::VirtualMemoryRecord{.header = record::header<trace::VirtualMemoryRecord>(
                                                     RecordKind::virtual_memory, device_of(memory.device), library),
                                                 .ticks = now.other,
                                                 .age = now.ns - std::min(now.ns, memory.happened_ns),
                                                 .handle = memory.handle,
                                                 .address = memory.address,
                                                 .bytes = memory.bytes,
                                                 .call = memory.call,
                                                 .change = change_of(memory.change),
                                                 .reserved = {}});
    } catch (...) {
      dropped(1);
    }
    g_waits.store(true, std::memory_order_relaxed);
  }

  void dropped(uint64_t records) override { record::g_spool.count(trace::Loss::dropped_activity, records); }

  // The session has ended.
  void ended() {
    if (!record::is_recording()) return;
    const base::MutexLock lock(lock_);
    write({.header = header(0, 0),
           .ticks = trace::ticks_now(),
           .age = 0,
           .address = 0,
           .bytes = 0,
           .change = OutsideChange::ended,
           .memory = OutsideMemory::unknown,
           .reserved = {},
           .call = 0});
  }

 private:
  uint8_t device_of(uint32_t device) TAPELENS_REQUIRES(lock_) {
    const auto index = static_cast<c10::DeviceIndex>(device < 128 ? device : 127);
    return record::device_id(own_, {c10::DeviceType::CUDA, index});
  }
  trace::RecordHeader header(uint32_t device, uint32_t library) TAPELENS_REQUIRES(lock_) {
    return record::header<trace::OutsideRecord>(RecordKind::outside, device_of(device), library);
  }
  void write(const trace::OutsideRecord& record) TAPELENS_REQUIRES(lock_) { own_.lane.write(record); }

  base::Mutex lock_;  // CUPTI's thread may still process its last buffer when the session ends
  ThreadState own_ TAPELENS_GUARDED_BY(lock_);
};

enum class State : uint8_t { not_wanted, waits, begins, on, over };
std::atomic<State> g_state{State::not_wanted};
Recorder* g_recorder = nullptr;

void not_recorded(ThreadState& thread, const std::string& why) {
  observe::say("--cupti: memory outside of PyTorch's allocator is not recorded: " + why);
  record::write_information(thread, "cupti", why);
}

// The tool in the program that calls CUPTI from this address.
std::string tool_at(const void* address) {
  Dl_info found;
  if (dladdr(address, &found) == 0 || found.dli_fname == nullptr) return "another tool";
  const std::string_view path = found.dli_fname, name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libtorch") ? "torch.profiler" : std::string(name);
}

void give_way(const void* caller) {
  State on = State::on;
  if (g_state.load(std::memory_order_acquire) == State::waits) {
    g_state.store(State::over, std::memory_order_release);
    observe::say("--cupti: memory outside of PyTorch's allocator is not recorded: " + tool_at(caller) +
                 " had CUPTI before it began");
    record::write_information(*observe::this_thread().recording, "cupti", tool_at(caller) + " had CUPTI before");
    return;
  }
  if (!g_state.compare_exchange_strong(on, State::over)) return;
  if (!cupti::give_way()) return;
  g_recorder->ended();
  observe::say("--cupti: " + tool_at(caller) +
               " uses CUPTI from here on: memory outside of PyTorch's allocator is recorded up to now");
}

using Subscribe = int (*)(void**, void*, void*);
using SubscribeV2 = int (*)(void**, void*, void*, void*);
using Register = int (*)(void*, void*);
Subscribe g_subscribe;
SubscribeV2 g_subscribe_v2;
Register g_register;

// Clients begin with one of these: it is their first CUPTI call that takes CUPTI from another client.
int subscribe(void** subscriber, void* callback, void* data) {
  if (record::is_recording()) give_way(__builtin_return_address(0));
  return g_subscribe(subscriber, callback, data);
}
int subscribe_v2(void** subscriber, void* callback, void* data, void* parameters) {
  if (record::is_recording()) give_way(__builtin_return_address(0));
  return g_subscribe_v2(subscriber, callback, data, parameters);
}
int register_callbacks(void* request, void* complete) {
  if (record::is_recording()) give_way(__builtin_return_address(0));
  return g_register(request, complete);
}

template <class Function>
void stand_before(tapelens_symbol symbol, Function& real, Function instead) {
  const tapelens_inject_table& inject = *observe::g_inject;
  real = reinterpret_cast<Function>(inject.real(symbol));
  if (real != nullptr) inject.replace(symbol, reinterpret_cast<void*>(instead));
}

}  // namespace

bool watch_external() {
  if (!record::options().cupti) return false;
  g_state.store(State::waits, std::memory_order_release);
  stand_before(TAPELENS_cupti_subscribe, g_subscribe, subscribe);
  stand_before(TAPELENS_cupti_subscribe_v2, g_subscribe_v2, subscribe_v2);
  stand_before(TAPELENS_cupti_register, g_register, register_callbacks);
  return true;
}

void begin_external(ThreadState& thread) {
  State waits = State::waits;
  if (!g_state.compare_exchange_strong(waits, State::begins)) return;
  // It began before the probe was loaded.
  if (torch::profiler::impl::profilerEnabled()) {
    g_state.store(State::over, std::memory_order_release);
    return not_recorded(thread, "torch.profiler had CUPTI before it began");
  }
  const auto functions = cupti::find_functions();
  std::string why = "this PyTorch has no CUPTI that is loaded (libcupti)";
  if (functions) {
    g_recorder = new Recorder;
    why = cupti::begin(*functions, *g_recorder);
  }
  g_state.store(why.empty() ? State::on : State::over, std::memory_order_release);
  if (!why.empty()) return not_recorded(thread, why);
  record::write_information(thread, "cupti", "on");
}

void finish_external() {
  State on = State::on;
  if (g_state.compare_exchange_strong(on, State::over)) cupti::finish();
}

}  // namespace tapelens::cuda
