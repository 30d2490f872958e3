// What CUPTI tells of memory: an activity for each allocation and free of the driver's, in buffers of the client's, and
// callbacks as functions that hand out memory begin and end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapelens::simulated {

// CUpti_ActivityMemoryKind
enum class ActivityMemory : uint32_t { pinned = 2, device = 3, managed = 5 };

// A function of CUDA as CUPTI numbers it: CUpti_CallbackDomain, and the number in it.
struct Function {
  int domain;
  uint32_t number;
};
// Of host memory there are no callbacks here.
constexpr Function kNoFunction{};
constexpr Function kMemAlloc{1, 243}, kMemCreate{1, 549}, kMemRelease{1, 550}, kMemMap{1, 551}, kMemUnmap{1, 552},
    kMemRetain{1, 565};
constexpr Function kMalloc{2, 20}, kMallocPitch{2, 21}, kMallocManaged{2, 206}, kMallocAsync{2, 373},
    kMallocFromPoolAsync{2, 391};

// A call of CUDA, from its begin to its end: in each function that hands out memory, before anything else. Where one of
// these calls another, the outermost counts. The client of CUPTI is called as it begins and as it ends.
class Call {
 public:
  // `name`: of a library whose place is taken by this one.
  Call(Function function, const void* return_address, const char* name = nullptr);
  // One of which the client is given the parameters; `result` is what the function returns, when it does.
  Call(Function function, const void* parameters, const int* result);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  void tell(int site);

  Function function_;
  const void* parameters_ = nullptr;
  const int* result_ = nullptr;
  uint64_t between_ = 0;  // the client's, from the begin to the end
  bool is_outermost_;
};

// Of the outermost call of this thread.
const void* caller_address();
const char* caller_name();  // null: that of the library at the address
uint32_t correlation();     // of a call that is not one of these: a new number

// Memory was handed out, or given back.
struct PoolNow {
  const void* pool = nullptr;  // null: it is of no pool
  uint64_t threshold = 0, reserved = 0, used = 0;
};
struct MemoryActivity {
  bool is_allocation;
  ActivityMemory kind;
  const void* address;
  size_t bytes;
  int device;
  bool is_async;
  PoolNow pool{};  // behind it
};
// No lock of the memory may be held.
void tell_memory(const MemoryActivity& activity);

// CUpti_ActivityMemoryPoolOperationType
enum class PoolOperation : uint32_t { created = 1, destroyed = 2, trimmed = 3 };
void tell_pool(PoolOperation operation, int device, const PoolNow& pool, uint64_t kept = 0);

}  // namespace tapelens::simulated
