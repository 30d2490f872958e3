// Records every block that LibTorch's CPU allocator allocates and frees. Tensors use the registered allocator. Storages
// that Python makes below the dispatcher (torch.UntypedStorage, copy.deepcopy of a tensor) use LibTorch's default
// allocator.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <dlfcn.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/stack.h"
#include "profiler/observe/variables.h"
#include "profiler/record/host_memory.h"
#include "profiler/record/intern.h"
#include "profiler/record/recorder.h"
#include "profiler/record/searches.h"
#include "profiler/record/storage.h"
#include "trace/variables.h"

namespace tapelens::record {
namespace {

using trace::RecordKind;

c10::DeleterFnPtr g_inner_deleter = nullptr;

// Wraps the registered allocator and swaps only the deleter. The pointer stays its own context, which copy-on-write and
// raw_allocate() rely on.
class WatchedAllocator final : public c10::Allocator {
 public:
  explicit WatchedAllocator(c10::Allocator* inner) : inner_(inner) {}

  c10::DataPtr allocate(size_t bytes) override {
    c10::DataPtr data = allocate_or_note(bytes);
    if (data.get() == nullptr || !is_recording()) return data;
    observe::Thread& thread = observe::this_thread();
    if (thread.executes_on_cpu) return data;
    if (!data.compare_exchange_deleter(g_inner_deleter, &memory_freed)) return data;
    write_allocation(thread, kCpuDevice, address_of(data.get()), bytes);
    return data;
  }
  c10::DeleterFnPtr raw_deleter() const override {
    if (g_inner_deleter == nullptr) return nullptr;
    // raw_deallocate() uses it: memory that was not recorded must not be recorded as freed.
    return is_recording() && observe::this_thread().executes_on_cpu ? g_inner_deleter : &memory_freed;
  }
  void copy_data(void* destination, const void* source, std::size_t count) const override {
    inner_->copy_data(destination, source, count);
  }
  c10::Allocator* inner() const { return inner_; }

 private:
  c10::DataPtr allocate_or_note(size_t bytes) {
    try {
      return inner_->allocate(bytes);
    } catch (...) {
      memory_ran_out();
      observe::safe_point_outside_of_operators(observe::this_thread());
      throw;
    }
  }

