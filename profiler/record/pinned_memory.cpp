// Pinned host memory: blocks of the allocator behind `pin_memory`, CUDA's caching host allocator. LibTorch has a
// pointer to it, so nothing of CUDA is linked or called here.
#include <ATen/core/CachingHostAllocator.h>
#include <dlfcn.h>

#include <atomic>
#include <exception>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/torch_minor.h"
#include "profiler/record/recorder.h"
#include "profiler/record/searches.h"
#include "profiler/record/storage.h"

namespace tapelens::record {
namespace {

using trace::RecordKind;

std::atomic<c10::DeleterFnPtr> g_pinned_deleter{nullptr};
at::HostAllocator *g_pinned_inner = nullptr, *g_pinned_watched = nullptr;

// The context of such memory is the allocator's block, which the allocator needs when a stream uses the memory: it must
// stay. A freed block is known only by its context, so the addresses are kept here. The lock is a leaf, and is never
// taken in a forked child, which does not record.
class Addresses {
 public:
  void add(void* block, uint64_t address) {
    const base::MutexLock guard(lock_);
    of_block_.insert_or_assign(block, address);
  }
  uint64_t take(void* block) {  // 0: not recorded
    const base::MutexLock guard(lock_);
    const auto found = of_block_.find(block);
    if (found == of_block_.end()) return 0;
    const uint64_t address = found->second;
    of_block_.erase(found);
    return address;
  }

 private:
  base::Mutex lock_;
  std::unordered_map<void*, uint64_t> of_block_ TAPELENS_GUARDED_BY(lock_);
};
Addresses& addresses() {
  static auto* made = new Addresses;
  return *made;
}

// Wraps PyTorch's own allocator and swaps only the deleter.
class WatchedHostAllocator final : public at::HostAllocator {
 public:
  explicit WatchedHostAllocator(at::HostAllocator& inner) : inner_(inner) {}

  c10::DataPtr allocate(size_t bytes) override {
    c10::DataPtr data = inner_.allocate(bytes);
    if (data.get() == nullptr || !is_recording()) return data;
    observe::Thread& thread = observe::this_thread();
    if (thread.executes_on_cpu) return data;
    try {
      watch(thread, data, bytes);
    } catch (...) {
      g_spool.count(trace::Loss::unmatched_event);
    }
    return data;
  }
  c10::DeleterFnPtr raw_deleter() const override { return inner_.raw_deleter(); }
  bool is_simple_data_ptr(const c10::DataPtr& data) const override { return inner_.is_simple_data_ptr(data); }
  void copy_data(void* destination, const void* source, std::size_t count) const override {
    inner_.copy_data(destination, source, count);
  }

  bool record_event(void* data, void* context, c10::Stream stream) override {
    return inner_.record_event(data, context, stream);
  }
  void empty_cache() override { inner_.empty_cache(); }
  at::HostStats get_stats() override { return inner_.get_stats(); }
  void reset_accumulated_stats() override { inner_.reset_accumulated_stats(); }
  void reset_peak_stats() override { inner_.reset_peak_stats(); }
#if TAPELENS_HOST_ALLOCATOR_HAS_POOLS
  void begin_allocate_to_pool(c10::MempoolId_t pool, std::function<bool(c10::Stream)> filter) override {
    inner_.begin_allocate_to_pool(pool, std::move(filter));
  }
  void end_allocate_to_pool(c10::MempoolId_t pool) override { inner_.end_allocate_to_pool(pool); }
  void release_pool(c10::MempoolId_t pool) override { inner_.release_pool(pool); }
#endif
#if TAPELENS_HOST_ALLOCATOR_HAS_HISTORY
  void record_history(bool enabled, c10::CachingDeviceAllocator::CreateContextFn context_recorder, size_t max_entries,
                      c10::CachingDeviceAllocator::RecordContext when, bool clear) override {
    inner_.record_history(enabled, context_recorder, max_entries, when, clear);
  }
  bool is_history_enabled() const override { return inner_.is_history_enabled(); }
  std::vector<c10::CachingDeviceAllocator::HostSegmentInfo> get_segments() override { return inner_.get_segments(); }
  std::vector<c10::CachingDeviceAllocator::TraceEntry> get_traces() override { return inner_.get_traces(); }
  void record_external_register(void* data, size_t bytes) override { inner_.record_external_register(data, bytes); }
  void record_external_unregister(void* data) override { inner_.record_external_unregister(data); }
#endif

 private:
  static void watch(observe::Thread& thread, c10::DataPtr& data, size_t bytes) {
    const c10::DeleterFnPtr deleter = data.get_deleter();
    c10::DeleterFnPtr none = nullptr;
    // One allocator has one deleter. Memory with another deleter could not be freed correctly.
    if (!g_pinned_deleter.compare_exchange_strong(none, deleter) && none != deleter) return;
    addresses().add(data.get_context(), address_of(data.get()));
    (void)data.compare_exchange_deleter(deleter, &pinned_memory_freed);
    const uint8_t device = pinned_device_id(*thread.recording);
    write_allocation(thread, device, address_of(data.get()), bytes);
  }

  at::HostAllocator& inner_;
};

}  // namespace

void pinned_memory_freed(void* block) {
  // Written before the free, as for other memory.
  if (is_recording()) {
    if (const uint64_t address = addresses().take(block); address != 0) {
      ThreadState& thread = *observe::this_thread().recording;
      is_freed(address);
      thread.lane.write(trace::FreeRecord{header<trace::FreeRecord>(RecordKind::free, pinned_device_id(thread)),
                                          trace::ticks_now(), address});
    }
  }
  g_pinned_deleter.load(std::memory_order_relaxed)(block);
}

void watch_pinned_memory() {
  void* cuda = dlopen("libtorch_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
  if (cuda == nullptr) return;  // LibTorch throws if the requested allocator is not registered
  dlclose(cuda);
  try {
    if (at::HostAllocator* inner = at::getHostAllocator(c10::kCUDA)) {
      // With the priority of PyTorch's own: an allocator that the program registers, now or later, stays in place.
      g_pinned_inner = inner;
      g_pinned_watched = new WatchedHostAllocator(*inner);
      at::setHostAllocator(c10::kCUDA, g_pinned_watched);
    }
  } catch (const std::exception& failed) {
    observe::say(std::string("pinned memory cannot be watched: ") + failed.what());
  }
}

void unwatch_pinned_memory() try {
  if (g_pinned_watched != nullptr && at::getHostAllocator(c10::kCUDA) == g_pinned_watched) {
    at::setHostAllocator(c10::kCUDA, g_pinned_inner);
  }
} catch (const std::exception&) {  // no allocator is registered any more
}

}  // namespace tapelens::record
