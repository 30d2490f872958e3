#include "analyzer/peak/grouping.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <unordered_map>

#include "analyzer/model/attribution.h"
#include "analyzer/peak/keys.h"
#include "trace/record.h"

namespace tapelens::peak {

namespace {

// Categories from the bottom of the stack up. Categories that stay constant through a step are at the bottom, so that
// the changing ones have a level base.
constexpr std::array<HolderKind, kHolderKinds> kStack = {HolderKind::parameter,
                                                         HolderKind::buffer,
                                                         HolderKind::optimizer_state,
                                                         HolderKind::gradient,
                                                         HolderKind::communication,
                                                         HolderKind::save,
                                                         HolderKind::packed,
                                                         HolderKind::checkpointing,
                                                         HolderKind::context,
                                                         HolderKind::recomputed,
                                                         HolderKind::op,
                                                         HolderKind::allocator,
                                                         HolderKind::program,
                                                         HolderKind::unknown};

// The holders of each allocation over its whole lifetime.
class Longest {
 public:
  Longest(const Process& process, const Text& text)
      : p_(process),
        text_(text),
        communication_(process, text),
        role_(size_t{process.allocations.rows()} + 1),
        save_(role_.size()),
        held_(role_.size()) {
    for (uint32_t row = 1; row <= p_.roles.rows(); ++row) {
      uint32_t& role = role_[p_.roles.allocation.raw[row]];
      if (role == 0) role = row;
    }
    for (uint32_t row = 1; row <= p_.saves.rows(); ++row) {
      if ((p_.saves.flags.raw[row] & trace::kSaveIsPacked) != 0) continue;
      uint32_t& save = save_[p_.saves.allocation.raw[row]];
      if (save == 0) save = row;
    }
    for (uint32_t row = 1; row <= p_.held.rows(); ++row) {
      uint32_t& held = held_[p_.held.allocation.raw[row]];
      if (held == 0) held = row;
    }
  }

  Holder of(AllocationId id) {
    if (const RoleId role{role_[id.value]}) {
      switch (p_.roles.kind[role]) {
        case Role::parameter:
          return {HolderKind::parameter};
        case Role::gradient:
          return {HolderKind::gradient};
        case Role::optimizer_state:
          return {HolderKind::optimizer_state};
        case Role::buffer:
          return {HolderKind::buffer};
        case Role::none:
          break;
      }
    }
    if (p_.is_imported) {
      const Holder imported = imported_holder(p_, id);
      if (imported.kind != HolderKind::unknown) return imported;
    }
    if (const HeldId held{held_[id.value]}) return held_by(p_, held);
    if (const SaveId save{save_[id.value]}) return {HolderKind::save, p_.saves.node[save], p_.saves.field[save]};
    if (const Traffic traffic = communication_.of(id); traffic != Traffic::none)
      return {.kind = HolderKind::communication, .traffic = traffic};
    const Time freed = p_.freed(id);
    // A temporary of an operator: it is freed before the outermost enclosing operator ends.
    OperatorId outermost;
    for (OperatorId op = p_.allocations.op[id]; op; op = p_.operators.parent[op]) {
      if (!is_engine_operator(text_, p_.operators.name[op])) outermost = op;
    }
    if (outermost && freed <= p_.operators.end[outermost]) return {HolderKind::op};
    if (is_unpacked(p_, id)) return {HolderKind::recomputed};
    if (const EvaluationId made = p_.allocations.evaluation[id])
      return {HolderKind::gradient, p_.evaluations.node[made]};
    return {p_.is_imported ? HolderKind::unknown : HolderKind::program};
  }

 private:
  const Process& p_;
  const Text& text_;
  Communication communication_;
  std::vector<uint32_t> role_, save_, held_;  // the first row of each, by allocation
};

// Bytes times nanoseconds: the area of an allocation in the picture.
double area(const Process& p, AllocationId id) {
  const Time end = std::min(p.freed(id), p.duration);
  return static_cast<double>(p.allocations.bytes[id].value) *
         static_cast<double>(std::max<int64_t>(0, end.ns - p.allocations.time[id].ns));
}

// Numbers of groups by name, and the totals of each group.
struct Tally {
  std::vector<uint64_t> keys;
  std::unordered_map<uint64_t, uint32_t> number;
  std::vector<double> at_peak, area;

