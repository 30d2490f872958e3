// What the program holds across the peak and never uses again.
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
#include "plugins/idle-holder/casts.h"
#include "plugins/idle-holder/stale_state.h"

namespace tapelens::check {
namespace {

enum Variant : uint32_t {
  kHeld = 0,       // by a variable: logits, a batch
  kCollected = 1,  // for more than a step
  kState = 2,      // by an optimizer
  kCast = 3,       // a weight's, by autocast
};

// Tensors of a list that are smaller than this part of what is worth a word are not looked at.
constexpr int64_t kSmallest = 64;

constexpr Option kOptions[] = {
    {"min-percent", "2", "of the peak: smaller tensors, and lists of less together, are left out"},
    {"min-idle-percent", "1", "of the operators of the step of the peak: how many must have begun since its last use"},
};

class IdleHolder final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "idle-holder",
            .title = "tensors that are referenced after their last use",
            .help =
                "Allocations that are alive at the peak because a variable, a list or an attribute of the program "
                "refers to them, although nothing reads them again: old batches, logits, outputs that were "
                "collected. Parameters, buffers and gradients are not counted, nor what autograd saved; of optimizer "
                "state, "
                "what its optimizer has not read in two steps or more, and never reads again. Drop the reference (del, "
                "or a function of its own) before the peak.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Time peak = context.peak.when.time;
    const Step& step = step_at(context.steps, peak);
    // Counted in operators: a clock would find other things with every run. The first step begins with the recording.
    const Time begin = first_node(p, step.when.begin);
    const int64_t operators = operators_between(p, begin, step.when.end);
    const int64_t idle = std::max<int64_t>(1, operators * options.number("min-idle-percent") / 100);
    const Bytes least{context.peak.bytes.value / 100 * options.number("min-percent")};
    const Time prepared = first_node(p, Time{0});

    const Interruptions interruptions(p);
    const std::vector<bool> parameters = parameters_of(p);
    Bytes casts;  // of weights

    struct Alike {
      Variant variant = kHeld;
      Bytes largest, all;
    };
    std::map<Key, Alike> alike;
    for (const peak::Member& member : context.peak.members) {
      if (member.bytes.value < least.value / kSmallest) break;  // the biggest come first
      const auto holders = context.peak.holders_of(member);
      if (!std::ranges::all_of(holders, [](const peak::Holder& h) { return h.kind == peak::HolderKind::program; })) {
        continue;
      }
      const AllocationId allocation = member.allocation;
      const Time last = last_use(context, allocation);
      // Still in use, or used after the peak.
      if (last > peak || operators_between(p, last, p.freed(allocation)) < idle) continue;
      // It may have been meant for what the program did not come to: the labels of a batch that did not fit.
      if (interruptions.cut({p.allocations.time[allocation], p.freed(allocation)})) continue;
      // What was there before the training began and stays may be for another day: a data set, a second model.
      if (p.freed(allocation) == kNever && p.allocations.time[allocation] < prepared) continue;
      if (is_used_in_several_steps(context, allocation) || !is_of_program(context, place_of(context, allocation)))
        continue;
      // A variable of a loop holds what the step before made until it is assigned again; a list holds what is older.
      const bool is_old = step_index_at(context.steps, last) + 1 < step.index;
      if (is_cached_cast(context, parameters, allocation)) {
        casts += member.bytes;
        continue;
      }
      Alike& of = alike[key_of(context, place_of(context, allocation), member.bytes)];
      if (is_old) of.variant = kCollected;
      of.largest = std::max(of.largest, member.bytes);
      of.all += member.bytes;
    }
    // A list of many small tensors is as much as a variable that has a large one.
    std::map<Key, Variant> found;
    for (const auto& [key, of] : alike) {
      if ((of.variant == kCollected ? of.all : of.largest) >= least) found.emplace(key, of.variant);
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
      d.message = "It keeps the copies for a backward, which there is none of here: " + bytes_text(group.bytes) +
                  " of them at a time.";
      d.edit = autocast_line(context, biggest.place.stack);
      d.fix.text = "torch.autocast(..., cache_enabled=False), or model.requires_grad_(False): then nothing is cached";
      d.fix.is_small = true;
      return d;
    }
    if (group.variant == kState) {
      d.title = "optimizer state that no step reads any more";
      d.message = "The last " + counted(biggest.number, "step") + " of the optimizer did not read " +
                  bytes_text(group.bytes) + " of its state: their parameters are frozen, or have no gradients.";
      d.fix.text = "take the frozen parameters out of the optimizer: del optimizer.state[p], or make a new one";
      d.fix.is_small = true;
      return d;
    }
    uint64_t at_once = 0;
    for (const Occurrence& o : group.occurrences) at_once += o.when.contains(context.peak.when.time) ? 1 : 0;
    d.severity = group.variant == kCollected ? Severity::warning : Severity::info;
    d.title = group.variant == kCollected ? "tensors of earlier steps are still referenced"
                                          : "tensors are kept alive after their last use";
    d.notes.push_back("the biggest was made in step " + std::to_string(step_at(context.steps, made).index) +
                      " and last read in step " + std::to_string(used) +
                      (p.freed(biggest.allocation) == kNever ? "; it is alive at the end of the recording" : ""));
    d.fix.text = "del the variable before the peak, keep a number (.item()) instead of the tensor, or do not return it";
    if (!line.empty()) d.fix.text += "; tapelens record --referrers names the variable";
    bool is_elsewhere = false;
    if (const auto kept = kept_at(context, biggest, group.variant)) {
      d.edit = group.variant == kHeld ? kept->line : kept->kept_for_long();
      d.fix.text = fix_text(*kept, group.variant);
      is_elsewhere = d.edit.line != context.text.frame_line[own_frame(context.text, biggest.place.stack)];
    }
    d.message = "At the peak in step " + std::to_string(at_peak) + ", Python references keep " +
                counted(at_once, "tensor") + (is_elsewhere && !line.empty() ? " made at " + line : "") + " (" +
                bytes_text(group.bytes) + ") that nothing reads again." + variables_text(context, group);
    d.fix.is_small = true;
    return d;
  }

