// The CUDA runtime: memory pools (cudaMallocAsync), one for each GPU and those that a program makes. A pool keeps freed
// memory up to its threshold.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "simulated/device/activities.h"
#include "simulated/device/memory.h"
#include "simulated/device/state.h"
#include "simulated/device/streams.h"

using namespace tapelens::simulated;

namespace {

constexpr uint64_t kBlock = uint64_t{32} << 20;  // growth of the driver's pools
constexpr uint64_t kRounding = 512;

struct Pool {
  int device;
  bool is_begun;
  uint64_t threshold;  // bytes to keep when all is free
  uint64_t reserved, most_reserved, used, most_used;
};

// cudaMemPoolAttr
enum PoolAttribute : int {
  kReuseFollow = 1,
  kReuseOpportunistic,
  kReuseInternal,
  kThreshold,
  kReserved,
  kMostReserved,
  kUsed,
  kMostUsed
};

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;  // guards the pools; memory.h's lock is taken while it is held
Pool g_pools[kMostDevices];

Pool* pool_of(int device) {
  Pool* pool = &g_pools[device];
  pool->device = device;
  return pool;
}

void shrink(Pool* pool, uint64_t keep) {
  const uint64_t needed = (pool->used + kBlock - 1) / kBlock * kBlock;
  const uint64_t wanted = needed > keep ? needed : keep;
  if (pool->reserved <= wanted) return;
  give_bytes(pool->device, pool->reserved - wanted);
  pool->reserved = wanted;
}

// The state of a pool in CUPTI's terms.
PoolNow now(const Pool* pool) { return {pool, pool->threshold, pool->reserved, pool->used}; }
PoolNow now_locked(const Pool* pool) {
  const Lock lock(g_mutex);
  return now(pool);
}

// Adds to the pool's bytes; false if the GPU has no room.
bool take(Pool* pool, uint64_t bytes) {
  const Lock lock(g_mutex);
  if (pool->used + bytes > pool->reserved) {
    const uint64_t more = (pool->used + bytes - pool->reserved + kBlock - 1) / kBlock * kBlock;
    if (!take_bytes(pool->device, more)) return false;
    pool->reserved += more;
    if (pool->reserved > pool->most_reserved) pool->most_reserved = pool->reserved;
  }
  pool->used += bytes;
  if (pool->used > pool->most_used) pool->most_used = pool->used;
  return true;
}

}  // namespace

TAPELENS_CUDA int cudaDeviceGetDefaultMemPool(void** pool, int device) {
  if (!is_device(device)) return failed(kInvalidDevice);
  *pool = pool_of(device);
  return kSuccess;
}

TAPELENS_CUDA int cudaDeviceGetMemPool(void** pool, int device) { return cudaDeviceGetDefaultMemPool(pool, device); }
TAPELENS_CUDA int cudaDeviceSetMemPool(int, void*) { return kSuccess; }
TAPELENS_CUDA int cudaMemPoolSetAccess(void*, const void*, size_t) { return kSuccess; }

TAPELENS_CUDA int cudaMallocFromPoolAsync(void** memory, size_t bytes, void* pool, void* stream) {
  const Call call(kMallocFromPoolAsync, __builtin_return_address(0));
  *memory = nullptr;
  if (bytes == 0) return kSuccess;
  count_node(stream);
  auto* from = static_cast<Pool*>(pool);
  begin_context(from->device);
  const size_t whole = (bytes + kRounding - 1) / kRounding * kRounding;
  if (!take(from, whole)) return failed(kOutOfMemory);
  char* begin = map_memory(whole, 1);
  if (begin == nullptr) {
    const Lock lock(g_mutex);
    from->used -= whole;
    return failed(kOutOfMemory);
  }
  add_range({begin, whole, Kind::pooled, from->device, true, nullptr, from});
  tell_memory({true, ActivityMemory::device, begin, whole, from->device, true, now_locked(from)});
  *memory = begin;
  return kSuccess;
}

TAPELENS_CUDA int cudaMallocAsync(void** memory, size_t bytes, void* stream) {
  const Call call(kMallocAsync, __builtin_return_address(0));
  if (device_count() == 0) return failed(kNoDevice);
  return cudaMallocFromPoolAsync(memory, bytes, pool_of(current_device()), stream);
}

