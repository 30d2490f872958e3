// Finds gradients that stay allocated until the optimizer step. Predicts the peak if each parameter is stepped as soon
// as its gradient is complete.
#include "analyzer/check/check.h"

#include <algorithm>
#include <map>
#include <span>

#include "analyzer/check/frameworks.h"
#include "analyzer/check/graphs.h"
#include "analyzer/check/patch_maker.h"
#include "plugins/late-gradient/gradients.h"
#include "plugins/late-gradient/waits.h"

namespace tapelens::check {
namespace {

enum Variant : uint32_t {
  kWaits = 0,   // is allocated until its step
  kSpent = 1,   // is used by its step, and stays while the program makes the next graph
  kZeroed = 2,  // is zeroed, and stays while the program makes the next graph
  kWhole = 3,   // stays unsharded until a later backward
};

constexpr Option kOptions[] = {
    {"min-percent", "5", "percent of the peak that the gradients must have together"},
};

class LateGradient final : public Check {
 public:
  CheckInfo info() const override {
    return {
        .id = "late-gradient",
        .title = "gradients that stay allocated until the optimizer step",
        .help =
            "All gradients are alive together when the optimizer steps, and often still during the next forward. If "
            "each parameter is stepped as soon as its gradient exists (an optimizer in "
            "Tensor.register_post_accumulate_grad_hook), one gradient at a time is enough. The check reports "
            "nothing if an operator needs all gradients at once, such as a norm for clipping.",
        .options = kOptions,
        .reads_imported = true};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const int64_t least = context.peak.bytes.value / 100 * options.number("min-percent");
    if (p.is_imported) return add_imported(context, least, sink);
    const Waits waits(context);
    for (uint32_t row = 1; row <= p.roles.rows(); ++row) {
      if (p.roles.kind[RoleId{row}] == Role::optimizer_state) states_.push_back(RoleId{row});
    }
    std::ranges::stable_sort(states_, {}, [&p](RoleId role) { return p.allocations.time[p.roles.allocation[role]]; });
    std::map<size_t, std::vector<const Wait*>> by_step;
    for (const Wait& wait : waits.all()) by_step[wait.step].push_back(&wait);
    for (const auto& [step, all] : by_step) {
      Bytes total, largest;
      for (const Wait* wait : all) {
        total += p.allocations.bytes[wait->gradient];
        largest = std::max(largest, p.allocations.bytes[wait->gradient]);
      }
      if (total.value < least) continue;
      const Place place = place_of_step(context, step);
      add_waiting(context, waits, step, all, place, {total, largest}, sink);
      add_spent(context, step, all, place, least, sink);
    }
    add_zeroed(context, least, sink);
    add_whole(context, least, sink);
  }

  Description describe(const Context& context, const Group& group) const override {
    const std::string line = line_of(context, group.biggest().place);
    const std::string at = line.empty() ? std::string() : " at " + line;
    Description d;
    d.severity = Severity::info;
    d.fix.is_small = group.variant == kSpent || group.variant == kZeroed;
    if (context.process.is_imported) return describe_imported(group, at);
    if (group.variant == kSpent) {
      d.title = "gradients stay allocated after optimizer.step()";
      d.message = bytes_text(group.bytes) + " of gradients are not read again after the step" + at +
                  ", and stay allocated through the next forward or evaluation.";
      d.fix.text = "call optimizer.zero_grad() right after optimizer.step(), or before the forward";
    } else if (group.variant == kZeroed) {
      d.title = "zero_grad() keeps the zeroed gradients allocated";
      d.message = bytes_text(group.bytes) + " of gradients are zeros" + at +
                  " until the next backward adds to them, and stay allocated while the next graph is made.";
      d.notes.emplace_back("every step accumulates each gradient again: no step would leave out a parameter");
      d.fix.text = "optimizer.zero_grad(set_to_none=True), which is PyTorch's default, or p.grad = None";
      d.fix.use_edits(PatchMaker(context).set_to_none(group.biggest().place.stack));
    } else if (group.variant == kWhole) {
      d.title = "gradients of sharded parameters stay whole";
      d.message = bytes_text(group.bytes) +
                  " of gradients stay unsharded until a later micro-batch, on every rank. If each micro-batch reduces "
                  "them, a rank keeps only its shard.";
      d.notes.emplace_back(
          "each micro-batch then reduces its gradients over the ranks: more communication, and sums in another order");
      d.fix.text = "synchronise in each micro-batch: leave set_requires_gradient_sync(True), or do not use no_sync()";
      if (const std::string phrase = in_framework(context.in_use, Remedy::sharded_gradients); !phrase.empty()) {
        d.fix.text = "synchronise in each micro-batch: " + phrase;
      }
    } else {
      d.title = "gradients stay allocated until optimizer.step()";
      d.message = bytes_text(group.bytes) + " of gradients are allocated together until the step" + at +
                  ". If the backward steps each parameter when its gradient is complete, they are not.";
      d.notes.push_back(
          "the prediction frees each gradient when it was accumulated, and moves the step's temporaries of its "
          "parameter there");
      d.fix.text =
          "step each parameter in the backward (Tensor.register_post_accumulate_grad_hook, an optimizer for each); the "
          "results are the same";
    }
    return d;
  }