  uint32_t of(uint64_t key) {
    const auto [at, fresh] = number.try_emplace(key, static_cast<uint32_t>(keys.size()));
    if (fresh) {
      keys.push_back(key);
      at_peak.push_back(0);
      area.push_back(0);
    }
    return at->second;
  }
};

// The groups that get a colour: those with the most bytes at the peak, then those with the largest area.
std::vector<uint8_t> ranked(const Tally& tally, const std::map<uint64_t, std::string>& names,
                            std::vector<std::string>& shown) {
  struct Named {
    double at_peak = 0, area = 0;
  };
  std::map<std::string, Named> by_name;
  for (uint32_t i = 0; i < tally.keys.size(); ++i) {
    Named& named = by_name[names.at(tally.keys[i])];
    named.at_peak += tally.at_peak[i];
    named.area += tally.area[i];
  }
  std::vector<std::pair<std::string, Named>> order(by_name.begin(), by_name.end());
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) {
    return std::pair(a.second.at_peak, a.second.area) > std::pair(b.second.at_peak, b.second.area);
  });
  std::map<std::string, uint8_t> rank;
  for (size_t i = 0; i < order.size(); ++i) {
    const bool is_named = i < Grouping::kNamed;
    if (is_named) shown.push_back(order[i].first);
    rank[order[i].first] = is_named ? static_cast<uint8_t>(i) : Grouping::kRest;
  }
  if (order.size() > Grouping::kNamed) shown.emplace_back("other");
  std::vector<uint8_t> out;
  for (const uint64_t key : tally.keys) out.push_back(rank.at(names.at(key)));
  return out;
}

// Removes groups without an allocation in the whole process, because the legend need not explain their colours.
void leave_out_empty(Grouping& grouping) {
  std::array<bool, Grouping::kGroups> has{};
  for (size_t row = 1; row < grouping.of.size(); ++row) has[grouping.of[row]] = true;
  std::erase_if(grouping.stacked, [&](uint8_t group) { return !has[group]; });
}

}  // namespace

Grouping group(const Process& process, const Text& text, const std::vector<Step>& steps, const PeakSet& peak, By by) {
  const uint32_t rows = process.allocations.rows();
  Longest longest(process, text);

  Grouping out;
  out.by = by;
  out.of.resize(size_t{rows} + 1);
  if (by == By::category) {
    for (uint8_t kind = 0; kind < kHolderKinds; ++kind)
      out.names.emplace_back(category_name(static_cast<HolderKind>(kind)));
    for (uint32_t row = 1; row <= rows; ++row) out.of[row] = static_cast<uint8_t>(longest.of(AllocationId{row}).kind);
    for (const HolderKind kind : kStack) out.stacked.push_back(static_cast<uint8_t>(kind));
    leave_out_empty(out);
    return out;
  }
  Keys keys(process, text, steps, by);
  Tally tally;
  std::vector<uint32_t> number(size_t{rows} + 1);
  for (uint32_t row = 1; row <= rows; ++row) {
    const AllocationId id{row};
    number[row] = tally.of(keys.key(id, longest.of(id)));
    tally.area[number[row]] += area(process, id);
  }
  for (const Member& member : peak.members)
    tally.at_peak[number[member.allocation.value]] += static_cast<double>(member.bytes.value);
  const std::vector<uint8_t> rank = ranked(tally, keys.names(tally.keys), out.names);
  for (uint32_t row = 1; row <= rows; ++row) out.of[row] = rank[number[row]];
  out.stacked.resize(out.names.size());
  std::iota(out.stacked.begin(), out.stacked.end(), uint8_t{0});
  leave_out_empty(out);
  return out;
}

}  // namespace tapelens::peak
