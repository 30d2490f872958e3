// Finds tensors that the program holds across the peak and never uses again.
#include "analyzer/check/check.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/check/content.h"
#include "analyzer/check/graphs.h"
#include "analyzer/check/interruptions.h"
#include "analyzer/check/reference.h"
#include "plugins/idle-holder/causes.h"

namespace tapelens::check {
namespace {

enum Variant : uint32_t {
  kHeld = 0,       // held by a variable: logits, a batch
  kCollected = 1,  // held for more than a step
  kState = 2,      // state that an optimizer holds
  kCast = 3,       // cast copy of a weight that autocast holds
};

constexpr Option kOptions[] = {
    {"min-percent", "2", "percent of the peak that a tensor, or a list of tensors, must have"},
    {"min-idle-percent", "1",
     "percent of the operators in the peak's step, from its first node, that must run after the last use"},
};

class IdleHolder final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "idle-holder",
            .title = "tensors that are referenced after their last use",
            .help =
                "Allocations that are alive at the peak because a variable, a list or an attribute of the program "
                "refers to them, although nothing reads them again: old batches, logits, collected outputs. "
                "Parameters, buffers, gradients and saved tensors do not count. Optimizer state counts if its "
                "optimizer stepped at least twice without reading it, and never reads it again. Drop the reference "
                "before the peak: del, or a separate function.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Time peak = context.peak.when.time;
    const Step& step = step_at(context.steps, peak);
    // The unit of idle time is operators, because clock times would give other findings in each run. The first step
    // begins with the recording.
    const Time begin = first_node(p, step.when.begin);
    const int64_t operators = operators_between(p, begin, step.when.end);
    const int64_t idle = std::max<int64_t>(1, operators * options.number("min-idle-percent") / 100);
    const Bytes least{context.peak.bytes.value / 100 * options.number("min-percent")};
    // A program without a graph does not train.
    const Time prepared = p.nodes.rows() == 0 ? Time{0} : first_node(p, Time{0});
    // Python may free variables after it, as it ends, or not at all.
    const Time end = p.operators.rows() == 0 ? Time{0} : p.operators.begin[OperatorId{p.operators.rows()}];

    const Interruptions interruptions(p);
    const Restored restored(context);
    const std::vector<bool> parameters = parameters_of(p);
    Bytes casts;  // of weights

    struct Alike {
      Variant variant = kHeld;
      Bytes largest, all;
      AllocationId first;
      Time last;  // the last use of the first
      uint32_t count = 0;
      bool is_restored = false;
      bool is_bound = false;     // a variable may refer to one of them
      bool ends_at_once = true;  // the last use of all ends at the same time
    };
    std::map<uint32_t, Bytes> of_files;  // by line, which loads one object
    std::map<Key, Alike> alike;
    for (const peak::Member& member : context.peak.members) {
      const auto holders = context.peak.holders_of(member);
      if (!std::ranges::all_of(holders, [](const peak::Holder& h) { return h.kind == peak::HolderKind::program; })) {
        continue;
      }
      const AllocationId allocation = member.allocation;
      const Time last = last_use(context, allocation);
      // Still in use, or used after the peak.
      if (last > peak || operators_between(p, last, p.freed(allocation)) < idle) continue;
      // An interruption may have prevented the next use. An example is the labels of a batch that did not fit.
      if (interruptions.cut({p.allocations.time[allocation], p.freed(allocation)})) continue;
      // The program may use memory later that exists from before the training to the end: a data set, a second model.
      const bool stays = p.allocations.time[allocation] < prepared && p.freed(allocation) > end;
      const bool is_restored = restored.has(allocation);
      if (stays && !is_restored) continue;
      if (is_used_in_several_steps(context, allocation) || !is_of_program(context, place_of(context, allocation)))
        continue;
      // A loop's variable holds a tensor of the previous step until its next assignment. Older tensors are in a list.
      const bool is_old = step_index_at(context.steps, last) + 1 < step.index;
      if (is_cached_cast(context, parameters, allocation)) {
        casts += member.bytes;
        continue;
      }
      const Key key = key_of(context, place_of(context, allocation), member.bytes);
      Alike& of = alike[key];
      of.is_restored |= is_restored;
      if (is_restored) of_files[std::get<0>(key)] += member.bytes;
      if (is_old) of.variant = kCollected;
      if (of.count++ == 0) {
        of.first = allocation;
        of.last = last;
      }
      of.ends_at_once &= of.last == last;
      of.largest = std::max(of.largest, member.bytes);
      of.all += member.bytes;
      of.is_bound = of.is_bound || (member.bytes >= least && is_bound(context, allocation));
    }
    // A list of many small tensors, or the tensors of a file, count as much as a variable with a large tensor.
    std::map<Key, Variant> found;
    for (const auto& [key, of] : alike) {
      // A list of the program that torch.stack read, for example.
      const bool is_joined = of.count > 1 && of.ends_at_once && is_read_by_program(context, of.first, of.last);
      const bool is_list = of.is_restored || of.variant == kCollected;
      const Bytes bytes = of.is_restored ? of_files[std::get<0>(key)] : is_list || is_joined ? of.all : of.largest;
      if (bytes < least) continue;
      if (is_list || of.is_bound || (is_joined && is_bound(context, of.first))) found.emplace(key, of.variant);
    }
    add_states(context, least, sink);
    if (casts >= least) add_casts(context, parameters, idle, sink);
    if (!found.empty()) add_all(context, found, idle, sink);
  }

