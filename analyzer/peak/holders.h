// Why each allocation was alive at a moment.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/text.h"
#include "analyzer/peak/communication.h"
#include "analyzer/peak/timeline.h"

namespace tapelens::peak {

// In the order in which an allocation's holders are listed.
// packed: a hook of the program on saved tensors returned it. checkpointing: selective checkpointing keeps it. context:
// an attribute of the node's own (`ctx.mask`). communication: communication.h. allocator: the program gave it back, and
// another stream of the device still uses it.
// unknown: of a process that was imported from what does not say it.
enum class HolderKind : uint8_t {
  save,
  parameter,
  gradient,
  optimizer_state,
  buffer,
  packed,
  checkpointing,
  context,
  recomputed,
  communication,
  op,
  allocator,
  program,
  unknown
};
inline constexpr size_t kHolderKinds = static_cast<size_t>(HolderKind::unknown) + 1;

const char* kind_name(HolderKind kind);      // of a holder: "save", ...
const char* category_name(HolderKind kind);  // of the bytes held: "saved", else the kind's name

struct Holder {
  HolderKind kind{};
  NodeId node{};     // save, packed, context: whose it is; gradient in flight: the node that made it
  StringId field{};  // save, packed: the field; context: the attribute; program: the variable, if it was looked for
  StringId name{};   // parameter, buffer, gradient, optimizer state: its name; operator: its name
  AllocationId parameter{};  // gradient, optimizer state: the parameter it belongs to, if known
  LayoutId layout{};         // save: what was seen of the storage
  uint32_t count = 1;        // saves of the same node type and field on this allocation
  Traffic traffic{};         // communication
};

// `name`, or what communication it is: "DDP bucket".
std::string_view name_of(const Text& text, const Holder& holder);

// Variables that differ in a number are one: "history[3] in train.py:61" as "history[*] in train.py:61".
std::string without_numbers(std::string_view variable);

// What a row of what is kept outside of saves makes of its allocation.
Holder held_by(const Process& process, HeldId row);

// As its life and its stacks show; else unknown.
Holder imported_holder(const Process& process, AllocationId allocation);

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
// `program`s variable is that of the last look before the moment, else of the first one after it.
// `communication` where nothing else or an operator alone holds it; `program`, or `unknown`, where nothing else does.
PeakSet peak_set(const Process& process, const Text& text, DeviceId device, const Moment& when);

}  // namespace tapelens::peak
