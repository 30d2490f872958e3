// What of CUPTI is declared by ourselves, against the headers of a CUPTI where the build has some.
#include <gtest/gtest.h>

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

TEST(CuptiLayout, OlderVersionsAreShorter) {
  EXPECT_EQ(kShortest, sizeof(CUpti_ActivityMemory2));
  EXPECT_EQ(kWithoutSource, sizeof(CUpti_ActivityMemory3));
}

}  // namespace
}  // namespace tapelens::cupti
#endif
