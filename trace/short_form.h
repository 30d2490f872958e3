// Short forms of the most frequent events. A short form has bit 7 of its kind set, and its header's id is the number of
// ticks since the anchor of its block. Its flags are those of the full form. docs/trace-format.md lists the fields. The
// writer uses a short form if every field fits; the other events are written in full. Readers get the full form.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "trace/record.h"
#include "trace/spool.h"

namespace tapelens::trace {

struct ShortEventRecord {  // the end of an interval
  RecordHeader header;
};
struct ShortAddressRecord {  // free, free_request, node_release, evaluation_begin
  RecordHeader header;
  uint64_t address;
};
struct ShortAllocationRecord {
  RecordHeader header;
  uint32_t stack, bytes;
  uint64_t address;
};
// With kShortOperatorIsLonger, uint32_t sequence_nr, written follow. The addresses of the inputs follow to the end.
struct ShortOperatorRecord {
  RecordHeader header;
  uint32_t name, stack;
};
struct ShortInputView {  // they follow the header of the views
  uint32_t layout, storage_offset;
};
inline constexpr uint8_t kShortOperatorIsLonger = 0x80;   // flag
inline constexpr uint32_t kNoShortSequence = UINT32_MAX;  // stands for UINT64_MAX

static_assert(shape_of(short_kind(RecordKind::operator_end)).bytes == sizeof(ShortEventRecord));
static_assert(shape_of(short_kind(RecordKind::free)).bytes == sizeof(ShortAddressRecord));
static_assert(shape_of(short_kind(RecordKind::allocation)).bytes == sizeof(ShortAllocationRecord));
static_assert(shape_of(short_kind(RecordKind::operator_begin)).bytes == sizeof(ShortOperatorRecord));
static_assert(shape_of(short_kind(RecordKind::input_views)).element == sizeof(ShortInputView));

inline bool is_longer(const RecordHeader* short_operator) {
  return (short_operator->flags & kShortOperatorIsLonger) != 0;
}

// ---- writing: `place` has room for the full form. Returns the size of the short form, 0 if the record has none

template <class Record>
struct ShortForm {  // of other records: none
  static constexpr bool exists = false;
};

namespace detail {
inline RecordHeader short_header(const RecordHeader& full, size_t bytes, uint32_t since, uint8_t flags = 0) {
  return {short_kind(full.kind), static_cast<uint8_t>(full.flags | flags), static_cast<uint16_t>(bytes / 8), since};
}

template <class Record, auto address>
struct ShortAddress {
  static constexpr bool exists = true;
  static size_t write(void* place, const Record& record, uint32_t since) {
    *static_cast<ShortAddressRecord*>(place) = {short_header(record.header, sizeof(ShortAddressRecord), since),
                                                record.*address};
    return sizeof(ShortAddressRecord);
  }
};

template <class Record>
struct ShortEnd {
  static constexpr bool exists = true;
  static size_t write(void* place, const Record& record, uint32_t since) {
    if (record.header.id != 0 || !is_known(short_kind(record.header.kind))) return 0;
    static_cast<ShortEventRecord*>(place)->header = short_header(record.header, sizeof(ShortEventRecord), since);
    return sizeof(ShortEventRecord);
  }
};
}  // namespace detail

template <>
struct ShortForm<EventRecord> : detail::ShortEnd<EventRecord> {};
template <>
struct ShortForm<NamedEventRecord> : detail::ShortEnd<NamedEventRecord> {};
template <>
struct ShortForm<FreeRecord> : detail::ShortAddress<FreeRecord, &FreeRecord::address> {};
template <>
struct ShortForm<NodeReleaseRecord> : detail::ShortAddress<NodeReleaseRecord, &NodeReleaseRecord::node> {};
template <>
struct ShortForm<EvaluationRecord> : detail::ShortAddress<EvaluationRecord, &EvaluationRecord::node> {};
template <>
struct ShortForm<AllocationRecord> {
  static constexpr bool exists = true;
  static size_t write(void* place, const AllocationRecord& record, uint32_t since) {
    if (record.bytes > UINT32_MAX) return 0;
    *static_cast<ShortAllocationRecord*>(place) = {
        detail::short_header(record.header, sizeof(ShortAllocationRecord), since), record.header.id,
        static_cast<uint32_t>(record.bytes), record.address};
    return sizeof(ShortAllocationRecord);
  }
};

// With the addresses of the operator's inputs.
inline size_t write_short(void* place, const OperatorRecord& record, std::span<const uint64_t> inputs, uint32_t since) {
  const bool has_sequence = record.sequence_nr != UINT64_MAX;
  if ((has_sequence && record.sequence_nr >= kNoShortSequence) || (record.header.flags & kShortOperatorIsLonger) != 0)
    return 0;
  const bool longer = has_sequence || record.written != 0;
  const size_t bytes = sizeof(ShortOperatorRecord) + (longer ? 8 : 0) + inputs.size_bytes();
  *static_cast<ShortOperatorRecord*>(place) = {
      detail::short_header(record.header, bytes, since, longer ? kShortOperatorIsLonger : uint8_t{0}), record.header.id,
      record.stack};
  auto* behind = static_cast<std::byte*>(place) + sizeof(ShortOperatorRecord);
  if (longer) {
    auto* more = reinterpret_cast<uint32_t*>(behind);
    more[0] = has_sequence ? static_cast<uint32_t>(record.sequence_nr) : kNoShortSequence;
    more[1] = record.written;
    behind += 8;
  }
  std::ranges::copy(inputs, reinterpret_cast<uint64_t*>(behind));
  return bytes;
}

inline size_t write_short(void* place, const InputViewsRecord& record, std::span<const InputView> views,
                          uint32_t since) {
  for (const InputView& view : views)
    if (view.storage_offset > UINT32_MAX) return 0;
  const size_t bytes = sizeof(RecordHeader) + views.size() * sizeof(ShortInputView);
  auto* header = static_cast<RecordHeader*>(place);
  *header = detail::short_header(record.header, bytes, since);
  auto* to = reinterpret_cast<ShortInputView*>(header + 1);
  for (const InputView& view : views) *to++ = {view.layout, static_cast<uint32_t>(view.storage_offset)};
  return bytes;
}

// ---- reading

// The ticks of an event (is_event) in a block with this anchor.
inline uint64_t ticks_of(const RecordHeader* record, uint64_t anchor_ticks) {
  return is_short(record->kind) ? anchor_ticks + record->id : as<EventRecord>(record).ticks;
}

// Room for one full form.
class FullForm {
 public:
  // The record itself if it is not short, else its full form, which the next call overwrites. The record is whole
  // (whole_record.h), in a block with this anchor.
  const RecordHeader* of(const RecordHeader* record, uint64_t anchor_ticks) {
    if (!is_short(record->kind)) return record;
    const uint64_t ticks = anchor_ticks + record->id;
    const RecordKind kind = full_kind(record->kind);
    if (kind == RecordKind::operator_begin) {
      write_operator(record, ticks);
    } else if (kind == RecordKind::input_views) {
      write_views(record, ticks);
    } else if (kind == RecordKind::allocation) {
      const auto& from = as<ShortAllocationRecord>(record);
      put(AllocationRecord{header<AllocationRecord>(record, from.stack), ticks, from.address, from.bytes});
    } else if (kind == RecordKind::free || kind == RecordKind::free_request) {
      put(FreeRecord{header<FreeRecord>(record), ticks, as<ShortAddressRecord>(record).address});
    } else if (kind == RecordKind::node_release) {
      put(NodeReleaseRecord{header<NodeReleaseRecord>(record), ticks, as<ShortAddressRecord>(record).address});
    } else if (kind == RecordKind::evaluation_begin) {
      put(EvaluationRecord{header<EvaluationRecord>(record), ticks, as<ShortAddressRecord>(record).address});
    } else {
      put(EventRecord{header<EventRecord>(record), ticks});
    }
    return reinterpret_cast<const RecordHeader*>(bytes_.data());
  }

