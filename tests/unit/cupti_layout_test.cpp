// Our declarations of CUPTI, compared with CUPTI's headers if the build has them.
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "profiler/cupti/calls.h"
#include "profiler/cupti/layout.h"

#if __has_include(<cupti.h>)
#include <cupti.h>

namespace tapelens::cupti {
namespace {

TEST(CuptiLayout, IsThatOfTheHeaders) {
  EXPECT_EQ(sizeof(MemoryActivity), sizeof(CUpti_ActivityMemory4));
  EXPECT_EQ(offsetof(MemoryActivity, operation), offsetof(CUpti_ActivityMemory4, memoryOperationType));
  EXPECT_EQ(offsetof(MemoryActivity, memory_kind), offsetof(CUpti_ActivityMemory4, memoryKind));
  EXPECT_EQ(offsetof(MemoryActivity, correlation), offsetof(CUpti_ActivityMemory4, correlationId));
  EXPECT_EQ(offsetof(MemoryActivity, address), offsetof(CUpti_ActivityMemory4, address));
  EXPECT_EQ(offsetof(MemoryActivity, bytes), offsetof(CUpti_ActivityMemory4, bytes));
  EXPECT_EQ(offsetof(MemoryActivity, timestamp), offsetof(CUpti_ActivityMemory4, timestamp));
  EXPECT_EQ(offsetof(MemoryActivity, process), offsetof(CUpti_ActivityMemory4, processId));
  EXPECT_EQ(offsetof(MemoryActivity, device), offsetof(CUpti_ActivityMemory4, deviceId));
  EXPECT_EQ(offsetof(MemoryActivity, stream), offsetof(CUpti_ActivityMemory4, streamId));
  EXPECT_EQ(offsetof(MemoryActivity, is_async), offsetof(CUpti_ActivityMemory4, isAsync));
  EXPECT_EQ(offsetof(MemoryActivity, pool), offsetof(CUpti_ActivityMemory4, memoryPoolConfig));
  EXPECT_EQ(offsetof(MemoryActivity, source), offsetof(CUpti_ActivityMemory4, source));
  using Pool = decltype(CUpti_ActivityMemory4::memoryPoolConfig);
  EXPECT_EQ(sizeof(MemoryActivity::pool), sizeof(Pool));
  EXPECT_EQ(offsetof(MemoryActivity, pool.type), offsetof(CUpti_ActivityMemory4, memoryPoolConfig.memoryPoolType));
  EXPECT_EQ(offsetof(MemoryActivity, pool.address), offsetof(CUpti_ActivityMemory4, memoryPoolConfig.address));
  EXPECT_EQ(offsetof(MemoryActivity, pool.reserved), offsetof(CUpti_ActivityMemory4, memoryPoolConfig.pool.size));
  EXPECT_EQ(offsetof(MemoryActivity, pool.used), offsetof(CUpti_ActivityMemory4, memoryPoolConfig.utilizedSize));
  EXPECT_EQ(kLocalPool, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
  EXPECT_EQ(kMemoryPool, CUPTI_ACTIVITY_KIND_MEMORY_POOL);
  EXPECT_EQ(kMemory2, CUPTI_ACTIVITY_KIND_MEMORY2);
  EXPECT_EQ(kForced, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  EXPECT_EQ(static_cast<int>(Operation::release), CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
  EXPECT_EQ(static_cast<int>(MemoryKind::pinned), CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
  EXPECT_EQ(static_cast<int>(MemoryKind::device), CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  EXPECT_EQ(static_cast<int>(MemoryKind::managed_static), CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC);
  EXPECT_EQ(static_cast<int>(Result::invalid_kind), CUPTI_ERROR_INVALID_KIND);
  EXPECT_EQ(static_cast<int>(Result::multiple_subscribers), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_EQ(static_cast<int>(Result::insufficient_privileges), CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
#ifdef CUpti_SubscriberParams_STRUCT_SIZE
  EXPECT_EQ(offsetof(SubscriberParameters, holder), offsetof(CUpti_SubscriberParams, oldSubscriberName));
  EXPECT_EQ(offsetof(SubscriberParameters, holder_room), offsetof(CUpti_SubscriberParams, oldSubscriberSize));
  EXPECT_LE(sizeof(SubscriberParameters), CUpti_SubscriberParams_STRUCT_SIZE);
#endif
}

TEST(CuptiLayout, OfPools) {
  EXPECT_EQ(sizeof(PoolActivity), sizeof(CUpti_ActivityMemoryPool3));
  EXPECT_EQ(kWithUsed, sizeof(CUpti_ActivityMemoryPool2));
  EXPECT_EQ(offsetof(PoolActivity, operation), offsetof(CUpti_ActivityMemoryPool3, memoryPoolOperationType));
  EXPECT_EQ(offsetof(PoolActivity, type), offsetof(CUpti_ActivityMemoryPool3, memoryPoolType));
  EXPECT_EQ(offsetof(PoolActivity, device), offsetof(CUpti_ActivityMemoryPool3, deviceId));
  EXPECT_EQ(offsetof(PoolActivity, address), offsetof(CUpti_ActivityMemoryPool3, address));
  EXPECT_EQ(offsetof(PoolActivity, reserved), offsetof(CUpti_ActivityMemoryPool3, size));
  EXPECT_EQ(offsetof(PoolActivity, timestamp), offsetof(CUpti_ActivityMemoryPool3, timestamp));
  EXPECT_EQ(offsetof(PoolActivity, used), offsetof(CUpti_ActivityMemoryPool3, utilizedSize));
  EXPECT_EQ(static_cast<int>(PoolOperation::destroyed), CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED);
  EXPECT_EQ(static_cast<int>(PoolOperation::trimmed), CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED);
}

TEST(CuptiLayout, OfCallbacks) {
  EXPECT_EQ(sizeof(CallbackData), sizeof(CUpti_CallbackData));
  EXPECT_EQ(offsetof(CallbackData, site), offsetof(CUpti_CallbackData, callbackSite));
  EXPECT_EQ(offsetof(CallbackData, parameters), offsetof(CUpti_CallbackData, functionParams));
  EXPECT_EQ(offsetof(CallbackData, result), offsetof(CUpti_CallbackData, functionReturnValue));
  EXPECT_EQ(offsetof(CallbackData, from_enter_to_exit), offsetof(CUpti_CallbackData, correlationData));
  EXPECT_EQ(offsetof(CallbackData, correlation), offsetof(CUpti_CallbackData, correlationId));
  EXPECT_EQ(static_cast<int>(Domain::driver), CUPTI_CB_DOMAIN_DRIVER_API);
  EXPECT_EQ(static_cast<int>(Domain::runtime), CUPTI_CB_DOMAIN_RUNTIME_API);
  EXPECT_EQ(static_cast<int>(CallbackSite::enter), CUPTI_API_ENTER);
  EXPECT_EQ(static_cast<int>(CallbackSite::exit), CUPTI_API_EXIT);
  EXPECT_EQ(sizeof(CUresult), sizeof(int));
}

TEST(CuptiLayout, OfFunctionsOfVirtualMemory) {
  EXPECT_EQ(kMemCreate, CUPTI_DRIVER_TRACE_CBID_cuMemCreate);
  EXPECT_EQ(kMemRelease, CUPTI_DRIVER_TRACE_CBID_cuMemRelease);
  EXPECT_EQ(kMemMap, CUPTI_DRIVER_TRACE_CBID_cuMemMap);
  EXPECT_EQ(kMemUnmap, CUPTI_DRIVER_TRACE_CBID_cuMemUnmap);
  EXPECT_EQ(kMemRetain, CUPTI_DRIVER_TRACE_CBID_cuMemRetainAllocationHandle);
  EXPECT_EQ(sizeof(CreateParameters), sizeof(cuMemCreate_params));
  EXPECT_EQ(offsetof(CreateParameters, bytes), offsetof(cuMemCreate_params, size));
  EXPECT_EQ(offsetof(CreateParameters, properties), offsetof(cuMemCreate_params, prop));
  EXPECT_EQ(offsetof(AllocationProperties, location_type), offsetof(CUmemAllocationProp, location.type));
  EXPECT_EQ(offsetof(AllocationProperties, location), offsetof(CUmemAllocationProp, location.id));
  EXPECT_EQ(kOnDevice, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(sizeof(ReleaseParameters), sizeof(cuMemRelease_params));
  EXPECT_EQ(sizeof(MapParameters), sizeof(cuMemMap_params));
  EXPECT_EQ(offsetof(MapParameters, address), offsetof(cuMemMap_params, ptr));
  EXPECT_EQ(offsetof(MapParameters, handle), offsetof(cuMemMap_params, handle));
  EXPECT_EQ(sizeof(UnmapParameters), sizeof(cuMemUnmap_params));
  EXPECT_EQ(offsetof(UnmapParameters, bytes), offsetof(cuMemUnmap_params, size));
  EXPECT_EQ(sizeof(RetainParameters), sizeof(cuMemRetainAllocationHandle_params));
  EXPECT_EQ(offsetof(RetainParameters, handle), offsetof(cuMemRetainAllocationHandle_params, handle));
}

// The callbacks that enable_calls() requests. calls.cpp has their names beside their numbers.
std::set<std::pair<Domain, uint32_t>> g_asked;

TEST(CuptiLayout, OfFunctionsThatAreToldOf) {
  Functions functions;
  functions.enable_callback = [](uint32_t, Subscriber, Domain domain, uint32_t function) {
    g_asked.emplace(domain, function);
    return Result::success;
  };
  ASSERT_EQ(enable_calls(functions, nullptr), Result::success);
  const std::set<std::pair<Domain, uint32_t>> expected = {
      {Domain::driver, CUPTI_DRIVER_TRACE_CBID_cuMemCreate},
      {Domain::driver, CUPTI_DRIVER_TRACE_CBID_cuMemRelease},
      {Domain::driver, CUPTI_DRIVER_TRACE_CBID_cuMemMap},
      {Domain::driver, CUPTI_DRIVER_TRACE_CBID_cuMemUnmap},
      {Domain::driver, CUPTI_DRIVER_TRACE_CBID_cuMemRetainAllocationHandle},
      {Domain::driver, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2},
      {Domain::driver, CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2},
      {Domain::driver, CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged},
      {Domain::driver, CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync},
      {Domain::driver, CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz},
      {Domain::driver, CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync},
      {Domain::driver, CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz},
      {Domain::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020},
      {Domain::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaMallocPitch_v3020},
      {Domain::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaMallocArray_v3020},
      {Domain::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc3D_v3020},
      {Domain::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc3DArray_v3020},
      {Domain::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaMallocManaged_v6000},
      {Domain::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020},
      {Domain::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_ptsz_v11020},
      {Domain::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_v11020},
      {Domain::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_ptsz_v11020},
  };
  EXPECT_EQ(g_asked, expected);
}

TEST(CuptiLayout, OlderVersionsAreShorter) {
  EXPECT_EQ(kShortest, sizeof(CUpti_ActivityMemory2));
  EXPECT_EQ(kWithoutSource, sizeof(CUpti_ActivityMemory3));
}

}  // namespace
}  // namespace tapelens::cupti
#endif