 private:
  // Where the reference is: for what is held for long, where something puts it aside, be it by one of its last readers.
  static std::optional<Reference> kept_at(const Context& context, const Occurrence& held, uint32_t variant) {
    auto kept = reference_of(context, place_of(context, held.allocation));
    if (variant == kHeld) {
      const bool is_bound = !kept || kept->kind != Reference::Kind::variable ||
                            has_left(context, held.place.stack, kept->line.frame, held.allocation);
      return is_bound ? kept : std::nullopt;
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

  // Whether the program left the statement that a frame stands at between the making of an allocation and the peak:
  // before, what the statement assigns to is not bound.
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

  // What `record --referrers` found: " In variables: history[*] in train.py:61, self.cache of Trainer and 4 more."
  static std::string variables_text(const Context& context, const Group& group) {
    std::set<AllocationId> kept;
    for (const Occurrence& occurrence : group.occurrences) kept.insert(occurrence.allocation);
    std::set<std::string> seen;
    std::vector<std::string> variables;  // the biggest tensors' first
    for (const peak::Member& member : context.peak.members) {
      if (!kept.contains(member.allocation)) continue;
      for (const peak::Holder& holder : context.peak.holders_of(member)) {
        if (holder.kind != peak::HolderKind::program || !holder.field) continue;
        std::string variable = peak::without_numbers(context.text.string(holder.field));
        if (seen.insert(variable).second) variables.push_back(std::move(variable));
      }
    }
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
        if (variant == kCollected) return "keep a number (.item()) instead of the tensor in what it is handed to";
        return "del " + name + " after its last use, or do not return the tensor from what is called here";
      case Reference::Kind::collected:
        return "keep a number (.item()) or a copy on the CPU in " + name + ", or release what was read";
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
      // The step alone: an optimizer makes its state with many operators.
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
      // The line alone: weights of one call have many layers.
      Place place{};
      place.stack = place_of(context, allocation).stack;
      peak::WhatIf change;
      change.ends.push_back({allocation, last});
      sink.add({place, allocation, p.allocations.bytes[allocation], {last, freed}}, change, kCast);
    }
  }

  // What was found at the peak is so in every step: of each allocation that was made like it, the idle time.
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
      // What is put aside besides is in the variable until that has the next one.
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

  // Whether anything reads it behind the outermost module call that it was made in.
  static bool is_used_by_caller(const Context& context, AllocationId allocation) {
    const Process& p = context.process;
    ModuleCallId call = p.operators.module_call[context.provenance.maker(allocation)];
    if (!call) return true;
    while (p.module_calls.parent[call]) call = p.module_calls.parent[call];
    return std::ranges::any_of(context.provenance.uses(allocation), [&](OperatorId use) {
      return !p.operators.evaluation[use] && p.operators.begin[use] >= p.module_calls.end[call];
    });
  }

  // Whether a variable of the program may refer to it. What no operator made and no line of Python (memory that a
  // storage is given again) has none, and the buckets and shards of DDP and FSDP are PyTorch's own.
  static bool is_of_program(const Context& context, const Place& place) {
    const Text& text = context.text;
    const auto frames = text.stack(place.stack);
    if (frames.empty()) return bool{place.op};
    const std::string_view innermost = text.string(text.frame_file[frames.front()]);
    return innermost.find("/torch/distributed/") == std::string_view::npos &&
           innermost.find("/torch/nn/parallel/") == std::string_view::npos;
  }

  // Of an operator, of a save, or of a module call that it was handed through: the caller's frame holds it as long.
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

  // That begin in [begin, end).
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

  // Used again and again: what is idle in the last step of the recording would be used in the one after.
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
