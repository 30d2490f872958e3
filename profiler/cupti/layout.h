// The used part of CUPTI's C interface, declared here: nothing of CUPTI is linked or included, because a recording uses
// the CUPTI version of the program's PyTorch. In builds with CUPTI's headers (the wheel nvidia-cuda-cupti),
// tests/unit/cupti_layout_test.cpp compares these declarations with them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tapelens::cupti {

// CUptiResult; only the values that are distinguished.
enum class Result : int {
  success = 0,
  max_limit_reached = 12,
  not_initialized = 15,
  invalid_kind = 21,
  not_supported = 27,
  virtualized_device = 33,
  insufficient_privileges = 35,
  multiple_subscribers = 39,
  virtualized_device_insufficient_privileges = 40,
};

// CUpti_ActivityKind
inline constexpr uint32_t kMemory2 = 49;
inline constexpr uint32_t kMemoryPool = 50;
// cuptiActivityFlushAll: CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
inline constexpr uint32_t kForced = 1;

// CUpti_ActivityMemoryOperationType
enum class Operation : uint32_t { allocation = 1, release = 2 };

// CUpti_ActivityMemoryKind
enum class MemoryKind : uint32_t {
  unknown = 0,
  pageable = 1,
  pinned = 2,
  device = 3,
  array = 4,
  managed = 5,
  device_static = 6,
  managed_static = 7,
};

// CUpti_ActivityMemoryPoolType: one of this process
inline constexpr uint32_t kLocalPool = 1;
// CUpti_ActivityMemoryPoolOperationType
enum class PoolOperation : uint32_t { created = 1, destroyed = 2, trimmed = 3 };

// CUpti_Activity
struct ActivityHeader {
  uint32_t kind;
};

// CUpti_ActivityMemory4. All versions since CUDA 11.1 have the same start. `source` exists if
// cuptiActivityEnableAllocationSource does. Records are aligned to 8.
struct MemoryActivity {
  uint32_t kind;
  uint32_t operation;
  uint32_t memory_kind;
  uint32_t correlation;
  uint64_t address;
  uint64_t bytes;
  uint64_t timestamp;  // ns of cuptiGetTimestamp
  uint64_t program_counter;
  uint32_t process;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  const char* name;
  uint32_t is_async;
  uint32_t padding;
  struct {
    uint32_t type;  // 0: no pool
    uint32_t padding;
    uint64_t address;
    uint64_t release_threshold;
    uint64_t reserved;  // bytes that the pool has
    uint64_t used;      // bytes of `reserved` in use
  } pool;
  const char* source;  // the path of the library that requested the memory
};
inline constexpr size_t kWithoutSource = offsetof(MemoryActivity, source);
// The size of the first version, CUpti_ActivityMemory2, which ends with the size of the pool.
inline constexpr size_t kShortest = kWithoutSource - sizeof(uint64_t);

// CUpti_ActivityMemoryPool3; the second version ends with `used`.
struct PoolActivity {
  uint32_t kind;
  uint32_t operation;
  uint32_t type;
  uint32_t correlation;
  uint32_t process;
  uint32_t device;
  uint64_t least_kept;
  uint64_t address;
  uint64_t reserved;
  uint64_t release_threshold;
  uint64_t timestamp;
  uint64_t used;
  uint8_t is_managed;
  uint8_t padding[7];
};
inline constexpr size_t kWithUsed = offsetof(PoolActivity, is_managed);

// CUpti_CallbackDomain
enum class Domain : int { driver = 1, runtime = 2 };
// CUpti_ApiCallbackSite
enum class CallbackSite : int { enter = 0, exit = 1 };
// Functions of the driver, CUpti_driver_api_trace_cbid.
inline constexpr uint32_t kMemCreate = 549, kMemRelease = 550, kMemMap = 551, kMemUnmap = 552, kMemRetain = 565;

