// What an operator allocates for itself while it runs, where the peak is inside of it.
#include "analyzer/check/check.h"

#include <algorithm>
#include <map>
#include <set>

namespace tapelens::check {
namespace {

constexpr Option kOptions[] = {
    {"chunks", "4", "on how many chunks of its input the operator would be run"},
    {"min-share", "10", "percent of the peak that the temporaries of one line must be"},
};

enum Variant : uint32_t { kWorkspace, kCopiedInput };

class OperatorTemporaries final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "operator-temporaries",
            .title = "temporaries of the operator that runs at the peak",
            .help =
                "What an operator allocates for itself and frees before it returns: unfolded columns of a convolution, "
                "copies of an input whose layout or dtype it cannot read, buffers of a reduction. Where the peak is "
                "inside such an operator, running it on chunks of its input makes what grows with the input as much "
                "smaller, and an input in the layout and dtype that it reads needs no copy.",
            .options = kOptions,
            .is_alternative = true};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    chunks_ = std::clamp<int64_t>(options.number("chunks"), 2, 1 << 20);
    const Bytes share = options.share("min-share", context.peak.bytes);
    std::map<StackId, Bytes> at_peak;
    for (const peak::Member& member : context.peak.members) {
      if (is_temporary(context, member.allocation)) at_peak[stack(context, member.allocation)] += member.bytes;
    }
    std::set<StackId> lines;
    for (const auto& [line, bytes] : at_peak) {
      if (bytes >= share) lines.insert(line);
    }
    if (lines.empty()) return;
    for (const AllocationId allocation : context.allocations(Bytes{1})) {
      if (is_temporary(context, allocation) && lines.contains(stack(context, allocation))) {
        emit(context, allocation, sink);
      }
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const Occurrence& biggest = group.biggest();
    const Process& p = context.process;
    const std::string op(context.text.string(p.operators.name[biggest.place.op]));
    Description words;
    words.severity = Severity::info;
    if (group.variant == kCopiedInput) {
      words.title = op + " copies its input while it runs";
      words.message =
          "It cannot read the input in its layout or dtype, makes a copy, and frees it when it returns. The "
          "peak is inside of it.";
      if (const Copy copy = context.provenance.copy_of(biggest.allocation); copy.source_layout) {
        words.notes.push_back("The input is " + layout_text(context.text, copy.source_layout) + ".");
      }
      words.fix.text = "make the input contiguous, and of the dtype that is computed with, where it is made";
      return words;
    }
    const std::string chunks = std::to_string(chunks_);
    words.title = op + " needs temporaries while it runs";
    words.message =
        "They are neither its inputs nor its results, and are freed when it returns. The peak is inside of "
        "it. On " +
        chunks + " chunks of its input, 1/" + chunks + " of what grows with the input is alive at a time.";
    words.notes.emplace_back(
        "Estimated as if all of it grew with the input: the recording shows the sizes of one input.");
    words.is_proved = false;
    words.fix.text =
        p.operators.evaluation[biggest.place.op]
            ? "run what it is the backward of on " + chunks + " chunks of the batch: each has a backward of its own"
            : "call it on " + chunks + " chunks of the batch, and write each result into its part of one tensor";
    return words;
  }

 private:
  // Made inside of an operator that the program or a node called, and freed before it returned.
  static bool is_temporary(const Context& context, AllocationId allocation) {
    const Process& p = context.process;
    const OperatorId called = context.provenance.maker(allocation);
    return called && p.allocations.time[allocation] >= p.operators.begin[called] &&
           p.freed(allocation) <= p.operators.end[called];
  }

  static bool is_input(const Context& context, OperatorId op, AllocationId allocation) {
    const auto inputs = context.provenance.inputs(op);
    return std::ranges::find(inputs, allocation.value) != inputs.end();
  }

  static StackId stack(const Context& context, AllocationId allocation) {
    return stack_of(context.process, context.text, allocation);
  }

  void emit(const Context& context, AllocationId allocation, Sink& sink) const {
    const Process& p = context.process;
    const OperatorId called = context.provenance.maker(allocation);
    const AllocationId source = context.provenance.copy_of(allocation).source;
    const bool is_copy = source && is_input(context, called, source);
    const Interval life{p.allocations.time[allocation], p.freed(allocation)};
    const Bytes bytes = p.allocations.bytes[allocation];
    peak::WhatIf change;
    change.ends.push_back({allocation, Time{life.begin.ns - 1}});
    if (!is_copy) change.extras.push_back({allocation, life, Bytes{(bytes.value + chunks_ - 1) / chunks_}});
    sink.add({.place = place_of(context, allocation), .allocation = allocation, .bytes = bytes, .when = life}, change,
             is_copy ? kCopiedInput : kWorkspace);
  }

  int64_t chunks_ = 4;
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::OperatorTemporaries)
