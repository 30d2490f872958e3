// What CUPTI tells of memory: an activity for each allocation and free of the driver's, in buffers of the client's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapelens::simulated {

// CUpti_ActivityMemoryKind
enum class ActivityMemory : uint32_t { pinned = 2, device = 3, managed = 5 };

// Which library called CUDA: in each function that hands out memory, before anything else. Where one of these calls
// another, the outermost counts. `name`: of a library whose place is taken by this one.
class Caller {
 public:
  explicit Caller(const void* return_address, const char* name = nullptr);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

 private:
  bool is_outermost_;
};

// Memory was handed out, or is about to be given back. No lock of the memory may be held.
struct MemoryActivity {
  bool is_allocation;
  ActivityMemory kind;
  const void* address;
  size_t bytes;
  int device;
  bool is_async;
};
void tell_memory(const MemoryActivity& activity);

}  // namespace tapelens::simulated
