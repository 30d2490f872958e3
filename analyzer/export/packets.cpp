#include "analyzer/export/packets.h"

#include <array>
#include <utility>

namespace tapelens::exporting {
namespace {

constexpr char kPacketTag = '\x0a';  // field 1 of a Trace, length-delimited

constexpr std::array<std::pair<EventCategory, const char*>, 7> kCategories = {
    {{EventCategory::op, "operator"},
     {EventCategory::module, "module"},
     {EventCategory::evaluation, "backward"},
     {EventCategory::save, "save"},
     {EventCategory::step, "step"},
     {EventCategory::phase, "phase"},
     {EventCategory::range, "record_function"}}};
constexpr std::array<std::pair<DebugAnnotation, const char*>, 9> kNotes = {
    {{DebugAnnotation::bytes, "bytes"},
     {DebugAnnotation::node, "node"},
     {DebugAnnotation::field, "field"},
     {DebugAnnotation::module, "module"},
     {DebugAnnotation::line, "line"},
     {DebugAnnotation::made_by, "operator"},
     {DebugAnnotation::layout, "layout"},
     {DebugAnnotation::held, "held_ns"},
     {DebugAnnotation::allocated, "allocated_bytes"}}};

}  // namespace

void PacketSequence::put() {
  packet_.set_trusted_packet_sequence_id(id_);
  packet_.set_sequence_flags(is_first_ ? perfetto::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED
                                       : perfetto::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  is_first_ = false;
  const size_t size = packet_.ByteSizeLong();
  bytes_.assign(1, kPacketTag);
  for (size_t rest = size;; rest >>= 7) {  // a varint
    bytes_ += static_cast<char>(rest < 0x80 ? rest : (rest & 0x7f) | 0x80);
    if (rest < 0x80) break;
  }
  const size_t header = bytes_.size();
  bytes_.resize(header + size);
  packet_.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(bytes_.data() + header));
  sink_.write(bytes_);
  packet_.Clear();
}

Packets::Packets(ByteSink& sink) : sequence_(sink, kEventSequence) {
  auto* names = packet().mutable_interned_data();
  for (const auto& [category, name] : kCategories) {
    auto* entry = names->add_event_categories();
    entry->set_iid(static_cast<uint64_t>(category));
    entry->set_name(name);
  }
  for (const auto& [note, name] : kNotes) {
    auto* entry = names->add_debug_annotation_names();
    entry->set_iid(static_cast<uint64_t>(note));
    entry->set_name(name);
  }
}

perfetto::TrackDescriptor& Packets::track(TrackId id, std::string_view name, TrackId parent) {
  perfetto::TrackDescriptor& track = *packet().mutable_track_descriptor();
  track.set_uuid(id.uuid);
  if (!name.empty()) track.set_name(std::string(name));
  if (parent.uuid != 0) track.set_parent_uuid(parent.uuid);
  return track;
}

perfetto::TrackEvent& Packets::event(perfetto::TrackEvent::Type type, TrackId track, trace::Time time) {
  packet().set_timestamp(static_cast<uint64_t>(time.ns));
  perfetto::TrackEvent& event = *packet().mutable_track_event();
  event.set_type(type);
  event.set_track_uuid(track.uuid);
  return event;
}

void Packets::name(EventCategory category, uint64_t name_number) {
  packet().mutable_track_event()->add_category_iids(static_cast<uint64_t>(category));
  packet().mutable_track_event()->set_name_iid(name_number);
}

void Packets::note(DebugAnnotation name, trace::Bytes value) {
  auto* note = packet().mutable_track_event()->add_debug_annotations();
  note->set_name_iid(static_cast<uint64_t>(name));
  note->set_int_value(value.value);
}

void Packets::note(DebugAnnotation name, uint64_t text_number) {
  auto* note = packet().mutable_track_event()->add_debug_annotations();
  note->set_name_iid(static_cast<uint64_t>(name));
  note->set_string_value_iid(text_number);
}

void Packets::clocks() {
  auto& snapshot = *packet().mutable_clock_snapshot();
  for (const auto clock :
       {perfetto::ClockSnapshot::BUILTIN_CLOCK_MONOTONIC_COARSE, perfetto::ClockSnapshot::BUILTIN_CLOCK_BOOTTIME}) {
    auto* one = snapshot.add_clocks();
    one->set_clock_id(static_cast<uint32_t>(clock));
    one->set_timestamp(0);
  }
  snapshot.set_primary_trace_clock(perfetto::ClockSnapshot::BUILTIN_CLOCK_BOOTTIME);
  put();
}

void Packets::end(TrackId track, trace::Time time) {
  event(perfetto::TrackEvent::TYPE_SLICE_END, track, time);
  put();
}

void Packets::counter(TrackId track, trace::Time time, trace::Bytes value) {
  event(perfetto::TrackEvent::TYPE_COUNTER, track, time).set_counter_value(value.value);
  put();
}

}  // namespace tapelens::exporting
