#include "analyzer/model/device_traits.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "analyzer/model/model.h"
#include "analyzer/model/text.h"

namespace tapelens::model {
namespace {

constexpr std::array kTypes = {
    DeviceType{.name = "cpu", .is_host = true, .is_pageable = true, .memory_of_each = "host_bytes"},
    DeviceType{.name = "pinned", .is_host = true, .has_caching_allocator = true},
    DeviceType{.name = "cuda",
               .is_cuda = true,
               .has_caching_allocator = true,
               .has_segments = true,
               .is_modelled = true,
               .memory = "cuda_memory:",
               .memory_allowed = "cuda_memory_allowed:",
               .memory_of_each = "simulated_gpu_bytes"},
};
constexpr DeviceType kUnknown{.has_caching_allocator = true, .has_segments = true};

}  // namespace

const DeviceType& device_type(std::string_view device) {
  const auto known = std::ranges::find(kTypes, device.substr(0, device.find(':')), &DeviceType::name);
  return known != kTypes.end() ? *known : kUnknown;
}

std::optional<uint32_t> device_number(std::string_view device) {
  const size_t colon = device.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  uint32_t number = 0;
  const char* const end = device.data() + device.size();
  const auto [read, error] = std::from_chars(device.data() + colon + 1, end, number);
  return error == std::errc() && read == end ? std::optional(number) : std::nullopt;
}

std::vector<DeviceTraits> device_traits(const Process& process, const Text& text) {
  std::vector<DeviceTraits> all(256);  // records have one byte for the device
  for (const DeviceId device : text.device_name.ids()) {
    all[device.value].type = &device_type(text.string(text.device_name[device]));
  }
  for (const DeviceBlockId block : process.device_blocks.ids()) {
    all[process.allocations.device[process.device_blocks.allocation[block]].value].has_blocks = true;
  }
  for (const SegmentEventId event : process.segment_events.ids()) {
    all[process.segment_events.device[event].value].has_segments = true;
  }
  return all;
}

}  // namespace tapelens::model
