// Why each allocation was alive at a moment.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/model/text.h"
#include "analyzer/peak/timeline.h"

namespace tapelens::peak {

// In the order in which an allocation's holders are listed.
// allocator: the program gave it back, and another stream of the device still uses it.
enum class HolderKind : uint8_t {
  save,
  parameter,
  gradient,
  optimizer_state,
  buffer,
  recomputed,
  op,
  allocator,
  program
};
inline constexpr size_t kHolderKinds = static_cast<size_t>(HolderKind::program) + 1;

const char* kind_name(HolderKind kind);      // of a holder: "save", ...
const char* category_name(HolderKind kind);  // of the bytes held: "saved", else the kind's name

struct Holder {
  HolderKind kind{};
  NodeId node{};             // save: whose it is; gradient in flight: the node that made it
  StringId field{};          // save
  StringId name{};           // parameter, buffer, gradient, optimizer state: its name; operator: its name
  AllocationId parameter{};  // gradient, optimizer state: the parameter it belongs to, if known
  LayoutId layout{};         // save: what was seen of the storage
  uint32_t count = 1;        // saves of the same node type and field on this allocation
};

// The holder that says what an allocation is: a weight that is saved as well is a weight, since it stays without the
// save; else the first.
const Holder& main_holder(std::span<const Holder> holders);

struct Member {
  AllocationId allocation;
  Bytes bytes;
  uint32_t first_holder = 0, holders = 0;  // into PeakSet::holders; never empty
};

// What was alive on a device at a moment, biggest first (then in the order of allocation), and who held it.
struct PeakSet {
  Moment when;
  DeviceId device;
  Bytes bytes;  // the sum of the members'
  std::vector<Member> members;
  std::vector<Holder> holders;

  std::span<const Holder> holders_of(const Member& member) const {
    return std::span(holders).subspan(member.first_holder, member.holders);
  }
};

// A role holds for the whole life of the allocation it names: a parameter is one before it was named. `op`: an operator
// that is open allocated it (or one around the one that did) or reads it. A gradient in flight, made while a node was
// evaluated in a backward that is still running, is the engine's: a gradient without a name, if nothing else holds it.
// What a hook on a saved tensor makes in a backward that is still running is recomputed, if nothing else holds it.
// `program` only where nothing else holds it.
PeakSet peak_set(const Process& process, const Text& text, DeviceId device, const Moment& when);

}  // namespace tapelens::peak
