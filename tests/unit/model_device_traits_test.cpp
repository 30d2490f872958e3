// The properties of devices, of known and of unknown types.
#include <gtest/gtest.h>

#include "analyzer/model/device_traits.h"
#include "analyzer/peak/analysis.h"
#include "testing/model_builder.h"

namespace tapelens::model {
namespace {

TEST(DeviceType, IsTheNameBeforeTheColon) {
  for (const char* name : {"cuda", "cuda:0", "cuda:17"}) EXPECT_EQ(device_type(name).name, "cuda") << name;
  EXPECT_EQ(device_type("cpu").name, "cpu");
  EXPECT_EQ(device_type("pinned").name, "pinned");
}

TEST(DeviceType, OfUnknownDevicesHasAnAllocatorAndNothingOfCudaOrOfTheHost) {
  for (const char* name : {"", ":", ":0", "xpu:0", "mps", "cudart:0", "cpu2", "CUDA:0"}) {
    const DeviceType& type = device_type(name);
    EXPECT_EQ(type.name, "") << name;
    EXPECT_TRUE(type.has_caching_allocator) << name;
    EXPECT_TRUE(type.has_segments) << name;
    EXPECT_FALSE(type.is_host) << name;
    EXPECT_FALSE(type.is_pageable) << name;
    EXPECT_FALSE(type.is_cuda) << name;
    EXPECT_FALSE(type.is_modelled) << name;
    EXPECT_EQ(type.memory_of_each, "") << name;
  }
}

TEST(DeviceNumber, FollowsTheColon) {
  EXPECT_EQ(device_number("cuda:0"), 0u);
  EXPECT_EQ(device_number("xpu:12"), 12u);
  for (const char* name : {"", "cpu", "cuda", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda:99999999999"}) {
    EXPECT_FALSE(device_number(name)) << name;
  }
}

class Devices {
 public:
  DeviceId add(std::string_view name) {
    text_.text.device_name.raw.push_back(text_.string(name).value);
    return DeviceId{static_cast<uint32_t>(text_.text.device_name.rows())};
  }
  void block(DeviceId device) { process_.device_blocks.allocation.raw.push_back(add_allocation(device).value); }
  void segment(DeviceId device) {
    process_.segment_events.time.raw.push_back(0);
    process_.segment_events.device.raw.push_back(device.value);
  }
  void information(std::string_view key, std::string_view value) {
    process_.information.push_back({text_.string(key), text_.string(value)});
  }
  const Text& text() const { return text_.text; }
  const Process& process() const { return process_; }

 private:
  AllocationId add_allocation(DeviceId device) {
    process_.allocations.device.raw.push_back(device.value);
    return AllocationId{static_cast<uint32_t>(process_.allocations.device.raw.size() - 1)};
  }

  testing::TextBuilder text_;
  Process process_;
};

TEST(DeviceTraits, AreThoseOfTheTypeAndOfTheRecording) {
  Devices devices;
  const DeviceId xpu = devices.add("xpu:0"), idle = devices.add("xpu:1"), pinned = devices.add("pinned");
  devices.block(xpu);
  devices.block(testing::kCuda);
  devices.block(pinned);
  devices.segment(testing::kCuda);
  const std::vector<DeviceTraits> all = device_traits(devices.process(), devices.text());
  EXPECT_TRUE(all[xpu.value].is_gpu());
  EXPECT_FALSE(all[xpu.value].has_segments);
  EXPECT_FALSE(all[xpu.value].type->is_cuda);
  EXPECT_FALSE(all[idle.value].is_gpu());
  EXPECT_TRUE(all[testing::kCuda.value].is_gpu());
  EXPECT_TRUE(all[testing::kCuda.value].has_segments);
  EXPECT_TRUE(all[pinned.value].has_blocks);
  EXPECT_FALSE(all[pinned.value].is_gpu());
  EXPECT_FALSE(all[testing::kCpu.value].has_blocks);
  EXPECT_FALSE(all[0].is_gpu());    // an allocation of a damaged recording
  EXPECT_FALSE(all[255].is_gpu());  // a device without a name
}

TEST(DeviceTraits, TheMemoryOfADeviceOfAnUnknownTypeIsNotThatOfTheGpuWithItsNumber) {
  Devices devices;
  const DeviceId xpu = devices.add("xpu:0");
  devices.information("cuda_memory:0", "1000");
  devices.information("simulated_gpu_bytes", "2000");
  devices.information("host_bytes", "3000");
  const peak::Analysis analysis(devices.process(), devices.text());
  EXPECT_EQ(analysis.bytes_noted(testing::kCuda, &DeviceType::memory), 1000u);
  EXPECT_EQ(analysis.memory_of(testing::kCuda), Bytes{2000});
  EXPECT_EQ(analysis.memory_of(testing::kCpu), Bytes{3000});
  EXPECT_EQ(analysis.bytes_noted(xpu, &DeviceType::memory), allocator::kNoLimit);
  EXPECT_EQ(analysis.memory_of(xpu), std::nullopt);
}

}  // namespace
}  // namespace tapelens::model
