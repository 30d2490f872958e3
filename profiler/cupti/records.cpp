#include "profiler/cupti/records.h"

#include <algorithm>
#include <cstring>

#include "profiler/cupti/clocks.h"

namespace tapelens::cupti {
namespace {

void add(const MemoryActivity& record, const Moment<uint64_t>& now, std::vector<Activity>& activities) {
  const auto operation = static_cast<Operation>(record.operation);
  if (operation != Operation::allocation && operation != Operation::release) return;
  activities.push_back({.is_allocation = operation == Operation::allocation,
                        .kind = static_cast<MemoryKind>(record.memory_kind),
                        .device = record.device,
                        .address = record.address,
                        .bytes = record.bytes,
                        // Nothing happens later than now.
                        .happened_ns = now.ns - std::min(now.ns, now.other - std::min(now.other, record.timestamp)),
                        .library = record.source != nullptr ? std::string_view(record.source) : std::string_view()});
}

}  // namespace

void read_records(const Functions& functions, std::span<uint8_t> buffer, bool names_sources,
                  std::vector<Activity>& activities) {
  const Moment<uint64_t> now = same_moment([&] {
    uint64_t ns = 0;
    return functions.get_timestamp(&ns) == Result::success ? ns : 0;
  });
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
    add(record, now, activities);
  }
}

}  // namespace tapelens::cupti
