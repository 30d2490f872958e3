// Writes a Perfetto trace packet by packet. Only one packet is in memory, so memory grows only with the number of
// names and stacks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyzer/export/perfetto.pb.h"
#include "analyzer/export/sink.h"
#include "trace/types.h"

namespace tapelens::exporting {

// The category by which Perfetto filters events.
enum class EventCategory : uint8_t { op = 1, module, evaluation, save, step, phase, range };
// Named values of an event.
enum class DebugAnnotation : uint8_t { bytes = 1, node, field, module, line, made_by, layout, held, allocated };

// Kinds of names and texts. Keys are unique within a kind.
enum class NameOf : uint8_t { op, module, evaluation, save, release, step, phase, range };
enum class TextOf : uint8_t { string, frame, layout };

struct TrackId {
  uint64_t uuid = 0;
};

// Packets with one numbering of their interned data. Readers sort all packets by time, and expect the numbered packets
// of one sequence in the order of their times.
class PacketSequence {
 public:
  PacketSequence(ByteSink& sink, uint32_t id) : sink_(sink), id_(id) {}

  perfetto::TracePacket& packet() { return packet_; }
  // Writes the packet and begins the next one.
  void put();

 private:
  ByteSink& sink_;
  const uint32_t id_;
  perfetto::TracePacket packet_;
  std::string bytes_;
  bool is_first_ = true;
};

// The sequence of Packets. Others have greater numbers.
inline constexpr uint32_t kEventSequence = 1;

// The events of all processes.
class Packets {
 public:
  explicit Packets(ByteSink& sink);

  // The number of a name; calls `name` for a new key.
  template <class Make>
  uint64_t event_name(NameOf kind, uint64_t key, Make name) {
    return interned(names_[static_cast<size_t>(kind)], key, [&](uint64_t number) {
      auto* entry = packet().mutable_interned_data()->add_event_names();
      entry->set_iid(number);
      entry->set_name(std::string(name()));
    });
  }
  template <class Make>
  uint64_t text(TextOf kind, uint64_t key, Make value) {
    return interned(texts_[static_cast<size_t>(kind)], key, [&](uint64_t number) {
      auto* entry = packet().mutable_interned_data()->add_debug_annotation_string_values();
      entry->set_iid(number);
      entry->set_str(std::string(value()));
    });
  }

  // Each of these starts a packet, which put() ends. Names that are new in between belong to the same packet.
  perfetto::TrackDescriptor& track(TrackId id, std::string_view name, TrackId parent = {});
  perfetto::TrackEvent& event(perfetto::TrackEvent::Type type, TrackId track, trace::Time time);
  void name(EventCategory category, uint64_t name_number);
  void note(DebugAnnotation name, trace::Bytes value);
  void note(DebugAnnotation name, uint64_t text_number);
  void put() { sequence_.put(); }
  // Readers convert times between clocks by this packet. All clocks of the trace are the same.
  void clocks();

  void end(TrackId track, trace::Time time);
  void counter(TrackId track, trace::Time time, trace::Bytes value);

 private:
  perfetto::TracePacket& packet() { return sequence_.packet(); }

  using Numbers = std::unordered_map<uint64_t, uint64_t>;
  template <class Write>
  uint64_t interned(Numbers& numbers, uint64_t key, Write write) {
    const auto [at, is_new] = numbers.try_emplace(key, last_ + 1);
    if (is_new) write(++last_);
    return at->second;
  }

  PacketSequence sequence_;
  std::array<Numbers, 8> names_;  // by NameOf
  std::array<Numbers, 3> texts_;  // by TextOf
  uint64_t last_ = 0;             // last assigned number
};

}  // namespace tapelens::exporting