  Description describe(const Context& context, const Group& group) const override {
    const Process& p = context.process;
    const Occurrence& biggest = group.biggest();
    const std::string line = line_of(context, biggest.place);
    const uint32_t at_peak = step_at(context.steps, context.peak.when.time).index;
    const uint32_t used = step_at(context.steps, biggest.when.begin).index;
    const Time made = p.allocations.time[biggest.allocation];
    Description d;
    if (group.variant == kCast) {
      d.title = "autocast keeps a cast copy of each weight until its region ends";
      d.message = "Autocast keeps the copies for a backward that never comes: " + bytes_text(group.bytes) +
                  " of them at a time.";
      d.edit = autocast_line(context, biggest.place.stack);
      d.fix.text = "torch.autocast(..., cache_enabled=False), or model.requires_grad_(False): then nothing is cached";
      d.fix.is_small = true;
      return d;
    }
    if (group.variant == kState) {
      d.title = "optimizer state that no step reads any more";
      d.message = "In its last " + counted(biggest.number, "step") + ", the optimizer did not read " +
                  bytes_text(group.bytes) + " of its state: the parameters are frozen, or have no gradients.";
      d.fix.text = "take the frozen parameters out of the optimizer: del optimizer.state[p], or make a new one";
      d.fix.is_small = true;
      return d;
    }
    const uint64_t at_once = group.alive_at(context.peak.when.time);
    d.severity = group.variant == kCollected ? Severity::warning : Severity::info;
    d.title = group.variant == kCollected ? "tensors of earlier steps are still referenced"
                                          : "tensors are kept alive after their last use";
    d.notes.push_back("the biggest was made in step " + std::to_string(step_at(context.steps, made).index) +
                      " and last read in step " + std::to_string(used) +
                      (p.freed(biggest.allocation) == kNever ? "; it is alive at the end of the recording" : ""));
    d.fix.text = "del the variable before the peak, keep a number (.item()) instead of the tensor, or do not return it";
    std::set<AllocationId> kept_alive;
    for (const Occurrence& occurrence : group.occurrences) kept_alive.insert(occurrence.allocation);
    const std::vector<std::string> variables = variables_of(context, kept_alive);
    if (variables.empty()) d.fix.text += peak::variables_hint(p);
    bool is_elsewhere = false;
    if (const auto kept = kept_at(context, biggest, group.variant)) {
      d.edit = group.variant == kHeld ? kept->line : kept->kept_for_long();
      d.fix.text = fix_text(*kept, group.variant);
      is_elsewhere = d.edit.line != context.text.frame_line[own_frame(context.text, biggest.place.stack)];
    }
    d.message = "At the peak in step " + std::to_string(at_peak) + ", Python references keep " +
                counted(at_once, "tensor") + (is_elsewhere && !line.empty() ? " made at " + line : "") + " (" +
                bytes_text(group.bytes) + ") that nothing reads again." + variables_text(variables);
    d.fix.is_small = true;
    return d;
  }

