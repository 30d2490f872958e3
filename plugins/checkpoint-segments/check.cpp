// Finds checkpoints that free less than possible: a checkpoint over many modules, and checkpoint_sequential, which does
// not checkpoint its last segment.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "analyzer/check/calls.h"
#include "plugins/checkpoint-segments/segments.h"

namespace tapelens::check {
namespace {

using segments::LastSegment;
using segments::Recomputed;

constexpr std::array kOptions = {
    Option{"min-share", "10", "percent of the peak that the tensors of one checkpoint must be"},
};

enum Variant : uint32_t { kWhole, kLast };

class CheckpointSegments final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "checkpoint-segments",
            .title = "checkpoints whose segments are too large",
            .help =
                "A checkpoint over a whole stack of layers computes all of them again at once, when its backward "
                "begins: the peak is that of a program without it. A checkpoint around each layer computes one at a "
                "time. checkpoint_sequential puts the layers that are left over into its last segment, and does not "
                "checkpoint that one.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Bytes least = options.share("min-share", context.peak.bytes);
    find_whole(context, least, sink);
    find_last(context, least, sink);
  }

  Description describe(const Context& context, const Group& group) const override {
    const Occurrence& biggest = group.biggest();
    const FrameId around = segments::frame_around_checkpoint(context.text, biggest.place.stack);
    Description words;
    words.severity = Severity::info;
    words.fix.is_small = true;
    if (around) words.edit = {around, 0};
    const std::string count = std::to_string(biggest.number);
    if (group.variant == kLast) {
      words.title = "the last segment of checkpoint_sequential is not checkpointed";
      words.message = "It has " + std::to_string(last_calls_) + " of the " + count + " modules, and keeps " +
                      bytes_text(group.bytes) + " for the backward. The other segments are recomputed.";
      words.notes.emplace_back("The prediction checkpoints each module of the last segment but the last one.");
      words.fix.text = "checkpoint_sequential(functions, segments=" + count +
                       ", ...): with a segment each module, the last one has one";
      return words;
    }
    words.title = "one checkpoint recomputes " + count + " modules at once";
    words.message = "When its backward begins, " + bytes_text(group.bytes) + " of " + count +
                    " modules are recomputed before the first is used.";
    words.notes.emplace_back("The prediction keeps the input of each module, and recomputes one module at a time.");
    words.fix.text =
        "checkpoint each of the " + count +
        " modules: x = checkpoint(layer, x, use_reentrant=False) in the loop, and call the stack without one";
    return words;
  }

 private:
  // ---- one checkpoint over several calls

  void find_whole(const Context& context, Bytes least, Sink& sink) const {
    const Process& p = context.process;
    const std::vector<Recomputed> all = segments::recomputed_segments(context);
    std::set<StackId> lines;
    for (const Recomputed& one : all) {
      Bytes bytes;
      for (const AllocationId tensor : one.tensors) {
        if (context.peak.when.holds(p, tensor)) bytes += p.allocations.bytes[tensor];
      }
      if (bytes >= least && one.calls.size() > 1) lines.insert(line(context, one));
    }
    for (const Recomputed& one : all) {
      if (one.calls.size() > 1 && lines.contains(line(context, one))) emit(context, one, sink);
    }
  }

  static StackId line(const Context& context, const Recomputed& one) { return place_of(context, one.forward).stack; }

  // Predicts a checkpoint for each call. A tensor that no later call reads then exists from the begin of its call's
  // backward on. An input of a later call stays in memory from the forward on.
  static void emit(const Context& context, const Recomputed& one, Sink& sink) {
    const Process& p = context.process;
    Place place = place_of(context, one.forward);
    place.op = {}, place.module = {};  // the place stands for all calls
    size_t first = 0;
    for (const ModuleCallId call : one.calls) {
      const Time begin = p.module_calls.begin[call], end = std::min(p.module_calls.end[call], one.end);
      while (first < one.tensors.size() && p.allocations.time[one.tensors[first]] < begin) ++first;
      size_t behind = first;
      while (behind < one.tensors.size() && p.allocations.time[one.tensors[behind]] < end) ++behind;
      const std::span tensors = std::span(one.tensors).subspan(first, behind - first);
      first = behind;
      add_call(context, one, call, end, tensors, place, sink);
    }
  }

