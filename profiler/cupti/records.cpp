#include "profiler/cupti/records.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "profiler/cupti/clocks.h"

namespace tapelens::cupti {
namespace {

// Converts CUPTI's time to CLOCK_MONOTONIC, at most `now`.
uint64_t happened(uint64_t timestamp, const ClockPair<uint64_t>& now) {
  return now.ns - std::min(now.ns, now.other - std::min(now.other, timestamp));
}

void add(const MemoryActivity& record, const ClockPair<uint64_t>& now, Happened& to) {
  const auto operation = static_cast<Operation>(record.operation);
  if (operation != Operation::allocation && operation != Operation::release) return;
  const auto kind = static_cast<MemoryKind>(record.memory_kind);
  const uint64_t when = happened(record.timestamp, now);
  to.activities.push_back({.is_allocation = operation == Operation::allocation,
                           .kind = kind,
                           .device = record.device,
                           .address = record.address,
                           .bytes = record.bytes,
                           .happened_ns = when,
                           .call = record.correlation,
                           .library = record.source != nullptr ? std::string_view(record.source) : std::string_view()});
  const bool is_on_device = kind == MemoryKind::device || kind == MemoryKind::managed;
  if (record.pool.type != kLocalPool || !is_on_device) return;
  to.pools.push_back({false, record.device, record.pool.address, record.pool.reserved, record.pool.used, when});
}

void add(const PoolActivity& record, const ClockPair<uint64_t>& now, Happened& to) {
  if (record.type != kLocalPool) return;
  const bool is_destroyed = static_cast<PoolOperation>(record.operation) == PoolOperation::destroyed;
  to.pools.push_back(
      {is_destroyed, record.device, record.address, record.reserved, record.used, happened(record.timestamp, now)});
}

// The first `bytes` of a record at `at`, with `left` bytes remaining in the buffer; none if it is cut.
template <class Record>
std::optional<Record> copied(const uint8_t* at, size_t left, size_t bytes) {
  if (left < bytes) return {};
  Record record{};
  std::memcpy(&record, at, bytes);
  return record;
}

}  // namespace

void read_records(const Functions& functions, std::span<uint8_t> buffer, bool names_sources, Happened& happened) {
  const ClockPair<uint64_t> now = same_moment([&] {
    uint64_t ns = 0;
    return functions.get_timestamp(&ns) == Result::success ? ns : 0;
  });
  ActivityHeader* at = nullptr;
  const uint8_t* last = nullptr;
  while (functions.get_next_record(buffer.data(), buffer.size(), &at) == Result::success && at != nullptr) {
    const auto* begin = reinterpret_cast<const uint8_t*>(at);
    if (begin < buffer.data() || (last != nullptr && begin <= last)) return;  // they increase, so the loop ends
    last = begin;
    const size_t left = static_cast<size_t>(buffer.data() + buffer.size() - begin);
    if (begin > buffer.data() + buffer.size() || left < sizeof(ActivityHeader)) return;
    uint32_t kind = 0;
    std::memcpy(&kind, begin, sizeof(kind));
    if (kind == kMemory2) {
      auto record = copied<MemoryActivity>(begin, left, names_sources ? sizeof(MemoryActivity) : kShortest);
      if (!record) return;
      if (!names_sources) {
        record->source = nullptr;
        record->pool.type = 0;
      }
      add(*record, now, happened);
    } else if (kind == kMemoryPool) {
      const auto record = copied<PoolActivity>(begin, left, kWithUsed);
      if (!record) return;
      add(*record, now, happened);
    }
  }
}

}  // namespace tapelens::cupti
