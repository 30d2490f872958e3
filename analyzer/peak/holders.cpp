#include "analyzer/peak/holders.h"

#include <algorithm>
#include <unordered_map>

#include "analyzer/model/attribution.h"
#include "analyzer/peak/replay.h"
#include "trace/record.h"

namespace tapelens::peak {

const char* kind_name(HolderKind kind) {
  switch (kind) {
    case HolderKind::save:
      return "save";
    case HolderKind::parameter:
      return "parameter";
    case HolderKind::gradient:
      return "gradient";
    case HolderKind::optimizer_state:
      return "optimizer_state";
    case HolderKind::buffer:
      return "buffer";
    case HolderKind::packed:
      return "packed";
    case HolderKind::checkpointing:
      return "checkpointing";
    case HolderKind::context:
      return "context";
    case HolderKind::recomputed:
      return "recomputed";
    case HolderKind::communication:
      return "communication";
    case HolderKind::op:
      return "operator";
    case HolderKind::allocator:
      return "allocator";
    case HolderKind::unknown:
      return "unknown";
    case HolderKind::program:
      break;
  }
  return "program";
}

std::string without_numbers(std::string_view variable) {
  std::string out;
  for (size_t i = 0; i < variable.size(); ++i) {
    out += variable[i];
    if (variable[i] != '[') continue;
    const size_t end = variable.find_first_not_of("0123456789", i + 1);
    if (end == i + 1 || end == std::string_view::npos || variable[end] != ']') continue;
    out += '*';
    i = end - 1;
  }
  return out;
}

const char* label(HolderKind kind) {
  switch (kind) {
    case HolderKind::save:
      return "saved for backward";
    case HolderKind::parameter:
      return "parameters";
    case HolderKind::gradient:
      return "gradients";
    case HolderKind::optimizer_state:
      return "optimizer state";
    case HolderKind::buffer:
      return "buffers";
    case HolderKind::packed:
      return "packed by a hook";
    case HolderKind::checkpointing:
      return "kept by checkpointing";
    case HolderKind::context:
      return "kept on ctx";
    case HolderKind::recomputed:
      return "recomputed in backward";
    case HolderKind::communication:
      return "communication";
    case HolderKind::op:
      return "operator temporaries";
    case HolderKind::allocator:
      return "freed, waits for a stream";
    case HolderKind::unknown:
      return "holder not known";
    case HolderKind::program:
      break;
  }
  return "other live tensors";
}

const char* category_name(HolderKind kind) { return kind == HolderKind::save ? "saved" : kind_name(kind); }

const Holder& main_holder(std::span<const Holder> holders) {
  for (const Holder& holder : holders)
    if (holder.kind != HolderKind::save && holder.kind != HolderKind::op) return holder;
  return holders.front();
}

std::string_view name_of(const Text& text, const Holder& holder) {
  if (holder.traffic != Traffic::none) return traffic_name(holder.traffic);
  return text.string(holder.name);
}

std::string variables_hint(const Process& process) {
  return process.lacks_variables ? "; tapelens record --referrers names the variable" : "";
}

Holder held_by(const Process& process, HeldId row) {
  const model::Held& held = process.held;
  HolderKind kind = HolderKind::program;  // for unknown values
  if (held.by[row] == trace::HeldBy::packed) kind = HolderKind::packed;
  if (held.by[row] == trace::HeldBy::context) kind = HolderKind::context;
  if (held.by[row] == trace::HeldBy::checkpointing) kind = HolderKind::checkpointing;
  return {kind, held.node[row], held.field[row]};
}

Holder imported_holder(const Process& process, AllocationId allocation) {
  const model::ImportedFacts& facts = process.imported_facts;
  const model::ImportedFactsId row = facts.of(allocation);
  if (!row) return {HolderKind::unknown};
  switch (facts.role[row]) {
    case model::ImportedRole::parameter:
      return {HolderKind::parameter};
    case model::ImportedRole::gradient:
      return {HolderKind::gradient};
    case model::ImportedRole::optimizer_state:
      return {HolderKind::optimizer_state};
    case model::ImportedRole::saved:
      return {HolderKind::save};
    case model::ImportedRole::unknown:
      break;
  }
  return {HolderKind::unknown};
}

namespace {

// A holder as the Finder finds it, table by table. put_in_order() sorts them by member.
struct Found {
  uint32_t member;
  Holder holder;
};

class Finder {
 public:
  // `gone`: saves that hold no memory, sorted.
  Finder(const Process& process, const Text& text, PeakSet& set, std::span<const SaveId> gone)
      : p_(process),
        text_(text),
        set_(set),
        gone_(gone),
        communication_(process, text),
        slot_(process.allocations.rows() + 1, kNone) {
    for (uint32_t i = 0; i < set.members.size(); ++i) slot_[set.members[i].allocation.value] = i;
  }

