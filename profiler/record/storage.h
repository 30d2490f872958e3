// Reads a tensor's memory properties without side effects: no materialization of copy-on-write, no checks that throw.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/impl/COWDeleter.h>

#include <atomic>
#include <cstdint>

#include "profiler/record/thread_state.h"

namespace tapelens::record {

inline constexpr uint8_t kCpuDevice = 1;  // the first that is written

// The number of a device in the recording. Its lock is held only around the recording's own locks.
uint8_t device_id(ThreadState& thread, c10::Device device);
// The deleter of memory from CUDA's allocator, which profiler/cuda records; null until it is known.
extern std::atomic<c10::DeleterFnPtr> g_device_deleter;
uint8_t pinned_device_id(ThreadState& thread);  // of pinned host memory
// The stack of an allocation. 0 inside an operator: the allocation has the operator's stack. Memory that Python
// allocates below the dispatcher (a storage, Inductor code) has its own stack. Outside of --steps operators are not
// recorded, and the open call has the stack.
uint32_t stack_of_allocation(observe::Thread& thread, uint32_t (*stack_here)(observe::Thread&));
// Writes an allocation at this time, with its stack.
void write_allocation(observe::Thread& thread, uint8_t device, uint64_t address, uint64_t bytes);
void memory_freed(void* data);          // the deleter of every watched allocation (allocations.cpp)
void pinned_memory_freed(void* block);  // the same for pinned memory (pinned_memory.cpp)
void watch_pinned_memory();             // called once, when the recording begins
void unwatch_pinned_memory();           // LibTorch has its own allocator again
// The address that names a parameter in the recording: its storage's. For a wrapper subclass, which has no storage,
// that of its first inner tensor, once reported (roles.cpp).
uint64_t parameter_address(ThreadState& thread, const c10::TensorImpl& parameter);
void write_foreign(ThreadState& thread, uint64_t address, uint64_t bytes, c10::Device device);

struct StorageView {
  uint64_t address = 0;  // 0: no storage, or no bytes
  uint64_t bytes = 0;
};

// The memory of a storage. Memory that no watched allocator made is recorded as foreign at its first use.
inline StorageView view_of(ThreadState& thread, const c10::StorageImpl* storage) {
  if (storage == nullptr) return {};
  const c10::DataPtr& data = const_cast<c10::StorageImpl*>(storage)->_mutable_data_ptr_no_checks();
  const uint64_t address = address_of(data.get());
  if (address == 0) return {};
  const c10::SymInt size = storage->sym_nbytes();
  // Almost always a plain number. Without the optional, which would go through the stack: this path is hot.
  const int64_t bytes = size.is_heap_allocated() ? size.maybe_as_int().value_or(0) : size.as_int_unchecked();
  const StorageView view{address, static_cast<uint64_t>(bytes)};
  const c10::DeleterFnPtr deleter = data.get_deleter();
  const bool is_watched = deleter == &memory_freed || deleter == &pinned_memory_freed ||
                          deleter == &c10::impl::cow::cow_deleter ||
                          deleter == g_device_deleter.load(std::memory_order_relaxed);
  if (!is_watched && view.bytes != 0) {
    ThreadState::Foreign& seen = thread.foreigns[slot_of(address, thread.foreigns.size())];
    if (seen.address != view.address || seen.bytes != view.bytes) {
      seen = {view.address, view.bytes};
      write_foreign(thread, view.address, view.bytes, data.device());
    }
  }
  return view;
}

// The storage of a tensor.
inline StorageView storage_of(ThreadState& thread, const c10::TensorImpl& tensor) {
  return view_of(thread, tensor.unsafe_storage().unsafeGetStorageImpl());
}

}  // namespace tapelens::record
