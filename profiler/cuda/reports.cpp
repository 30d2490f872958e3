// See device_memory.h.
#include <atomic>
#include <exception>
#include <string>
#include <utility>

#include "profiler/cuda/device_memory.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/stack.h"
#include "profiler/record/intern.h"
#include "profiler/record/searches.h"
#include "profiler/record/storage.h"

namespace tapelens::cuda {

std::atomic<bool> g_waits{false}, g_is_unwatched{false};

namespace {

using record::address_of;
using record::g_spool;
using record::header;
using record::is_recording;
using record::ThreadState;
using trace::RecordKind;
using Call = ThreadState::DeviceCall;

ThreadState& this_thread() { return *observe::this_thread().recording; }

// Keeps our exceptions from passing through the program's allocator.
template <class Do>
void guarded(Do what) noexcept {
  try {
    what();
  } catch (...) {
    g_spool.count(trace::Loss::unmatched_event);
  }
}

bool g_wants_external = false;  // --cupti
std::atomic<uint64_t> g_usage_ticks{0};
constexpr uint64_t kUsageTicks = 100'000'000;  // between two reads of the usage: about 30 ms

// Called after memory was reserved or released: reads the usage soon. One thread at a time.
void look_external(ThreadState& thread) {
  g_waits.store(false, std::memory_order_relaxed);
  if (!g_wants_external) return;
  static std::atomic_flag is_looking = ATOMIC_FLAG_INIT;
  if (is_looking.test_and_set(std::memory_order_acquire)) return g_waits.store(true, std::memory_order_relaxed);
  guarded([&] {
    begin_external(thread);
    const uint64_t now = trace::ticks_now(), before = g_usage_ticks.load(std::memory_order_relaxed);
    if (now - before < kUsageTicks) return g_waits.store(true, std::memory_order_relaxed);
    g_usage_ticks.store(now, std::memory_order_relaxed);
    write_device_usage(thread);
  });
  is_looking.clear(std::memory_order_release);
}

// Attaches as soon as possible. Callable from any thread; false: another thread is attaching.
bool look(ThreadState& thread, Reported* reported) {
  if (!can_attach()) return true;
  static std::atomic_flag is_looking = ATOMIC_FLAG_INIT;
  if (is_looking.test_and_set(std::memory_order_acquire)) return false;
  if (g_is_unwatched.load(std::memory_order_relaxed)) {
    try {
      attach(thread, reported);
    } catch (const std::exception& failed) {
      observe::say(std::string("PyTorch's CUDA allocator cannot be watched: ") + failed.what());
    } catch (...) {
      observe::say("PyTorch's CUDA allocator cannot be watched");
    }
    g_is_unwatched.store(false, std::memory_order_release);
    g_is_unwatched.notify_all();
  }
  is_looking.clear(std::memory_order_release);
  return true;
}

// `stack`: the stack of an allocation outside of operators. The caller holds the allocator's lock.
void write_allocation(ThreadState& thread, const trace::DeviceAllocationRecord& fields, c10::Device device,
                      uint32_t stack = 0) {
  trace::DeviceAllocationRecord record = fields;
  record.header =
      header<trace::DeviceAllocationRecord>(RecordKind::device_allocation, record::device_id(thread, device), stack);
  record.ticks = trace::ticks_now();
  thread.lane.write(record);
}

void write_free(ThreadState& thread, RecordKind kind, uint64_t address, c10::Device device) {
  thread.lane.write(trace::FreeRecord{header<trace::FreeRecord>(kind, record::device_id(thread, device)),
                                      trace::ticks_now(), address});
}

void allocated(uint64_t address, uint64_t rounded, c10::Device device) {
  observe::Thread& observed = observe::this_thread();
  ThreadState& thread = *observed.recording;
  Call call = std::exchange(thread.device_call, {});
  if (call.kind != Call::Kind::allocation || call.address != address) {
    call = {};
    Reported reported{address, 0};
    if (g_is_unwatched.load(std::memory_order_acquire)) look(thread, &reported);
    if (!is_watched(device)) return;  // the snapshot will include it
    call.bytes = reported.requested != 0 ? reported.requested : rounded;
  }
  write_allocation(thread, {{}, 0, address, call.bytes, rounded, call.stream, call.pool, 0, 0}, device,
                   record::stack_of_allocation(observed, &observe::stack_within_lock));
}

void freed(uint64_t address, c10::Device device) {
  ThreadState& thread = this_thread();
  const Call call = std::exchange(thread.device_call, {});
  if (!is_watched(device)) return;
  const bool waits = call.kind == Call::Kind::free && call.address == address && !call.is_complete;
  write_free(thread, waits ? RecordKind::free_request : RecordKind::free, address, device);
}

using ReportMemory = void (*)(void*, int64_t, size_t, size_t, c10::Device);
ReportMemory g_report_memory;

void report_memory(void* data, int64_t bytes, size_t allocated_bytes, size_t reserved_bytes, c10::Device device) {
  // The CPU allocator reports its own events. CPU events arrive here only while torch.profiler requests them.
  if (is_recording() && !device.is_cpu() && data != nullptr && bytes != 0) {
    guarded([&] {
      record::are_alive(device, allocated_bytes);
      if (bytes > 0) {
        record::is_alive(0, address_of(data), static_cast<uint64_t>(bytes));
        allocated(address_of(data), static_cast<uint64_t>(bytes), device);
      } else {
        record::is_freed(address_of(data));
        freed(address_of(data), device);
      }
    });
  }
  g_report_memory(data, bytes, allocated_bytes, reserved_bytes, device);
}

using ReportOutOfMemory = void (*)(int64_t, size_t, size_t, c10::Device);
ReportOutOfMemory g_report_out_of_memory;

void report_out_of_memory(int64_t bytes, size_t allocated_bytes, size_t reserved_bytes, c10::Device device) {
  if (is_recording() && !device.is_cpu()) {
    guarded([&] {
      ThreadState& thread = this_thread();
      const Call call = std::exchange(thread.device_call, {});
      const bool knows_free = call.kind == Call::Kind::out_of_memory;
      thread.lane.write(trace::OutOfMemoryRecord{
          header<trace::OutOfMemoryRecord>(RecordKind::out_of_memory, record::device_id(thread, device)),
          trace::ticks_now(), static_cast<uint64_t>(bytes), allocated_bytes, reserved_bytes,
          knows_free ? call.bytes : UINT64_MAX});
      record::memory_ran_out();
    });
  }
  g_report_out_of_memory(bytes, allocated_bytes, reserved_bytes, device);
}

}  // namespace

void watch_device_memory() {
  const tapelens_inject_table& inject = *observe::g_inject;
  g_report_memory = reinterpret_cast<ReportMemory>(inject.real(TAPELENS_report_memory));
  g_report_out_of_memory = reinterpret_cast<ReportOutOfMemory>(inject.real(TAPELENS_report_out_of_memory));
  if (g_report_memory == nullptr || g_report_out_of_memory == nullptr) return;
  // Attach from the first operator on. Not here: the recording has not begun, and this thread holds the dynamic
  // loader's lock, for which a thread with the allocator's lock may wait.
  g_wants_external = watch_external();
  g_is_unwatched.store(true, std::memory_order_relaxed);
  g_waits.store(true, std::memory_order_relaxed);
  inject.replace(TAPELENS_report_memory, reinterpret_cast<void*>(&report_memory));
  inject.replace(TAPELENS_report_out_of_memory, reinterpret_cast<void*>(&report_out_of_memory));
}

void operator_begins(observe::Thread& thread) {
  if (g_is_unwatched.load(std::memory_order_acquire)) {
    if (!look(*thread.recording, nullptr)) g_is_unwatched.wait(true, std::memory_order_acquire);
    if (g_is_unwatched.load(std::memory_order_acquire)) return;  // no device is used yet
  }
  look_external(*thread.recording);
}

void finish_device_memory() {
  if (!g_wants_external) return;
  guarded([] {
    finish_external();
    if (!g_is_unwatched.load(std::memory_order_relaxed)) write_device_usage(this_thread());
  });
}

void allocation_traced(uint64_t address, uint64_t requested, uint64_t stream, trace::PoolNumbers pool) {
  if (!is_recording()) return;
  guarded([&] { this_thread().device_call = {Call::Kind::allocation, false, address, requested, stream, pool}; });
}

void free_requested(uint64_t address) {
  if (!is_recording()) return;
  guarded([&] { this_thread().device_call = {Call::Kind::free, false, address, 0, 0, {}}; });
}

void free_completed(uint64_t address, c10::Device device) {
  if (!is_recording()) return;
  guarded([&] {
    ThreadState& thread = this_thread();
    Call& call = thread.device_call;
    if (call.kind == Call::Kind::free && call.address == address) {
      call.is_complete = true;  // within the same call, as in almost all cases
    } else {
      write_free(thread, RecordKind::free, address, device);
    }
  });
}

void segment_changed(trace::SegmentChange change, c10::Device device, uint64_t address, uint64_t bytes, uint64_t stream,
                     trace::PoolNumbers pool) {
  if (!is_recording()) return;
  guarded([&] {
    ThreadState& thread = this_thread();
    const uint8_t id = record::device_id(thread, device);
    thread.lane.write(
        trace::SegmentRecord{header<trace::SegmentRecord>(RecordKind::segment, id, static_cast<uint32_t>(change)),
                             trace::ticks_now(), address, bytes, stream, pool});
    if (g_wants_external) g_waits.store(true, std::memory_order_relaxed);
  });
}

void out_of_memory_traced(uint64_t device_free) {
  if (!is_recording()) return;
  guarded([&] { this_thread().device_call = {Call::Kind::out_of_memory, false, 0, device_free, 0, {}}; });
}

void note(const std::string& key, uint64_t bytes) {
  if (!is_recording()) return;
  guarded([&] { record::write_information(this_thread(), key, std::to_string(bytes)); });
}

void older_block(ThreadState& thread, const OlderBlock& block, c10::Device device) {
  write_allocation(thread,
                   {{},
                    0,
                    block.address,
                    block.requested,
                    block.rounded,
                    block.stream,
                    block.pool,
                    trace::kDeviceAllocationIsOlder,
                    0},
                   device);
  if (block.waits) write_free(thread, RecordKind::free_request, block.address, device);
}

}  // namespace tapelens::cuda