// CUpti_CallbackData
struct CallbackData {
  CallbackSite site;
  const char* function;
  const void* parameters;
  const int* result;  // CUresult, for the driver's functions; set at the exit
  const char* symbol;
  void* context;
  uint32_t context_id;
  uint64_t* from_enter_to_exit;
  uint32_t correlation;
};
// Parameters of the driver's functions: cuMemCreate_params_st and so on.
struct AllocationProperties {  // the begin of CUmemAllocationProp
  int type, shareable;
  int location_type;  // kOnDevice
  int location;
};
inline constexpr int kOnDevice = 1;
struct CreateParameters {
  const uint64_t* handle;
  size_t bytes;
  const AllocationProperties* properties;
  unsigned long long flags;
};
struct ReleaseParameters {
  uint64_t handle;
};
struct MapParameters {
  uint64_t address;
  size_t bytes;
  size_t offset;
  uint64_t handle;
  unsigned long long flags;
};
struct UnmapParameters {
  uint64_t address;
  size_t bytes;
};
struct RetainParameters {
  const uint64_t* handle;
  void* address;
};

// CUpti_SubscriberParams in its first version: `bytes` tells CUPTI that later fields do not exist.
struct SubscriberParameters {
  size_t bytes;
  const char* name;
  char* holder;  // the current subscriber, if another tool is subscribed
  size_t holder_room;
};

using Subscriber = void*;
using Callback = void (*)(void* data, Domain domain, uint32_t function, const CallbackData* call);
using RequestBuffer = void (*)(uint8_t** buffer, size_t* bytes, size_t* most_records);
using CompleteBuffer = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes, size_t valid);

// The CUPTI functions in use. Those marked "or null" do not exist in all versions.
struct Functions {
  Result (*get_version)(uint32_t*) = nullptr;
  Result (*get_result_string)(Result, const char**) = nullptr;
  Result (*subscribe)(Subscriber*, Callback, void* data) = nullptr;
  Result (*subscribe_v2)(Subscriber*, Callback, void* data, const SubscriberParameters*) = nullptr;  // or null
  Result (*unsubscribe)(Subscriber) = nullptr;
  Result (*enable_callback)(uint32_t on, Subscriber, Domain, uint32_t function) = nullptr;
  Result (*register_callbacks)(RequestBuffer, CompleteBuffer) = nullptr;
  Result (*enable)(uint32_t kind) = nullptr;
  Result (*disable)(uint32_t kind) = nullptr;
  Result (*enable_source)(uint8_t) = nullptr;  // or null
  Result (*flush_all)(uint32_t flag) = nullptr;
  Result (*get_next_record)(uint8_t* buffer, size_t valid, ActivityHeader** record) = nullptr;
  Result (*get_dropped)(void* context, uint32_t stream, size_t* dropped) = nullptr;
  Result (*get_timestamp)(uint64_t* ns) = nullptr;
};

// Calls visit(name, pointer, is_optional) for each, with the name in the library.
template <class Visit>
void each_function(Functions& f, Visit&& visit) {
  visit("cuptiGetVersion", f.get_version, false);
  visit("cuptiGetResultString", f.get_result_string, false);
  visit("cuptiSubscribe", f.subscribe, false);
  visit("cuptiSubscribe_v2", f.subscribe_v2, true);
  visit("cuptiUnsubscribe", f.unsubscribe, false);
  visit("cuptiEnableCallback", f.enable_callback, false);
  visit("cuptiActivityRegisterCallbacks", f.register_callbacks, false);
  visit("cuptiActivityEnable", f.enable, false);
  visit("cuptiActivityDisable", f.disable, false);
  visit("cuptiActivityEnableAllocationSource", f.enable_source, true);
  visit("cuptiActivityFlushAll", f.flush_all, false);
  visit("cuptiActivityGetNextRecord", f.get_next_record, false);
  visit("cuptiActivityGetNumDroppedRecords", f.get_dropped, false);
  visit("cuptiGetTimestamp", f.get_timestamp, false);
}

}  // namespace tapelens::cupti
