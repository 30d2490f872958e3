// CUPTI's memory events: an activity for each allocation and free of the driver, in the client's buffers, and callbacks
// at the begin and end of functions that allocate memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapelens::simulated {

// CUpti_ActivityMemoryKind
enum class ActivityMemory : uint32_t { pinned = 2, device = 3, managed = 5 };

// A CUDA function in CUPTI's numbers: CUpti_CallbackDomain, and the number in the domain.
struct Function {
  int domain;
  uint32_t number;
};
// Host memory has no callbacks here.
constexpr Function kNoFunction{};
constexpr Function kMemAlloc{1, 243}, kMemCreate{1, 549}, kMemRelease{1, 550}, kMemMap{1, 551}, kMemUnmap{1, 552},
    kMemRetain{1, 565};
constexpr Function kMalloc{2, 20}, kMallocPitch{2, 21}, kMallocManaged{2, 206}, kMallocAsync{2, 373},
    kMallocFromPoolAsync{2, 391};

// A CUDA call, from begin to end. Each function that allocates memory makes one first. If such functions call each
// other, only the outermost counts. CUPTI's client is called at its begin and end.
class Call {
 public:
  // `name`: name of the replaced library; null: the name of the library at `return_address`.
  Call(Function function, const void* return_address, const char* name = nullptr);
  // A call whose parameters the client gets; `result` points to the function's result.
  Call(Function function, const void* parameters, const int* result);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  void tell(int site);

  Function function_;
  const void* parameters_ = nullptr;
  const int* result_ = nullptr;
  uint64_t between_ = 0;  // the client's data, from begin to end
  bool is_outermost_;
};

// Data of this thread's outermost call.
const void* caller_address();
const char* caller_name();  // null: the name of the library at the address
uint32_t correlation();     // a new number outside of such calls

// State of a pool at an allocation or free.
struct PoolNow {
  const void* pool = nullptr;  // null: not in a pool
  uint64_t threshold = 0, reserved = 0, used = 0;
};
struct MemoryActivity {
  bool is_allocation;
  ActivityMemory kind;
  const void* address;
  size_t bytes;
  int device;
  bool is_async;
  PoolNow pool{};  // after the operation
};
// Reports an allocation or a free. No lock of memory.h may be held.
void tell_memory(const MemoryActivity& activity);

// CUpti_ActivityMemoryPoolOperationType
enum class PoolOperation : uint32_t { created = 1, destroyed = 2, trimmed = 3 };
void tell_pool(PoolOperation operation, int device, const PoolNow& pool, uint64_t kept = 0);

}  // namespace tapelens::simulated