  static void add_call(const Context& context, const Recomputed& one, ModuleCallId call, Time end,
                       std::span<const AllocationId> tensors, const Place& place, Sink& sink) {
    const Process& p = context.process;
    Time again = kNever;
    Bytes bytes;
    std::vector<AllocationId> inner;
    for (const AllocationId tensor : tensors) {
      if (p.freed(tensor) <= end) continue;
      if (is_used_in(context, tensor, {end, one.end})) continue;
      const Time use = first_use(context, tensor, one.end);
      if (use == kNever) continue;
      again = std::min(again, use);
      bytes += p.allocations.bytes[tensor];
      inner.push_back(tensor);
    }
    if (inner.empty()) return;
    peak::WhatIf change;
    for (const AllocationId tensor : inner) {
      change.never_make(p, tensor);
      change.extras.push_back({tensor, {again, p.freed(tensor)}, p.allocations.bytes[tensor]});
    }
    for (const AllocationId tensor : tensors) add_input(context, one, tensor, end, change);
    // The recomputation has the same temporaries as the call.
    const Time begin = p.module_calls.begin[call];
    const Bytes more =
        context.timeline.largest({begin, end}).bytes - context.timeline.live(context.timeline.at(begin)) - bytes;
    if (more.value > 0) change.extras.push_back({{}, {again, Time{again.ns + 1}}, more});
    sink.add({.place = place, .allocation = {}, .bytes = bytes, .when = {end, again}, .number = one.calls.size()},
             change, kWhole);
  }

  // Keeps an input of a later call from the forward on. The extra has no allocation, because the program freed the
  // tensor of the forward.
  static void add_input(const Context& context, const Recomputed& one, AllocationId tensor, Time end,
                        peak::WhatIf& change) {
    const Process& p = context.process;
    if (p.freed(tensor) <= end || !is_used_in(context, tensor, {end, one.end})) return;
    const Time forward = forward_begin(p, one.forward);
    change.extras.push_back({{}, {forward, p.allocations.time[tensor]}, p.allocations.bytes[tensor]});
  }

  // The begin of the outermost module call. All inputs of the inner calls are made after it.
  static Time forward_begin(const Process& p, OperatorId op) {
    const ModuleCallId call = outermost_call(p, op);
    return call ? p.module_calls.begin[call] : p.operators.begin[op];
  }

  static bool is_used_in(const Context& context, AllocationId tensor, Interval when) {
    return std::ranges::any_of(context.provenance.uses(tensor),
                               [&](OperatorId use) { return when.contains(context.process.operators.begin[use]); });
  }

  static Time first_use(const Context& context, AllocationId tensor, Time since) {
    for (const OperatorId use : context.provenance.uses(tensor)) {
      const Time begin = context.process.operators.begin[use];
      if (begin >= since) return begin;
    }
    return kNever;
  }

  // ---- the last segment of checkpoint_sequential

  void find_last(const Context& context, Bytes least, Sink& sink) {
    const Process& p = context.process;
    std::vector<LastSegment> all = segments::last_segments(context);
    std::erase_if(all, [](const LastSegment& one) { return one.calls.size() < 2; });
    if (all.empty()) return;
    const Calls calls(context);
    std::set<StackId> lines;
    std::vector<uint32_t> segment_of(p.module_calls.rows() + 1);
    std::vector<bool> wanted(p.module_calls.rows() + 1, false);
    for (size_t at = 0; at < all.size(); ++at) {
      Bytes bytes;
      for (const ModuleCallId call : all[at].calls) {
        bytes += calls.at_peak(call);
        segment_of[call.value] = static_cast<uint32_t>(at);
        wanted[call.value] = call != all[at].calls.back() && calls.backward(call) != kNever;
      }
      if (bytes >= least) lines.insert(all[at].stack);
    }
    const std::vector<Calls::Saved> saved = calls.saved(wanted);
    for (size_t first = 0; first < saved.size();) {
      const ModuleCallId call = saved[first].call;
      size_t end = first + 1;
      while (end < saved.size() && saved[end].call == call) ++end;
      const LastSegment& segment = all[segment_of[call.value]];
      if (lines.contains(segment.stack)) {
        const auto [change, bytes] = checkpointed(context, calls, std::span(saved).subspan(first, end - first));
        const Place place{{}, {}, {}, {}, segment.stack};
        sink.add({.place = place,
                  .allocation = {},
                  .bytes = bytes,
                  .when = {p.module_calls.end[call], calls.backward(call)},
                  .number = segment.modules},
                 change, kLast);
        last_calls_ = segment.calls.size();
      }
      first = end;
    }
  }

  size_t last_calls_ = 0;
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::CheckpointSegments)