 private:
  // A snapshot does not record the readers of a gradient.
  static Description describe_imported(const Group& group, const std::string& at) {
    Description d;
    d.severity = Severity::info;
    d.is_proved = false;
    d.title = "gradients stay allocated after optimizer.step()";
    d.message = bytes_text(group.bytes) + " of gradients that the step" + at +
                " had stay allocated through the next forward, and are freed before the next backward. The snapshot "
                "does not show whether anything reads them meanwhile.";
    d.fix.text = "if nothing reads p.grad after the step, call optimizer.zero_grad() right after optimizer.step()";
    return d;
  }

  static void add_imported(const Context& context, int64_t least, Sink& sink) {
    const Process& p = context.process;
    const std::vector<SpentGradient> all = spent_gradients(context);
    std::map<AllocationId, Bytes> by_step;
    for (const SpentGradient& one : all) by_step[one.in_step] += p.allocations.bytes[one.gradient];
    for (const SpentGradient& one : all) {
      if (by_step[one.in_step].value < least) continue;
      const Time freed = p.freed(one.gradient);
      peak::WhatIf change;
      change.ends.push_back({one.gradient, Time{one.forward.ns - 1}});
      const Place place{{}, {}, {}, {}, place_of(context, one.in_step).stack};
      sink.add({place, one.gradient, p.allocations.bytes[one.gradient], {one.forward, freed}}, change, kSpent);
    }
  }

  struct Sizes {
    Bytes total, largest;
  };

  static Place place_of_step(const Context& context, size_t step) {
    const Process& p = context.process;
    const auto& begins = p.operators.begin.raw;
    const Interval when = p.optimizer_steps[step].when;
    const auto row = static_cast<uint32_t>(
        std::lower_bound(begins.begin() + 1, begins.end(), static_cast<uint64_t>(when.begin.ns)) - begins.begin());
    // The place has only the line. The first step makes the state, so its operators differ from those of later steps.
    Place place{};
    if (row < begins.size() && p.operators.begin[OperatorId{row}] < when.end) {
      place.stack = place_of(context, OperatorId{row}).stack;
    }
    return place;
  }

  std::span<const RoleId> states_made_in(const Process& p, Interval when) const {
    const auto made = [&p](RoleId role) { return p.allocations.time[p.roles.allocation[role]]; };
    const auto first = std::ranges::lower_bound(states_, when.begin, {}, made);
    return {first, std::ranges::lower_bound(first, states_.end(), when.end, {}, made)};
  }

  void add_waiting(const Context& context, const Waits& waits, size_t step, const std::vector<const Wait*>& all,
                   const Place& place, Sizes sizes, Sink& sink) const {
    const Process& p = context.process;
    const Interval when = p.optimizer_steps[step].when;
    const StepTemporaries& memory = waits.memory(step);
    // A loop over the parameters needs temporaries for the largest parameter. A step of all parameters at once needs
    // temporaries for all.
    const bool one_by_one = memory.most.value <= 4 * sizes.largest.value;
    const Bytes stepped_at_once = one_by_one ? sizes.largest : sizes.total;
    // 0: the parameters have no elements, or the recording is invalid.
    const double factor = stepped_at_once.value > 0
                              ? static_cast<double>(memory.most.value) / static_cast<double>(stepped_at_once.value)
                              : 0;
    std::map<AllocationId, Time> stepped;  // by parameter
    std::vector<peak::WhatIf::End> temporaries;
    for (const AllocationId temporary : memory.temporaries) {
      temporaries.push_back({temporary, Time{p.allocations.time[temporary].ns - 1}});
    }
    std::vector<peak::WhatIf> changes;
    for (const Wait* wait : all) {
      const Bytes bytes = p.allocations.bytes[wait->gradient];
      peak::WhatIf& change = changes.emplace_back();
      change.ends = std::exchange(temporaries, {});
      change.ends.push_back({wait->gradient, wait->there});
      constexpr double kMost = 1e18;  // more than any memory
      const Bytes needs{static_cast<int64_t>(std::min(kMost, factor * static_cast<double>(bytes.value)))};
      if (needs.value > 0) change.extras.push_back({{}, {p.evaluations.begin[wait->evaluation], wait->there}, needs});
      stepped.emplace(wait->parameter, wait->there);
    }
    // State that the first step makes now exists from the earlier step of its parameter on.
    for (const RoleId role : states_made_in(p, when)) {
      const AllocationId state = p.roles.allocation[role];
      const auto at = stepped.find(p.roles.parameter[role]);
      if (at == stepped.end()) continue;
      changes.front().extras.push_back({{}, {at->second, p.allocations.time[state]}, p.allocations.bytes[state]});
    }
    for (size_t i = 0; i < all.size(); ++i) {
      const AllocationId gradient = all[i]->gradient;
      sink.add({place, gradient, p.allocations.bytes[gradient], {all[i]->there, when.end}}, changes[i], kWaits);
    }
  }