  void run() {
    find_waiting();
    find_saves();
    find_roles();
    find_imported();
    find_held();
    find_operators();
    find_communication();
    find_the_rest();
    put_in_order();
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  void add(AllocationId allocation, const Holder& holder) {
    const uint32_t member = slot_[allocation.value];
    if (member != kNone) found_.push_back({member, holder});
  }

  // The allocator is the only holder of an allocation that the program has freed.
  void find_waiting() {
    const FreeRequests& f = p_.free_requests;
    for (uint32_t row = 1; row <= f.rows() && f.time.raw[row] <= static_cast<uint64_t>(set_.when.time.ns); ++row) {
      uint32_t& member = slot_[f.of.raw[row]];
      if (member == kNone) continue;
      found_.push_back({member, {HolderKind::allocator}});
      member = kNone;
    }
  }

  void find_saves() {
    const Saves& s = p_.saves;
    const auto moment = static_cast<uint64_t>(set_.when.time.ns);
    for (uint32_t row = 1; row <= s.rows() && s.time.raw[row] <= moment; ++row) {
      const uint32_t allocation = s.allocation.raw[row];
      if (allocation == 0 || slot_[allocation] == kNone || s.released.raw[row] <= moment) continue;
      if ((s.flags.raw[row] & trace::kSaveIsPacked) != 0) continue;
      const SaveId save{row};
      if (std::ranges::binary_search(gone_, save)) continue;
      add(AllocationId{allocation}, {HolderKind::save, s.node[save], s.field[save], {}, {}, s.layout[save]});
    }
  }

  void find_roles() {
    const Roles& r = p_.roles;
    std::unordered_map<uint32_t, StringId> parameter_names;
    for (uint32_t row = 1; row <= r.rows(); ++row) {
      const RoleId role{row};
      if (r.kind[role] == Role::parameter) parameter_names[r.allocation[role].value] = r.name[role];
    }
    for (uint32_t row = 1; row <= r.rows(); ++row) {
      const RoleId role{row};
      const AllocationId allocation = r.allocation[role];
      if (!allocation || slot_[allocation.value] == kNone) continue;
      const HolderKind kind = kind_of(r.kind[role]);
      if (kind == HolderKind::program) continue;  // unknown role
      Holder holder{kind, {}, {}, r.name[role], r.parameter[role]};
      if (kind == HolderKind::gradient) {
        const auto named = parameter_names.find(holder.parameter.value);
        if (named != parameter_names.end()) holder.name = named->second;
      }
      add(allocation, holder);
    }
    // A C++ program does not name its parameters. Nodes that accumulate gradients show them, and also the buffers in
    // which a stage of a pipeline receives activations.
    for (uint32_t row = 1; row <= p_.nodes.rows(); ++row) {
      const uint32_t parameter = p_.nodes.parameter.raw[row];
      if (parameter == 0 || slot_[parameter] == kNone || parameter_names.contains(parameter)) continue;
      if (communication_.of(AllocationId{parameter}) == Traffic::pipeline) {
        add(AllocationId{parameter}, {.kind = HolderKind::communication, .traffic = Traffic::pipeline});
      } else {
        add(AllocationId{parameter}, {HolderKind::parameter});
      }
    }
  }

  // Must run before find_communication(), which would also find these allocations by their frames. A module, a backward
  // or an optimizer made them.
  void find_imported() {
    for (uint32_t i = 0; p_.is_imported && i < set_.members.size(); ++i) {
      const AllocationId allocation = set_.members[i].allocation;
      if (slot_[allocation.value] == kNone) continue;
      const Holder holder = imported_holder(p_, allocation);
      if (holder.kind != HolderKind::unknown) found_.push_back({i, holder});
    }
  }

  void find_held() {
    const Held& h = p_.held;
    const auto moment = static_cast<uint64_t>(set_.when.time.ns);
    for (uint32_t row = 1; row <= h.rows() && h.time.raw[row] <= moment; ++row) {
      const HeldId held{row};
      if (h.until.raw[row] <= moment || !h.allocation[held]) continue;
      const Holder holder = held_by(p_, held);
      if (holder.kind != HolderKind::program) add(h.allocation[held], holder);
    }
  }

  // Includes allocations that an operator holds too: it is about to send them, or has just received them.
  void find_communication() {
    std::vector<uint8_t> held(set_.members.size(), 0);
    for (const Found& f : found_) held[f.member] |= f.holder.kind != HolderKind::op ? 1 : 0;
    for (uint32_t i = 0; i < held.size(); ++i) {
      if (held[i] != 0) continue;
      const Traffic traffic = communication_.of(set_.members[i].allocation);
      if (traffic != Traffic::none) found_.push_back({i, {.kind = HolderKind::communication, .traffic = traffic}});
    }
  }

  static HolderKind kind_of(Role role) {
    switch (role) {
      case Role::parameter:
        return HolderKind::parameter;
      case Role::gradient:
        return HolderKind::gradient;
      case Role::optimizer_state:
        return HolderKind::optimizer_state;
      case Role::buffer:
        return HolderKind::buffer;
      case Role::none:
        break;
    }
    return HolderKind::program;
  }

  void find_operators() {
    const Operators& o = p_.operators;
    const auto moment = static_cast<uint64_t>(set_.when.time.ns);
    std::vector<OperatorId> open;
    uint64_t input = 1;
    for (uint32_t row = 1; row <= o.rows() && o.begin.raw[row] <= moment; ++row) {
      if (o.end.raw[row] > moment && !is_engine_operator(text_, o.name[OperatorId{row}])) {
        open.push_back(OperatorId{row});
        for (uint64_t i = input; i < input + o.input_count.raw[row]; ++i) {
          add(AllocationId{o.inputs[i]}, {HolderKind::op, {}, {}, o.name[OperatorId{row}]});
        }
      }
      input += o.input_count.raw[row];
    }
    if (open.empty()) return;
    const uint32_t first = open.front().value;
    for (const Member& member : set_.members) {
      // Use the outermost operator, because an inner operator may return the allocation to the outer one. Outer
      // operators have smaller numbers, so the walk can stop below the first open one.
      OperatorId outermost;
      for (OperatorId at = p_.allocations.op[member.allocation]; at.value >= first; at = o.parent[at]) {
        if (std::ranges::binary_search(open, at)) outermost = at;
      }
      if (outermost) add(member.allocation, {HolderKind::op, {}, {}, o.name[outermost]});
    }
  }

  // Variables by member. An entry is empty if no search took place, or if the search found no variable.
  std::vector<StringId> variables() const {
    std::vector<StringId> names(set_.members.size());
    const Variables& v = p_.variables;
    for (uint32_t row = 1; row <= v.rows(); ++row) {
      const uint32_t member = slot_[v.allocation.raw[row]];
      if (member == kNone) continue;
      const bool is_before = v.time.raw[row] <= static_cast<uint64_t>(set_.when.time.ns);
      if (is_before || !names[member]) names[member] = StringId{v.name.raw[row]};
    }
    return names;
  }

  void find_the_rest() {
    const std::vector<StringId> variable = variables();
    std::vector<uint8_t> held(set_.members.size(), 0);
    for (const Found& f : found_) held[f.member] = 1;
    for (uint32_t i = 0; i < held.size(); ++i) {
      if (held[i] != 0) continue;
      const AllocationId allocation = set_.members[i].allocation;
      const EvaluationId evaluation = p_.allocations.evaluation[allocation];
      if (p_.is_imported) {
        found_.push_back({i, {HolderKind::unknown}});
      } else if (!evaluation || !same_backward(p_.allocations.time[allocation])) {
        found_.push_back({i, {HolderKind::program, {}, variable[i]}});
      } else if (is_unpacked(p_, allocation)) {
        found_.push_back({i, {HolderKind::recomputed}});
      } else {
        found_.push_back({i, {HolderKind::gradient, p_.evaluations.node[evaluation]}});
      }
    }
  }

  bool same_backward(Time made) const {
    return std::ranges::any_of(p_.backwards,
                               [&](const Interval& b) { return b.contains(made) && b.contains(set_.when.time); });
  }

  // Sorts by member, then kind, then time. Equal holders become one holder with a count.
  void put_in_order() {
    std::ranges::stable_sort(found_, [](const Found& a, const Found& b) {
      return a.member != b.member ? a.member < b.member : a.holder.kind < b.holder.kind;
    });
    for (const Found& f : found_) {
      Member& member = set_.members[f.member];
      if (member.holders == 0) member.first_holder = static_cast<uint32_t>(set_.holders.size());
      const auto begin = set_.holders.begin() + member.first_holder;
      const auto same = std::find_if(begin, set_.holders.end(), [&](const Holder& h) { return is_same(h, f.holder); });
      if (same != set_.holders.end()) {
        if (f.holder.kind == HolderKind::save) ++same->count;
        continue;
      }
      set_.holders.push_back(f.holder);
      ++member.holders;
    }
  }

  bool is_same(const Holder& a, const Holder& b) const {
    return a.kind == b.kind && a.field == b.field && a.name == b.name && a.traffic == b.traffic &&
           p_.nodes.type[a.node] == p_.nodes.type[b.node];
  }

  const Process& p_;
  const Text& text_;
  PeakSet& set_;
  std::span<const SaveId> gone_;
  Communication communication_;
  std::vector<uint32_t> slot_;  // by allocation: its member
  std::vector<Found> found_;
};

bool is_on(const Process& process, AllocationId id, DeviceId device) {
  return process.allocations.device[id] == device && process.allocations.origin[id] == Origin::allocator;
}

// Computes the rest of the set from its members: their order, their sum and their holders.
PeakSet complete(const Process& process, const Text& text, PeakSet set, std::span<const SaveId> gone) {
  for (const Member& member : set.members) set.bytes += member.bytes;
  std::ranges::stable_sort(set.members, [](const Member& x, const Member& y) { return x.bytes > y.bytes; });
  Finder(process, text, set, gone).run();
  return set;
}

}  // namespace

PeakSet peak_set(const Process& process, const Text& text, DeviceId device, const Moment& when) {
  PeakSet set{when, device, {}, {}, {}};
  for (uint32_t row = 1; row <= when.last_allocation.value; ++row) {
    const AllocationId id{row};
    if (!is_on(process, id, device) || !when.holds(process, id)) continue;
    set.members.push_back({id, process.allocations.bytes[id]});
  }
  return complete(process, text, std::move(set), {});
}

PeakSet peak_set_without(const Process& process, const Text& text, DeviceId device, const Replay::Outcome& outcome,
                         std::span<const WhatIf* const> changes) {
  PeakSet set{outcome.when, device, {}, {}, {}};
  std::vector<SaveId> gone;
  for (const WhatIf* change : changes) gone.insert(gone.end(), change->without.begin(), change->without.end());
  std::ranges::sort(gone);
  auto changed = outcome.changed.begin();
  for (uint32_t row = 1; row <= outcome.when.last_allocation.value; ++row) {
    const AllocationId id{row};
    while (changed != outcome.changed.end() && changed->allocation < id) ++changed;
    const bool is_changed = changed != outcome.changed.end() && changed->allocation == id;
    const bool is_alive = is_changed ? changed->end > outcome.when.time : outcome.when.holds(process, id);
    if (is_alive && is_on(process, id, device)) set.members.push_back({id, process.allocations.bytes[id]});
  }
  return complete(process, text, std::move(set), gone);
}

}  // namespace tapelens::peak
