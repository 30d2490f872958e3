#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "analyzer/advise/advice.h"
#include "analyzer/advise/groups.h"
#include "analyzer/model/attribution.h"
#include "analyzer/peak/keys.h"

namespace tapelens::advise {

namespace {

using Kind = Entry::Kind;

Kind kind_of(const Finding& f, bool is_applied) {
  if (is_applied) return Kind::automatic;
  if (f.is_alternative) return Kind::trade;
  if (f.severity == check::Severity::error) return Kind::error;
  if (f.fix.kind == check::FixKind::rewrite) return Kind::automatic;
  return f.severity == check::Severity::warning || f.fix.is_small || !f.fix.edits.empty() ? Kind::code : Kind::consider;
}

// The key of the change that fixes a finding. One change covers all rewrites, all findings with the same patch, or all
// findings of one check at one line that have no patch. A patch of another finding may not fix those. Small changes of
// one kind in one function are one change: `del` of several variables. Each trade is a separate change.
std::string cause_of(const Finding& f, Kind kind) {
  if (kind == Kind::automatic) return "rewrites";
  if (kind == Kind::trade) return "trade\n" + f.id;
  if (!f.fix.edits.empty()) return "patch\n" + unified_diff(f.fix.edits);
  const std::string what = "kind " + std::to_string(static_cast<int>(kind)) + "\n" + f.check + "\n";
  if (f.source.file.empty()) return what + f.title;
  if (kind == Kind::code && f.fix.is_small && !f.source.function.empty() && f.source.function != "<module>")
    return what + f.title + "\n" + f.source.file + "\n" + f.source.function;
  return what + f.source.file + "\n" + std::to_string(f.source.line);
}

bool is_small(Bytes change, Bytes peak) {
  return static_cast<double>(change.value) < kSignificant * static_cast<double>(peak.value);
}

// Sets the peaks of entries that are fixed one after another.
void fix_in_order(const Process& process, const peak::Replay& replay, const std::vector<Finding>& findings,
                  const std::vector<TimelineChange>& changes, std::vector<Entry>& entries) {
  const Bytes peak = findings.empty() ? Bytes{} : findings.front().peak_before;
  Bytes before = peak;
  std::vector<const TimelineChange*> fixed;
  for (Entry& entry : entries) {
    if (entry.kind == Kind::trade) {
      const Finding& alone = findings[entry.findings.front()];
      entry.peak_before = alone.peak_before;
      entry.peak_after = alone.peak_after;
    } else {
      const size_t known = fixed.size();
      for (const uint32_t at : entry.findings) {
        if (findings[at].is_in_all) fixed.push_back(&changes[at]);
      }
      entry.peak_before = before;
      entry.peak_after = fixed.size() == known ? before : without(process, replay, fixed).peak;
      before = entry.peak_after;
    }
    entry.is_small = entry.kind != Kind::error && is_small(entry.change(), peak);
  }
}

}  // namespace

std::vector<Entry> entries_of(const Process& process, const peak::Replay& replay, bool are_applied,
                              std::vector<Finding>& findings, std::vector<TimelineChange>& changes) {
  std::map<std::string, std::vector<uint32_t>> causes;
  for (uint32_t at = 0; at < findings.size(); ++at) {
    causes[cause_of(findings[at], kind_of(findings[at], are_applied))].push_back(at);
  }
  const auto retained = [&](uint32_t at) { return findings[at].retained_at_peak().value; };
  const auto order_of = [&](uint32_t at) {
    return std::tuple(kind_of(findings[at], are_applied), !findings[at].is_in_all, -retained(at),
                      -findings[at].bytes.value);
  };
  std::vector<Entry> entries;
  for (auto& [cause, places] : causes) {
    std::ranges::stable_sort(places, {}, order_of);
    const Kind kind = kind_of(findings[places.front()], are_applied);
    entries.push_back({kind, std::move(places), {}, {}, false});
  }
  std::ranges::stable_sort(entries, {}, [&](const Entry& entry) {
    int64_t bytes = 0, most = 0;
    for (const uint32_t at : entry.findings) {
      bytes += retained(at);
      most += findings[at].bytes.value;
    }
    return std::tuple(entry.kind, -bytes, -most);
  });

  fix_in_order(process, replay, findings, changes, entries);
  // Small entries go last if no other entry depends on them, so that the numbers of shown entries have no gaps.
  std::vector<Entry> reordered = entries;
  std::ranges::stable_partition(reordered, [](const Entry& entry) { return !entry.is_small; });
  const size_t small = static_cast<size_t>(std::ranges::count_if(entries, &Entry::is_small));
  if (!std::ranges::is_partitioned(entries, [](const Entry& entry) { return !entry.is_small; })) {
    fix_in_order(process, replay, findings, changes, reordered);
    const auto last = std::span(reordered).last(small);
    const bool is_same = static_cast<size_t>(std::ranges::count_if(reordered, &Entry::is_small)) == small &&
                         std::ranges::all_of(last, &Entry::is_small);
    if (is_same) entries = std::move(reordered);
  }

  std::vector<Finding> sorted;
  std::vector<TimelineChange> sorted_changes;
  for (Entry& entry : entries) {
    for (uint32_t& at : entry.findings) {
      sorted.push_back(std::move(findings[at]));
      sorted_changes.push_back(std::move(changes[at]));
      at = static_cast<uint32_t>(sorted.size() - 1);
    }
  }
  findings = std::move(sorted);
  changes = std::move(sorted_changes);
  return entries;
}

std::vector<Remaining> remaining_of(const Process& process, const Text& text, const std::vector<Step>& steps,
                                    const peak::PeakSet& left) {
  using peak::HolderKind;
  peak::Keys fields(process, text, steps, peak::By::field), lines(process, text, steps, peak::By::source);
  struct Group {
    Bytes bytes;
    uint64_t allocations;
    AllocationId biggest;
  };
  std::map<HolderKind, std::map<uint64_t, Group>> kinds;
  for (const peak::Member& member : left.members) {
    const peak::Holder& holder = main_holder(left.holders_of(member));
    const bool is_by_line = holder.kind == HolderKind::program || holder.kind == HolderKind::unknown;
    peak::Keys& keys = is_by_line ? lines : fields;
    const uint64_t key =
        holder.kind == HolderKind::op ? holder.name.value : keys.key(member.allocation, holder);  // by operator
    Group& group = kinds[holder.kind][key];
    group.bytes += member.bytes;
    ++group.allocations;
    if (!group.biggest) group.biggest = member.allocation;  // members are in the order of bytes
  }
  std::vector<Remaining> all;
  for (const auto& [kind, groups] : kinds) {
    Remaining one{kind, {}, 0, {}, {}, {}, {}};
    for (const auto& [key, group] : groups) {
      one.bytes += group.bytes;
      one.allocations += group.allocations;
    }
    if (one.bytes <= Bytes{}) continue;
    const auto& [key, largest] =
        *std::ranges::max_element(groups, {}, [](const auto& group) { return group.second.bytes; });
    one.largest_bytes = largest.bytes;
    if (kind == HolderKind::op) {
      one.largest = text.string(StringId{static_cast<uint32_t>(key)});
    } else if (kind == HolderKind::save) {
      const uint64_t keys[] = {key};
      one.largest = fields.names(keys).begin()->second;
    }
    if (kind == HolderKind::op || kind == HolderKind::save || kind == HolderKind::program ||
        kind == HolderKind::unknown) {
      if (const ModuleId module = module_of(process, largest.biggest)) {
        one.module = text.string(text.module_path[module]);
      }
      const StackId stack = stack_of(process, text, largest.biggest);
      one.source = peak::frame_of(text, own_frame(text, stack));
      if (const FrameId library = peak::called_library_frame(text, stack)) one.library = peak::frame_of(text, library);
    }
    if (kind == HolderKind::program) one.hint = peak::variables_hint(process);
    all.push_back(std::move(one));
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &Remaining::bytes);
  return all;
}

}  // namespace tapelens::advise