  c10::Allocator* inner_;
};

WatchedAllocator* g_watched = nullptr;
c10::Allocator* default_cpu_allocator() { return g_watched; }

// If the program registered another allocator, LibTorch's has a different deleter and is not watched.
void watch_default(const c10::Allocator* registered) {
  const auto real = reinterpret_cast<c10::Allocator* (*)()>(observe::g_inject->real(TAPELENS_default_cpu_allocator));
  if (real == nullptr || real() != registered) return;
  observe::g_inject->replace(TAPELENS_default_cpu_allocator, reinterpret_cast<void*>(&default_cpu_allocator));
}

struct Devices {
  base::Mutex lock;
  std::vector<std::optional<c10::Device>> known
      TAPELENS_GUARDED_BY(lock);  // index + 1 is the id; none: pinned memory, which LibTorch calls cpu
};
Devices& devices() {
  static auto* made = new Devices;
  return *made;
}

}  // namespace

std::atomic<c10::DeleterFnPtr> g_device_deleter{nullptr};

namespace {

uint8_t id_of(ThreadState& thread, std::optional<c10::Device> device) {
  Devices& d = devices();
  const base::MutexLock guard(d.lock);
  const auto at = std::find(d.known.begin(), d.known.end(), device);
  const auto id = static_cast<uint8_t>(at - d.known.begin() + 1);
  if (at == d.known.end()) {
    d.known.push_back(device);
    write_device(thread, id, device ? device->str() : "pinned");
  }
  return id;
}

}  // namespace

uint8_t device_id(ThreadState& thread, c10::Device device) {
  return device.is_cpu() ? kCpuDevice : id_of(thread, device);
}

uint8_t pinned_device_id(ThreadState& thread) { return id_of(thread, std::nullopt); }

uint32_t stack_of_allocation(observe::Thread& thread, uint32_t (*stack_here)(observe::Thread&)) {
  if (!thread.open_calls.empty() && mode() == Mode::memory) return thread.open_calls.front().stack;
  return python_is_innermost(thread) && !thread.busy ? stack_here(thread) : 0;
}

void write_allocation(observe::Thread& thread, uint8_t device, uint64_t address, uint64_t bytes) {
  const uint32_t stack = stack_of_allocation(thread, &observe::stack_here);
  is_alive(device, address, bytes);
  const uint64_t now = trace::ticks_now();
  host_memory_may_have_grown(*thread.recording, now);
  if (thread.recording->saving != 0) [[unlikely]]
    thread.recording->made_by_hooks.push_back({address, bytes});
  thread.recording->lane.write(trace::AllocationRecord{
      header<trace::AllocationRecord>(RecordKind::allocation, device, stack), now, address, bytes});
}

void memory_freed(void* data) {
  // Written before the free: the address cannot be allocated again at an earlier time.
  if (data != nullptr && is_recording()) {
    ThreadState& thread = *observe::this_thread().recording;
    is_freed(address_of(data));
    if (!thread.made_by_hooks.empty()) [[unlikely]]
      std::erase_if(thread.made_by_hooks, [&](const Block& made) { return made.address == address_of(data); });
    thread.lane.write(trace::FreeRecord{header<trace::FreeRecord>(RecordKind::free, kCpuDevice), trace::ticks_now(),
                                        address_of(data)});
  }
  g_inner_deleter(data);
}

void write_foreign(ThreadState& thread, uint64_t address, uint64_t bytes, c10::Device device) {
  const uint8_t id = device_id(thread, device);
  thread.lane.write(
      trace::ForeignRecord{header<trace::ForeignRecord>(RecordKind::foreign, id), trace::ticks_now(), address, bytes});
}

namespace {

// Whether an earlier attach recorded this memory. Its deleter is in that copy of the probe, and does nothing more.
bool is_of_earlier_attach(c10::DeleterFnPtr deleter) {
  Dl_info library;
  return deleter != nullptr && dladdr(reinterpret_cast<void*>(deleter), &library) != 0 &&
         library.dli_fname != nullptr && std::string_view(library.dli_fname).ends_with(TAPELENS_ATTACHED_PROBE);
}

}  // namespace

uint64_t adopted(observe::Thread& thread, c10::StorageImpl& storage) {
  c10::DataPtr& data = storage._mutable_data_ptr_no_checks();
  if (g_inner_deleter == nullptr || data.get() == nullptr || !data.device().is_cpu()) return 0;
  if (data.get_context() != data.get() || data.get_deleter() == &memory_freed) return 0;
  const c10::SymInt size = storage.sym_nbytes();
  const uint64_t bytes = static_cast<uint64_t>(size.maybe_as_int().value_or(0));
  if (bytes == 0) return 0;
  // From here on its free is seen. Memory of another allocator has another deleter, and is foreign.
  const c10::DeleterFnPtr deleter = data.get_deleter();
  if (deleter != g_inner_deleter && !is_of_earlier_attach(deleter)) return 0;
  if (!data.compare_exchange_deleter(deleter, &memory_freed)) return 0;
  const uint64_t address = address_of(data.get());
  is_alive(kCpuDevice, address, bytes);
  thread.recording->lane.write(trace::AllocationRecord{
      header<trace::AllocationRecord>(RecordKind::allocation, kCpuDevice), trace::ticks_now(), address, bytes});
  return bytes;
}

void unwatch_allocations() {
  if (g_watched != nullptr && c10::GetAllocator(c10::kCPU) == g_watched) {
    c10::SetAllocator(c10::kCPU, g_watched->inner(), 255);
  }
  unwatch_pinned_memory();
}

void watch_allocations(ThreadState& thread) {
  id_of(thread, c10::Device(c10::kCPU));  // kCpuDevice
  c10::Allocator* inner = c10::GetAllocator(c10::kCPU);
  g_inner_deleter = inner->raw_deleter();
  if (g_inner_deleter == nullptr) {  // a program's allocator with separate contexts
    observe::say("the program's CPU allocator cannot be watched: allocations are not recorded");
    return;
  }
  g_watched = new WatchedAllocator(inner);
  c10::SetAllocator(c10::kCPU, g_watched, 255);
  watch_default(inner);
  watch_pinned_memory();
}

}  // namespace tapelens::record
