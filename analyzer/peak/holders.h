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

// The holders of an allocation are listed in this order.
// packed: a saved-tensor hook of the program returned it. checkpointing: selective checkpointing keeps it. context: an
// attribute of the node (`ctx.mask`). communication: communication.h. allocator: the program has freed it, but another
// stream of the device still uses it. unknown: the file that the process was imported from does not show the holder.
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

// The kinds whose bytes no rewrite of saved tensors can avoid.
constexpr bool is_state(HolderKind kind) {
  return kind == HolderKind::parameter || kind == HolderKind::buffer || kind == HolderKind::gradient ||
         kind == HolderKind::optimizer_state;
}

const char* kind_name(HolderKind kind);      // name of a holder: "save", ...
const char* category_name(HolderKind kind);  // name of its bytes: "saved", otherwise the kind's name
const char* label(HolderKind kind);          // of its bytes, for people: "saved for backward"

struct Holder {
  HolderKind kind{};
  NodeId node{};     // save, packed, context: the node that has it; gradient in flight: the node that made it
  StringId field{};  // save, packed: the field; context: the attribute; program: the variable, if it was looked for
  StringId name{};   // parameter, buffer, gradient, optimizer state: its name; operator: its name
  AllocationId parameter{};  // gradient, optimizer state: the parameter it belongs to, if known
  LayoutId layout{};         // save: dtype, sizes and strides of the saved view
  uint32_t count = 1;        // saves of the same node type and field on this allocation
  Traffic traffic{};         // communication
};

// `name`, or the kind of communication: "DDP bucket".
std::string_view name_of(const Text& text, const Holder& holder);

// Variables that differ only in a number get one name: "history[3] in train.py:61" gets "history[*] in train.py:61".
std::string without_numbers(std::string_view variable);

// If the recording does not have the variables that hold tensors: "; tapelens record --referrers names the variable".
std::string variables_hint(const Process& process);

// The holder that a row of Process::held describes. These rows are storages that are kept outside of saves.
Holder held_by(const Process& process, HeldId row);

// The holder that the lifetime and the stacks of an allocation show; otherwise unknown.
Holder imported_holder(const Process& process, AllocationId allocation);

// The holder that determines the category of an allocation. A weight that is also saved counts as a weight, because it
// stays alive without the save. Otherwise the first holder.
const Holder& main_holder(std::span<const Holder> holders);

struct Member {
  AllocationId allocation;
  Bytes bytes;
  uint32_t first_holder = 0, holders = 0;  // into PeakSet::holders; never empty
};

// The allocations that are alive on a device at a moment, and their holders. The biggest is first; equal ones are in
// the order of allocation.
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

// A role applies to the whole lifetime of its allocation: a parameter is a parameter before the record that names it.
// `op`: an open operator reads it, or allocated it, also through an inner operator. A gradient in flight was made while
// a backward that is still running evaluated a node. The engine owns it: it is a gradient without a name, if nothing
// else holds it. Allocations of a saved-tensor hook in a backward that is still running are `recomputed`, if nothing
// else holds them. The variable of `program` is from the last search for variables before the moment, otherwise from
// the first search after it. `communication`: nothing else holds it, or only an operator does. `program` or `unknown`:
// nothing else holds it.
PeakSet peak_set(const Process& process, const Text& text, DeviceId device, const Moment& when);

}  // namespace tapelens::peak