 private:
  // The statement that keeps the reference. For tensors that stay for more than a step, the statement that stores them,
  // which may be at one of their last readers.
  static std::optional<Reference> kept_at(const Context& context, const Occurrence& held, uint32_t variant) {
    auto kept = reference_of(context, place_of(context, held.allocation));
    if (variant == kHeld) {
      const bool is_known = !kept || kept->kind != Reference::Kind::variable ||
                            has_left(context, held.place.stack, kept->line.frame, held.allocation);
      return is_known ? kept : std::nullopt;
    }
    if (kept && kept->kept_for_long()) return kept;
    const auto uses = context.provenance.uses(held.allocation);
    constexpr size_t kMostReaders = 16;
    size_t readers = 0;
    for (auto use = uses.rbegin(); use != uses.rend() && readers < kMostReaders; ++use) {
      if (context.process.operators.evaluation[*use]) continue;
      ++readers;
      kept = reference_of(context, place_of(context, *use));
      if (kept && kept->kept_for_long()) return kept;
    }
    return std::nullopt;
  }

  // Whether a variable that the program can release may refer to it at the peak. While the statement that made it runs,
  // its own variable is not bound yet, and those of the libraries that it calls are out of reach.
  static bool is_bound(const Context& context, AllocationId allocation) {
    if (context.process.allocations.evaluation[allocation]) return true;  // its stack is that of the forward
    const StackId made = place_of(context, allocation).stack;
    const FrameId own = own_frame(context.text, made);
    if (!own || !is_own_frame(context.text, own)) return true;
    return has_left(context, made, own, allocation) || !variables_of(context, {allocation}).empty();
  }

  // Whether the last use of the allocation is an operator that the program called itself, not a package.
  static bool is_read_by_program(const Context& context, AllocationId allocation, Time last) {
    const Process& p = context.process;
    return std::ranges::any_of(context.provenance.uses(allocation), [&](OperatorId use) {
      const StackId stack = p.operators.stack[use];
      const FrameId own = own_frame(context.text, stack);
      return p.operators.end[use] == last && own && own == source_frame(context.text, stack) &&
             is_own_frame(context.text, own);
    });
  }

  // Whether the program left the statement at a frame between the allocation and the peak. The statement binds its
  // variable when it ends.
  static bool has_left(const Context& context, StackId made, FrameId statement, AllocationId allocation) {
    const Process& p = context.process;
    const Text& text = context.text;
    const auto path = text.stack(made);
    const auto at = std::ranges::find(path, statement);
    const auto outer = std::span(at, path.end());  // from the statement out
    const auto is_inside = [&](StackId stack) {
      const auto frames = text.stack(stack);
      return frames.size() >= outer.size() && std::ranges::equal(frames.last(outer.size()), outer);
    };
    const auto& begins = p.operators.begin.raw;
    const auto row_at = [&](Time time) {
      return static_cast<uint32_t>(std::upper_bound(begins.begin() + 1, begins.end(), static_cast<uint64_t>(time.ns)) -
                                   begins.begin());
    };
    StackId inside;
    for (uint32_t row = row_at(context.peak.when.time), first = row_at(p.allocations.time[allocation]); row > first;) {
      const OperatorId op{--row};
      const StackId stack = p.operators.stack[op];
      if (!stack || stack == inside || p.operators.evaluation[op]) continue;
      if (!is_inside(stack)) return true;
      inside = stack;
    }
    return false;
  }

  // The variables from `record --referrers`, those of the biggest tensors first.
  static std::vector<std::string> variables_of(const Context& context, const std::set<AllocationId>& kept) {
    std::set<std::string> seen;
    std::vector<std::string> variables;
    for (const peak::Member& member : context.peak.members) {
      if (!kept.contains(member.allocation)) continue;
      for (const peak::Holder& holder : context.peak.holders_of(member)) {
        if (holder.kind != peak::HolderKind::program || !holder.field) continue;
        std::string variable = peak::without_numbers(context.text.string(holder.field));
        if (seen.insert(variable).second) variables.push_back(std::move(variable));
      }
    }
    return variables;
  }

