#include "analyzer/report/detail.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyzer/model/attribution.h"
#include "analyzer/model/words.h"
#include "analyzer/peak/device_memory.h"
#include "analyzer/peak/fragmentation.h"
#include "analyzer/report/categories.h"

namespace tapelens::report {

namespace {

using model::AllocationId;
using model::Process;
using model::StringId;
using model::Text;

// The program's names of the parameters that the set's holders belong to.
std::unordered_map<uint32_t, StringId> parameter_names(const Process& process, const peak::PeakSet& set) {
  std::unordered_map<uint32_t, StringId> names;
  for (const peak::Holder& holder : set.holders) {
    if (holder.parameter) names.try_emplace(holder.parameter.value);
  }
  if (names.empty()) return names;
  for (uint32_t row = 1; row <= process.roles.rows(); ++row) {
    const model::RoleId role{row};
    if (process.roles.kind[role] != model::Role::parameter) continue;
    const auto wanted = names.find(process.roles.allocation[role].value);
    if (wanted != names.end()) wanted->second = process.roles.name[role];
  }
  return names;
}

std::string phase_text(model::ImportedPhase phase) {
  const model::Phase known = model::phase_of(phase);
  return known == model::Phase::other ? "" : phase_name(known);
}

Allocation describe(const Process& p, const Text& text, const std::vector<model::Step>& steps, const peak::PeakSet& set,
                    const peak::Member& member, const std::unordered_map<uint32_t, StringId>& names,
                    const model::ParameterModules& modules, bool has_stack) {
  Allocation out;
  const AllocationId id = member.allocation;
  out.id = id.value;
  out.bytes = member.bytes;
  out.time = p.allocations.time[id];
  out.step = step_index_at(steps, out.time);
  out.op = text.string(called_name_of(p, text, id));
  out.module = text.string(text.module_path[module_of(p, id)]);
  out.owner = text.string(text.module_path[modules.of(id)]);
  const model::StackId stack = stack_of(p, text, id);
  if (const model::FrameId frame = source_frame(text, stack)) out.source = peak::frame_text(text, frame);
  if (has_stack) out.stack = peak::frames_of(text, stack);
  const model::DeviceBlocks& b = p.device_blocks;
  if (const auto row = b.of(id))
    out.block = {b.rounded[row], b.address[row], b.stream[row], b.graph_pool[row], b.user_pool[row]};
  if (const model::ImportedFactsId row = p.imported_facts.of(id)) {
    const model::ImportedFacts& facts = p.imported_facts;
    out.imported = {phase_text(facts.phase[row]), std::string(text.string(facts.op[row])),
                    std::string(text.string(facts.node[row])), std::string(text.string(facts.evidence[row]))};
  }
  const auto holders = set.holders_of(member);
  out.category = peak::main_holder(holders).kind;
  if (holders.front().layout) out.layout = layout_text(text, holders.front().layout);
  for (const peak::Holder& holder : holders) {
    Holder h;
    h.kind = holder.kind;
    h.node = text.string(p.nodes.type[holder.node]);
    h.field = text.string(holder.field);
    h.name = name_of(text, holder);
    const bool is_of_role = p.is_imported && holder.kind == peak::imported_holder(p, id).kind;
    if (is_of_role && out.imported) h.evidence = out.imported->evidence;
    if (const auto name = names.find(holder.parameter.value); name != names.end())
      h.parameter = text.string(name->second);
    if (holder.kind == peak::HolderKind::save) h.saves = holder.count;
    out.holders.push_back(std::move(h));
  }
  return out;
}

}  // namespace

const Holder& main_holder(const Allocation& allocation) {
  for (const Holder& holder : allocation.holders) {
    if (holder.kind == allocation.category) return holder;
  }
  return allocation.holders.front();
}

std::string holder_text(const Holder& h) {
  if (!h.evidence.empty()) return std::string(label(h.kind)) + ": " + h.evidence;
  switch (h.kind) {
    case peak::HolderKind::save:
      return model::field_name(h.node, h.field) + (h.saves > 1 ? " x" + std::to_string(h.saves) : "");
    case peak::HolderKind::gradient:
      if (!h.name.empty()) return "gradient of " + h.name;
      return "gradient in flight" + (h.node.empty() ? "" : " from " + h.node);
    case peak::HolderKind::optimizer_state:
      return "optimizer state " + h.name + (h.parameter.empty() ? "" : " of " + h.parameter);
    case peak::HolderKind::packed:
      return "packed by a hook" + (h.node.empty() ? "" : " for " + model::field_name(h.node, h.field));
    case peak::HolderKind::checkpointing:
      return "kept by checkpointing" + (h.field.empty() ? "" : ", result of " + h.field);
    case peak::HolderKind::context:
      return h.node + ".ctx." + h.field;
    case peak::HolderKind::recomputed:
      return "recomputed in backward";
    case peak::HolderKind::op:
      return "temporary of " + h.name;
    case peak::HolderKind::allocator:
      return "freed, but another stream still uses it";
    case peak::HolderKind::unknown:
      return "holder not known";
    case peak::HolderKind::program:
      return "live tensor" + (h.field.empty() ? "" : ", " + h.field);
    default:
      return std::string(kind_name(h.kind)) + (h.name.empty() ? "" : " " + h.name);
  }
}

namespace {

constexpr size_t kHoles = 5, kGroupsOfHole = 3;

std::optional<Reserved> describe_reserved(const peak::Analysis& analysis, const peak::PeakSet& set,
                                          const std::unordered_map<uint32_t, StringId>& names,
                                          const model::ParameterModules& modules) {
  if (!analysis.traits(set.device).has_blocks) return std::nullopt;
  const peak::DeviceMemory& memory = analysis.memory(set.device);
  Reserved out;
  out.allocated.value = memory.allocated.at(set.when.time);
  out.waiting.value = memory.waiting.at(set.when.time);
  if (analysis.traits(set.device).has_segments) out.reserved = Bytes{memory.reserved.at(set.when.time)};
  const std::vector<peak::SegmentAt> segments = peak::segments_at(analysis.process(), set.device, set.when);
  for (const peak::SegmentAt& s : segments) {
    out.largest_hole = std::max(out.largest_hole, s.largest_hole);
    out.segments.push_back({s.address, s.bytes, s.used, s.largest_hole, s.stream, s.blocks.size(), s.graph_pool,
                            s.user_pool, s.is_expandable});
  }
  const peak::Fragmentation pieces = fragmentation(analysis.process(), analysis.text(), set, segments, kHoles);
  out.empty = pieces.empty;
  out.unusable = pieces.unusable;
  for (const peak::Fragmentation::Hole& hole : pieces.holes) {
    Reserved::Hole& described = out.holes.emplace_back(hole.segments, hole.unused);
    for (const peak::Fragmentation::Group& group : hole.groups) {
      if (described.groups.size() == kGroupsOfHole) {
        ++described.groups_left_out.count;
        described.groups_left_out.bytes += group.bytes;
        continue;
      }
      const Allocation largest = describe(analysis.process(), analysis.text(), analysis.steps(), set,
                                          set.members[group.member], names, modules, true);
      described.groups.push_back(
          {holder_text(main_holder(largest)), largest.module, largest.source, group.allocations, group.bytes});
    }
  }
  return out;
}

}  // namespace

namespace {

// Adds groups of modules below the requested depth to the groups of their parent modules.
std::vector<peak::AllocationGroup> folded(std::vector<peak::AllocationGroup> groups, const Options& options) {
  if (options.by != peak::By::module || !options.depth) return groups;
  std::map<std::string, peak::AllocationGroup> sums;
  for (const peak::AllocationGroup& group : groups) {
    const std::string module(module_at(group.key, options.depth));
    peak::AllocationGroup& sum =
        sums.try_emplace(module, peak::AllocationGroup{module, {}, 0, group.biggest}).first->second;
    sum.bytes += group.bytes;
    sum.allocations += group.allocations;
    sum.biggest = std::min(sum.biggest, group.biggest);  // members are in the order of bytes
  }
  groups.clear();
  for (auto& [module, sum] : sums) groups.push_back(std::move(sum));
  std::ranges::stable_sort(groups, std::ranges::greater(), &peak::AllocationGroup::bytes);
  return groups;
}

std::optional<std::vector<Variable>> describe_variables(const Process& process, const Text& text,
                                                        const peak::PeakSet& set) {
  if (process.variables.rows() == 0) return std::nullopt;
  std::map<std::string, Variable> by_name;
  for (const peak::Member& member : set.members) {
    const peak::Holder& holder = peak::main_holder(set.holders_of(member));
    if (holder.kind != peak::HolderKind::program) continue;
    Variable& variable = by_name[peak::without_numbers(text.string(holder.field))];
    variable.bytes += member.bytes;
    ++variable.allocations;
  }
  std::vector<Variable> out;
  for (auto& [name, variable] : by_name) {
    variable.name = name;
    out.push_back(std::move(variable));
  }
  std::ranges::stable_sort(out, [](const Variable& a, const Variable& b) { return a.bytes > b.bytes; });
  return out;
}

}  // namespace

Peak describe_peak(const peak::Analysis& analysis, const peak::PeakSet& set, const Options& options) {
  const Process& process = analysis.process();
  const Text& text = analysis.text();
  const std::vector<model::Step>& steps = analysis.steps();
  Peak out;
  out.pid = process.summary.pid;
  out.rank = process.summary.rank;
  out.device = text.string(text.device_name[set.device]);
  out.bytes = set.bytes;
  out.time = set.when.time;
  out.step = step_index_at(steps, out.time);
  out.is_behind_steps = steps.size() > 1 && step_at(steps, out.time).when.end == model::kNever;
  out.phase = analysis.phases().at(out.time);
  out.live_allocations = set.members.size();
  out.by_category = categories(set);
  const size_t top = options.top.value_or(SIZE_MAX);
  for (peak::AllocationGroup& group : folded(groups(process, text, steps, set, options.by), options)) {
    if (out.groups.size() == top) {
      ++out.groups_left_out.count;
      out.groups_left_out.bytes += group.bytes;
      continue;
    }
    const peak::Member& biggest = set.members[group.biggest];
    AllocationGroup made{std::move(group.key), group.bytes, group.allocations, {}, {}};
    if (const model::LayoutId layout = set.holders_of(biggest).front().layout) made.layout = layout_text(text, layout);
    const model::StackId stack = stack_of(process, text, biggest.allocation);
    if (const model::FrameId own = own_frame(text, stack)) made.source = peak::frame_text(text, own);
    if (const model::FrameId library = peak::called_library_frame(text, stack)) {
      made.library = peak::frame_text(text, library);
    }
    out.groups.push_back(std::move(made));
  }
  const auto names = parameter_names(process, set);
  const model::ParameterModules modules(process, text);
  const auto last = std::ranges::max_element(set.members, {}, &peak::Member::allocation);
  if (last != set.members.end() && process.allocations.time[last->allocation] == out.time) {
    out.op = text.string(called_name_of(process, text, last->allocation));
    if (const auto row = process.imported_facts.of(last->allocation))
      out.phase = model::phase_of(process.imported_facts.phase[row]);
    if (const model::FrameId frame = own_frame(text, stack_of(process, text, last->allocation));
        frame && is_own_frame(text, frame)) {
      out.source = peak::frame_text(text, frame);
    }
  }
  out.variables = describe_variables(process, text, set);
  out.lacks_variables = process.lacks_variables;
  out.reserved = describe_reserved(analysis, set, names, modules);
  size_t sizes = 0;
  Bytes last_size{-1};
  for (const peak::Member& member : set.members) {
    sizes += member.bytes != last_size ? 1 : 0;
    last_size = member.bytes;
    if ((options.keeps_equal ? sizes - 1 : out.allocations.size()) < top) {
      out.allocations.push_back(describe(process, text, steps, set, member, names, modules, !options.keeps_equal));
    } else {
      ++out.allocations_left_out.count;
      out.allocations_left_out.bytes += member.bytes;
    }
  }
  return out;
}

std::vector<Range> describe_ranges(const peak::Analysis& analysis, const peak::Timeline& timeline) {
  const Process& process = analysis.process();
  std::vector<Range> out;
  out.reserve(process.ranges.size());
  for (const model::Range& range : process.ranges) {
    const auto totals = timeline.allocated(range.when);
    Range r;
    r.name = analysis.text().string(range.name);
    r.begin = range.when.begin;
    r.end = range.when.end == model::kNever ? std::max(process.duration, range.when.begin) : range.when.end;
    r.thread = range.os_thread;
    // As for steps: live bytes just before the begin.
    r.begin_live = timeline.largest({range.when.begin, range.when.begin}).bytes;
    r.peak = timeline.largest(range.when).bytes;
    r.allocations = totals.allocations;
    r.allocated = totals.bytes;
    out.push_back(std::move(r));
  }
  return out;
}

}  // namespace tapelens::report