 private:
  template <class Record>
  static RecordHeader header(const RecordHeader* record, uint32_t id = 0, size_t tail = 0, uint8_t no_flags = 0) {
    return {full_kind(record->kind), static_cast<uint8_t>(record->flags & ~no_flags),
            static_cast<uint16_t>((sizeof(Record) + tail) / 8), id};
  }
  template <class Record>
  void put(const Record& record) {
    *reinterpret_cast<Record*>(bytes_.data()) = record;
  }
  void write_operator(const RecordHeader* record, uint64_t ticks) {
    const auto& from = as<ShortOperatorRecord>(record);
    const auto* behind = reinterpret_cast<const std::byte*>(&from + 1);
    uint64_t sequence_nr = UINT64_MAX;
    uint32_t written = 0;
    size_t tail = size_t{record->words} * 8 - sizeof(ShortOperatorRecord);
    if (is_longer(record)) {
      const auto* more = reinterpret_cast<const uint32_t*>(behind);
      if (more[0] != kNoShortSequence) sequence_nr = more[0];
      written = more[1];
      behind += 8;
      tail -= 8;
    }
    put(OperatorRecord{header<OperatorRecord>(record, from.name, tail, kShortOperatorIsLonger), ticks, sequence_nr,
                       from.stack, written});
    std::memcpy(bytes_.data() + sizeof(OperatorRecord), behind, tail);
  }
  void write_views(const RecordHeader* record, uint64_t ticks) {
    const size_t count = record->words - 1U;
    const auto* from = reinterpret_cast<const ShortInputView*>(record + 1);
    put(InputViewsRecord{header<InputViewsRecord>(record, 0, count * sizeof(InputView)), ticks});
    auto* to = reinterpret_cast<InputView*>(bytes_.data() + sizeof(InputViewsRecord));
    for (size_t i = 0; i < count; ++i) to[i] = {from[i].layout, 0, from[i].storage_offset};
  }

  // Views of a whole block take the most room: twice as much as their short form.
  alignas(8) std::array<std::byte, 2 * kBlockPayloadBytes> bytes_;
};

}  // namespace tapelens::trace