  // " In variables: history[*] in train.py:61, self.cache of Trainer and 4 more."
  static std::string variables_text(const std::vector<std::string>& variables) {
    if (variables.empty()) return "";
    constexpr size_t kMostNamed = 3;
    const size_t named = std::min(variables.size(), kMostNamed);
    std::string text = " In variables: ";
    for (size_t i = 0; i < named; ++i) {
      text += (i > 0 ? ", " : "") + variables[i];
    }
    return text + (variables.size() > named ? " and " + std::to_string(variables.size() - named) + " more." : ".");
  }

  static std::string fix_text(const Reference& kept, uint32_t variant) {
    const std::string name = kept.name.empty() ? "the variable" : kept.name;
    switch (kept.kind) {
      case Reference::Kind::variable:
        if (variant == kCollected) return "pass a number (.item()) instead of the tensor to the object that keeps it";
        return "del " + name + " after its last use, or do not return the tensor from this call";
      case Reference::Kind::collected:
        if (variant == kHeld) return "release " + name + " after its last use: del, or .clear()";
        return "keep a number (.item()) or a copy on the CPU in " + name +
               ", or release each tensor after its last use";
      case Reference::Kind::attribute:
        return "set " + name + " to None after its last use, or do not keep the tensor there";
      case Reference::Kind::returned:
        return "return a number (.item()) instead of the tensor, or release it where it is received";
    }
    return "";
  }

  using Key = std::tuple<uint32_t, uint32_t, int64_t>;  // line, operator, bytes
  static Key key_of(const Context& context, const Place& place, Bytes bytes) {
    return {source_frame(context.text, place.stack).value, context.process.operators.name[place.op].value, bytes.value};
  }

  static void add_states(const Context& context, Bytes least, Sink& sink) {
    const Process& p = context.process;
    const std::vector<StaleState> states = stale_states(context);
    Bytes all;
    for (const StaleState& state : states) all += p.allocations.bytes[state.allocation];
    if (all < least) return;
    for (const StaleState& state : states) {
      // The place has only the line, because an optimizer makes its state with many operators.
      Place place{};
      place.stack = place_of(context, state.allocation).stack;
      peak::WhatIf change;
      change.ends.push_back({state.allocation, state.last});
      sink.add({place,
                state.allocation,
                p.allocations.bytes[state.allocation],
                {state.last, p.freed(state.allocation)},
                {},
                state.steps},
               change, kState);
    }
  }

  static void add_casts(const Context& context, const std::vector<bool>& parameters, int64_t idle, Sink& sink) {
    const Process& p = context.process;
    for (const AllocationId allocation : context.allocations(Bytes{1})) {
      if (!is_cached_cast(context, parameters, allocation)) continue;
      const Time last = last_use(context, allocation), freed = p.freed(allocation);
      if (last >= freed || operators_between(p, last, freed) < idle) continue;
      // The place has only the line, because the weights of one call belong to many layers.
      Place place{};
      place.stack = place_of(context, allocation).stack;
      peak::WhatIf change;
      change.ends.push_back({allocation, last});
      sink.add({place, allocation, p.allocations.bytes[allocation], {last, freed}}, change, kCast);
    }
  }

  // Adds the idle time of all allocations like those at the peak, in every step.
  static void add_all(const Context& context, const std::map<Key, Variant>& found, int64_t idle, Sink& sink) {
    const Process& p = context.process;
    std::set<int64_t> sizes;
    for (const auto& [key, variant] : found) sizes.insert(std::get<int64_t>(key));
    const std::vector<bool> is_held = held_besides_saves(p);
    std::map<Key, Time> next_made;
    std::vector<std::pair<Occurrence, Variant>> occurrences;
    for (uint32_t row = p.allocations.rows(); row > 0; --row) {
      const AllocationId allocation{row};
      const Bytes bytes = p.allocations.bytes[allocation];
      if (is_held[row] || !sizes.contains(bytes.value)) continue;
      const Place place = place_of(context, allocation);
      if (!is_of_program(context, place)) continue;
      const auto at = found.find(key_of(context, place, bytes));
      if (at == found.end()) continue;
      const Time next =
          std::exchange(next_made.try_emplace(at->first, kNever).first->second, p.allocations.time[allocation]);
      const Time freed = p.freed(allocation);
      Time last = last_use(context, allocation);
      // A tensor in a list may also stay in a variable until the variable gets the next tensor.
      if (at->second == kCollected && is_used_by_caller(context, allocation)) last = std::max(last, next);
      if (last >= freed || operators_between(p, last, freed) < idle) continue;
      occurrences.push_back({{place, allocation, bytes, {last, freed}}, at->second});
    }
    for (const auto& [occurrence, variant] : occurrences | std::views::reverse) {
      peak::WhatIf change;
      change.ends.push_back({occurrence.allocation, occurrence.when.begin});
      sink.add(occurrence, change, variant);
    }
  }

