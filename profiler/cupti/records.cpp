#include "profiler/cupti/records.h"

#include <algorithm>
#include <cstring>

namespace tapelens::cupti {
namespace {

void add(const MemoryActivity& record, uint64_t now_ns, std::vector<Activity>& activities) {
  const auto operation = static_cast<Operation>(record.operation);
  if (operation != Operation::allocation && operation != Operation::release) return;
  activities.push_back({.is_allocation = operation == Operation::allocation,
                        .kind = static_cast<MemoryKind>(record.memory_kind),
                        .device = record.device,
                        .address = record.address,
                        .bytes = record.bytes,
                        .age_ns = now_ns > record.timestamp ? now_ns - record.timestamp : 0,
                        .library = record.source != nullptr ? std::string_view(record.source) : std::string_view()});
}

}  // namespace

void read_records(const Functions& functions, std::span<uint8_t> buffer, bool names_sources,
                  std::vector<Activity>& activities) {
  uint64_t now_ns = 0;
  if (functions.get_timestamp(&now_ns) != Result::success) now_ns = 0;
  const size_t wanted = names_sources ? sizeof(MemoryActivity) : kShortest;
  ActivityHeader* at = nullptr;
  const uint8_t* last = nullptr;
  while (functions.get_next_record(buffer.data(), buffer.size(), &at) == Result::success && at != nullptr) {
    const auto* begin = reinterpret_cast<const uint8_t*>(at);
    if (begin < buffer.data() || (last != nullptr && begin <= last)) return;  // it must come to an end
    last = begin;
    const size_t left = static_cast<size_t>(buffer.data() + buffer.size() - begin);
    if (begin > buffer.data() + buffer.size() || left < sizeof(ActivityHeader)) return;
    uint32_t kind = 0;
    std::memcpy(&kind, begin, sizeof(kind));
    if (kind != kMemory2) continue;
    if (left < wanted) return;
    MemoryActivity record{};
    std::memcpy(&record, begin, wanted);
    if (!names_sources) record.source = nullptr;
    add(record, now_ns, activities);
  }
}

}  // namespace tapelens::cupti