TAPELENS_CUDA int cudaFreeAsync(void* memory, void* stream) {
  if (memory == nullptr) return kSuccess;
  count_node(stream);
  const MemoryRange range = find_range(memory);
  if (range.kind != Kind::pooled) return failed(release(memory));
  auto* pool = static_cast<Pool*>(range.pool);
  PoolNow left;
  {
    const Lock lock(g_mutex);
    pool->used -= range.bytes;
    shrink(pool, pool->threshold);
    left = now(pool);
  }
  tell_memory({false, ActivityMemory::device, range.begin, range.bytes, range.device, true, left});
  take_range(memory);
  munmap(range.begin, range.bytes);
  return kSuccess;
}

TAPELENS_CUDA int cudaMemPoolTrimTo(void* pool, size_t keep) {
  auto* of = static_cast<Pool*>(pool);
  PoolNow left;
  {
    const Lock lock(g_mutex);
    shrink(of, keep);
    left = now(of);
  }
  tell_pool(PoolOperation::trimmed, of->device, left, keep);
  return kSuccess;
}

// The start of cudaMemPoolProps.
struct PoolProperties {
  int type, shareable, location_type, location;
};

TAPELENS_CUDA int cudaMemPoolCreate(void** pool, const PoolProperties* properties) {
  if (properties->location_type != 1 || !is_device(properties->location)) return failed(kInvalidValue);
  if (properties->shareable != 0) return failed(unsupported(Unsupported::shared_memory));
  auto* made = make_handle<Pool>();
  made->device = properties->location;
  *pool = made;
  tell_pool(PoolOperation::created, made->device, now_locked(made));
  return kSuccess;
}

// CUDA keeps a pool until its memory is freed; here its bytes count until the process ends.
TAPELENS_CUDA int cudaMemPoolDestroy(void* pool) {
  auto* of = static_cast<Pool*>(pool);
  if (of >= g_pools && of < g_pools + kMostDevices) return failed(kInvalidValue);
  {
    const Lock lock(g_mutex);
    of->threshold = 0;
    shrink(of, 0);
    if (of->used != 0) return kSuccess;  // it lives as long as the program
  }
  tell_pool(PoolOperation::destroyed, of->device, {of});
  std::free(of);
  return kSuccess;
}

TAPELENS_CUDA int cudaMemPoolGetAttribute(void* pool, int attribute, void* value) {
  const Lock lock(g_mutex);
  const auto* of = static_cast<Pool*>(pool);
  const auto put = [value](uint64_t bytes) { std::memcpy(value, &bytes, sizeof(bytes)); };
  switch (attribute) {
    case kReuseFollow:
    case kReuseOpportunistic:
    case kReuseInternal:
      *static_cast<int*>(value) = 1;
      break;
    case kThreshold:
      put(of->threshold);
      break;
    case kReserved:
      put(of->reserved);
      break;
    case kMostReserved:
      put(of->most_reserved);
      break;
    case kUsed:
      put(of->used);
      break;
    case kMostUsed:
      put(of->most_used);
      break;
    default:
      return failed(kInvalidValue);
  }
  return kSuccess;
}

TAPELENS_CUDA int cudaMemPoolSetAttribute(void* pool, int attribute, void* value) {
  const Lock lock(g_mutex);
  auto* of = static_cast<Pool*>(pool);
  uint64_t bytes = 0;
  switch (attribute) {
    case kReuseFollow:
    case kReuseOpportunistic:
    case kReuseInternal:
      break;
    case kThreshold:
      std::memcpy(&bytes, value, sizeof(bytes));
      of->threshold = bytes;
      break;
    case kMostReserved:
      of->most_reserved = of->reserved;
      break;  // can only be reset
    case kMostUsed:
      of->most_used = of->used;
      break;
    default:
      return failed(kInvalidValue);
  }
  return kSuccess;
}

TAPELENS_CUDA int cudaDeviceGetGraphMemAttribute(int, int, void* value) {
  std::memset(value, 0, sizeof(uint64_t));
  return kSuccess;
}

TAPELENS_CUDA int cudaDeviceSetGraphMemAttribute(int, int, void*) { return kSuccess; }