  // Whether an operator reads the allocation after the outermost module call that made it.
  static bool is_used_by_caller(const Context& context, AllocationId allocation) {
    const Process& p = context.process;
    const ModuleCallId call = outermost_call(p, context.provenance.maker(allocation));
    if (!call) return true;
    return std::ranges::any_of(context.provenance.uses(allocation), [&](OperatorId use) {
      return !p.operators.evaluation[use] && p.operators.begin[use] >= p.module_calls.end[call];
    });
  }

  // Whether a variable of the program may refer to the allocation. Memory of a resized storage has neither an operator
  // nor a line of Python, so no variable refers to it. PyTorch holds the buckets and shards of DDP and FSDP.
  static bool is_of_program(const Context& context, const Place& place) {
    const Text& text = context.text;
    const auto frames = text.stack(place.stack);
    if (frames.empty()) return bool{place.op};
    const std::string_view innermost = text.string(text.frame_file[frames.front()]);
    return innermost.find("/torch/distributed/") == std::string_view::npos &&
           innermost.find("/torch/nn/parallel/") == std::string_view::npos;
  }

  // The last end of an operator, of a save, or of a module call that got the allocation. The frame of the call's caller
  // holds the allocation until the call returns.
  static Time last_use(const Context& context, AllocationId allocation) {
    const Process& p = context.process;
    const Time birth = p.allocations.time[allocation];
    Time last = birth;
    const auto use = [&](OperatorId op) {
      last = std::max(last, p.operators.end[op]);
      if (p.operators.evaluation[op]) return;
      for (ModuleCallId call = p.operators.module_call[op]; call; call = p.module_calls.parent[call]) {
        if (p.module_calls.begin[call] <= birth) break;
        last = std::max(last, p.module_calls.end[call]);
      }
    };
    if (const OperatorId maker = context.provenance.maker(allocation)) last = std::max(last, p.operators.end[maker]);
    for (const OperatorId op : context.provenance.uses(allocation)) use(op);
    for (const SaveId save : context.provenance.saves(allocation)) last = std::max(last, p.saves.released[save]);
    return last;
  }

  // The number of operators that begin in [begin, end).
  static int64_t operators_between(const Process& p, Time begin, Time end) {
    const auto& begins = p.operators.begin.raw;
    const auto at = [&](Time time) {
      return std::lower_bound(begins.begin() + 1, begins.end(), static_cast<uint64_t>(time.ns));
    };
    return std::max<int64_t>(at(end) - at(begin), 0);
  }

  static Time first_node(const Process& p, Time since) {
    const auto& made = p.nodes.time.raw;
    const auto at = std::lower_bound(made.begin() + 1, made.end(), static_cast<uint64_t>(since.ns));
    return at == made.end() ? p.duration : Time{static_cast<int64_t>(*at)};
  }

  // Whether several steps read an allocation that is never freed. The step after the recording would read it again.
  static bool is_used_in_several_steps(const Context& context, AllocationId allocation) {
    const Process& p = context.process;
    if (p.freed(allocation) != kNever) return false;
    const auto uses = context.provenance.uses(allocation);
    return !uses.empty() && step_at(context.steps, p.operators.begin[uses.front()]).index !=
                                step_at(context.steps, p.operators.begin[uses.back()]).index;
  }
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::IdleHolder)