  static void add_zeroed(const Context& context, int64_t least, Sink& sink) {
    const Process& p = context.process;
    const std::vector<Zeroed> all = zeroed_gradients(context);
    Bytes total;
    for (const Zeroed& zeroed : all) total += p.allocations.bytes[zeroed.gradient];
    if (total.value < least) return;
    for (const Zeroed& zeroed : all) {
      if (p.allocations.device[zeroed.gradient] != context.device) continue;
      const Bytes bytes = p.allocations.bytes[zeroed.gradient];
      const Time freed = p.freed(zeroed.gradient);
      peak::WhatIf change;
      change.ends.push_back({zeroed.gradient, zeroed.idle.front().begin});
      for (size_t i = 0; i < zeroed.idle.size(); ++i) {
        const Interval again{zeroed.idle[i].end, i + 1 < zeroed.idle.size() ? zeroed.idle[i + 1].begin : freed};
        if (again.begin < again.end) change.extras.push_back({zeroed.gradient, again, bytes});
      }
      const Place place{{}, {}, {}, {}, place_of(context, zeroed.op).stack};
      sink.add({place, zeroed.gradient, bytes, {zeroed.idle.front().begin, freed}}, change, kZeroed);
    }
  }

  static void add_whole(const Context& context, int64_t least, Sink& sink) {
    const Process& p = context.process;
    const std::vector<Whole> all = whole_gradients(context);
    Bytes total;
    for (const Whole& whole : all) {
      if (context.peak.when.holds(p, whole.gradient)) total += p.allocations.bytes[whole.gradient];
    }
    if (total.value < std::max<int64_t>(least, 1)) return;
    for (const Whole& whole : all) {
      const Time freed = p.freed(whole.gradient);
      peak::WhatIf change;
      change.ends.push_back({whole.gradient, whole.reduced});
      change.extras.push_back({whole.gradient, {whole.reduced, freed}, whole.shard});
      const Place place{{}, {}, {}, {}, backward_stack(context, whole.gradient)};
      sink.add({place, whole.gradient, p.allocations.bytes[whole.gradient], {whole.reduced, freed}}, change, kWhole);
    }
  }

  // The gradients that stay after the step, through the next forward, or through an evaluation to the end.
  static void add_spent(const Context& context, size_t step, const std::vector<const Wait*>& all, const Place& place,
                        int64_t least, Sink& sink) {
    const Process& p = context.process;
    const Time stepped = p.optimizer_steps[step].when.end;
    const auto& made = p.nodes.time.raw;
    const auto next = static_cast<uint32_t>(
        std::lower_bound(made.begin() + 1, made.end(), static_cast<uint64_t>(stepped.ns)) - made.begin());
    const Time forward = next < made.size() ? p.nodes.time[NodeId{next}] : kNever;
    Time last;
    for (const Wait* wait : all) last = std::max(last, p.freed(wait->gradient));
    // Before the next forward an evaluation may need memory.
    const Bytes rise = context.timeline.largest({stepped, std::min(forward, last)}).bytes -
                       context.timeline.live(context.timeline.at(stepped));
    for (const Wait* wait : all) {
      const Time freed = p.freed(wait->gradient);
      if (rise.value < least && (freed == kNever || freed <= forward)) continue;
      peak::WhatIf change;
      change.ends.push_back({wait->gradient, stepped});
      sink.add({place, wait->gradient, p.allocations.bytes[wait->gradient], {stepped, freed}}, change, kSpent);
    }
  }

  std::vector<RoleId> states_;  // states of optimizers, in the order of their allocations
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::LateGradient)
