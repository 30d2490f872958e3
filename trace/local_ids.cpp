// See local_ids.h.
#include "trace/local_ids.h"

#include <cstring>
#include <unordered_map>

#include "trace/symbols.h"

namespace tapelens::trace {
namespace {

std::string_view text_of(const RecordHeader* record) {
  const auto& string = as<StringRecord>(record);
  return {reinterpret_cast<const char*>(&string + 1), string.bytes};
}

std::string_view string_of(const SpoolReader& spool, uint32_t id) {
  for (const auto* record : spool.interned(RecordKind::string))
    if (record->id == id) return text_of(record);
  return {};
}

void intern_native_stacks(const SpoolReader& spool, SharedTables& shared, Interned& ids) {
  if (spool.interned(RecordKind::native_stack).empty()) return;
  std::unordered_map<uint32_t, std::string_view> paths;
  for (const auto* record : spool.interned(RecordKind::string)) paths.try_emplace(record->id, text_of(record));
  std::vector<SymbolMapping> mappings;
  for (const auto* record : spool.interned(RecordKind::mapping)) {
    const auto& mapping = as<MappingRecord>(record);
    mappings.push_back({std::string(paths[record->id]), mapping.begin, mapping.end, mapping.bias});
  }
  Symbols symbols(std::move(mappings));
  std::vector<FrameId> frames;
  for (const auto* record : spool.interned(RecordKind::native_stack)) {
    const auto& stack = as<NativeStackRecord>(record);
    frames.clear();
    for (const SymbolFrame& frame : symbols.stack({reinterpret_cast<const uint64_t*>(&stack + 1), stack.count}))
      frames.push_back(shared.frame(shared.string(frame.file), shared.string(frame.function), frame.line));
    ids.stacks.set(record->id, shared.stack(frames), spool.largest_id());
  }
}

}  // namespace

Interned intern_all(const SpoolReader& spool, SharedTables& shared) {
  Interned ids;
  const uint64_t largest = spool.largest_id();
  for (const auto* record : spool.interned(RecordKind::string))
    ids.strings.set(record->id, shared.string(text_of(record)), largest);
  for (const auto* record : spool.interned(RecordKind::frame)) {
    const auto& frame = as<FrameRecord>(record);
    ids.frames.set(record->id, shared.frame(ids.strings[frame.file], ids.strings[frame.function], frame.line), largest);
  }
  std::vector<FrameId> frames;
  for (const auto* record : spool.interned(RecordKind::stack)) {
    const auto& stack = as<StackRecord>(record);
    const auto* local = reinterpret_cast<const uint32_t*>(&stack + 1);
    frames.clear();
    for (uint32_t i = 0; i < stack.count; ++i) frames.push_back(ids.frames[local[i]]);
    ids.stacks.set(record->id, shared.stack(frames), largest);
  }
  for (const auto* record : spool.interned(RecordKind::layout)) {
    const auto& layout = as<LayoutRecord>(record);
    const std::span<const uint64_t> extents(reinterpret_cast<const uint64_t*>(&layout + 1), size_t{layout.rank} * 2);
    ids.layouts.set(record->id, shared.layout(ids.strings[layout.dtype], layout.element_bytes, extents), largest);
  }
  for (const auto* record : spool.interned(RecordKind::module)) {
    const auto& module = as<ModuleRecord>(record);
    ids.modules.set(record->id, shared.module(ids.strings[module.path], ids.strings[module.type]), largest);
  }
  for (const auto* record : spool.interned(RecordKind::device))
    ids.devices.set(record->id, shared.device(ids.strings[as<DeviceRecord>(record).name]), 255);
  for (const auto* record : spool.interned(RecordKind::information))
    ids.information.push_back(
        {.key = ids.strings[record->id], .value = ids.strings[as<InformationRecord>(record).value]});
  for (const auto* record : spool.interned(RecordKind::source)) {
    const auto& source = as<SourceRecord>(record);
    if (const StringId path = ids.strings[record->id])
      ids.sources.push_back({.path = path, .bytes = source.bytes, .hash = source.hash});
  }
  intern_native_stacks(spool, shared, ids);
  return ids;
}

void add_older_steps(const SpoolReader& spool, SharedTables& shared, TickClock& clock, Interned& ids) {
  if (!spool.older()) return;
  const auto add = [&](const std::string& key, const std::string& value) {
    ids.information.push_back({.key = shared.string(key), .value = shared.string(value)});
  };
  const auto ns = [&](uint64_t ticks) { return std::to_string(clock.ns(ticks)); };
  add("steps_left_out", std::to_string(spool.older()->steps));
  add("steps_left_out_until", ns(spool.older()->until));
  ids.information.push_back(
      {.key = shared.string("steps_left_out_optimizer"), .value = ids.strings[spool.older()->optimizer]});
  for (const OlderPeakRecord* peak : spool.older()->peaks) {
    const std::string device(device_name(spool, ids, ids.devices[peak->header.flags]));
    add("steps_left_out_peak:" + device,
        std::to_string(peak->bytes) + " " + std::to_string(peak->step) + " " + ns(peak->ticks));
  }
}

std::string_view information_value(const SpoolReader& spool, std::string_view key) {
  std::string_view value;
  for (const auto* record : spool.interned(RecordKind::information))
    if (string_of(spool, record->id) == key) value = string_of(spool, as<InformationRecord>(record).value);
  return value;
}

std::string_view device_name(const SpoolReader& spool, const Interned& ids, DeviceId row) {
  for (const auto* record : spool.interned(RecordKind::device))
    if (row && ids.devices[record->id] == row) return string_of(spool, as<DeviceRecord>(record).name);
  return "unknown";
}

}  // namespace tapelens::trace
