// Outputs of a loop that the program keeps until all of them exist, although it only reduces them then.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyzer/check/reference.h"
#include "plugins/collected-outputs/collections.h"

namespace tapelens::check {
namespace {

using collected::CollectedOutput;
using collected::Collection;

enum Variant : uint32_t {
  kReduced = 0,  // each output can be reduced alone
  kMoved = 1,    // the reduction needs all outputs, which can be in the memory of the host
  kBinned = 2,   // a metric of torchmetrics can count in bins instead
};

constexpr std::array kOptions = {
    Option{"min-share", "10", "percent of the peak that the outputs of one line must be"},
    Option{"ratio", "8", "smallest ratio of the outputs to the kept results"},
};

class CollectedOutputs final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "collected-outputs",
            .title = "outputs that are collected before they are reduced",
            .help =
                "A loop keeps the output of each iteration, and the program reduces them after the loop: the argmax of "
                "all logits, a sum of errors. If the loop reduces each output, the list holds the small results.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const int64_t ratio = std::clamp<int64_t>(options.number("ratio"), 2, 1 << 20);
    const Bytes least = options.share("min-share", context.peak.bytes);
    for (const Collection& one : collected::find_collections(context, least, ratio)) {
      if (one.is_separable) {
        add_all(context, one, kReduced, sink);
      } else if (is_binnable(context, one)) {
        add_all(context, one, kBinned, sink);
      } else if (context.is_on_cuda()) {
        add_all(context, one, kMoved, sink);
      }
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const Occurrence& biggest = group.biggest();
    const OperatorId reader{static_cast<uint32_t>(biggest.number)};
    const std::string name(context.provenance.name(reader)), line = line_of(context, place_of(context, reader));
    const uint64_t at_once = group.alive_at(context.peak.when.time);
    Description words;
    words.severity = Severity::info;
    words.title = "outputs are collected before they are reduced";
    if (group.variant == kBinned) {
      words.message = "At the peak, a metric of torchmetrics keeps " + counted(at_once, "output") + " of this line, " +
                      bytes_text(biggest.bytes) + " each at most, until compute().";
      words.fix.text =
          "thresholds=N for the metric: it then counts in N bins instead of keeping each prediction, and the result is "
          "approximate";
      if (context.is_on_cuda()) words.fix.text += "; or compute_on_cpu=True, with the same result";
      words.fix.is_small = true;
      words.notes.emplace_back("the predicted peak includes an estimate of the memory to count one batch");
      return words;
    }
    words.message = "At the peak, " + counted(at_once, "output") + " of this line, " + bytes_text(biggest.bytes) +
                    " each at most, wait for " + name + (line.empty() ? "" : " at " + line) +
                    ". Its results are small.";
    std::string list = "the list";
    if (const auto kept = reference_of(context, biggest.place); kept && kept->kept_for_long()) {
      words.edit = kept->kept_for_long();
      if (!kept->name.empty()) list = kept->name;
    }
    if (group.variant == kReduced) {
      words.fix.text = "compute " + name + " of each output in the loop, and put only its result into " + list;
      words.fix.is_small = true;
      words.notes.push_back(
          "The recording does not show the dimensions of " + name +
          ". If it combines several outputs, such as a mean of the list, update its result in the loop.");
    } else {
      words.notes.emplace_back("The later operators need several outputs at once, so they then run on the CPU.");
      words.fix.text = "put output.cpu() into " + list + ", and compute the result on the CPU";
    }
    return words;
  }

 private:
  // Whether a curve of torchmetrics runs. Such metrics take `thresholds`.
  static bool is_of_curve(const Context& context, StackId stack) {
    constexpr std::string_view kFolder = "/torchmetrics/functional/classification/";
    constexpr std::string_view kFiles[] = {"auroc.py", "average_precision.py", "precision_recall_curve.py", "roc.py"};
    const Text& text = context.text;
    return std::ranges::any_of(text.stack(stack), [&](FrameId frame) {
      const std::string_view file = text.string(text.frame_file[frame]);
      const size_t at = file.rfind(kFolder);
      return at != std::string_view::npos &&
             std::ranges::find(kFiles, file.substr(at + kFolder.size())) != std::end(kFiles);
    });
  }

  static bool is_binnable(const Context& context, const Collection& one) {
    return is_of_curve(context, context.process.operators.stack[one.reader]);
  }

  // Removes the temporaries and results of the curve.
  static void leave_out_curves(const Context& context, const Collection& one, peak::WhatIf& change) {
    const Process& p = context.process;
    std::unordered_map<uint32_t, bool> is_known;
    for (const AllocationId allocation : allocations_in(p, {one.outputs.front().read, one.freed})) {
      if (p.allocations.device[allocation] != context.device) continue;
      const StackId stack = stack_of(p, context.text, allocation);
      const auto [at, is_new] = is_known.try_emplace(stack.value);
      if (is_new) at->second = is_of_curve(context, stack);
      if (at->second) change.never_make(p, allocation);
    }
  }

  // Whether the statement that makes the outputs puts them into the list. Otherwise a variable refers to an output
  // until the next one exists.
  static bool is_direct(const Context& context, const Collection& one) {
    const Place place = place_of(context, one.outputs.front().allocation);
    const auto kept = reference_of(context, place);
    return !kept || (kept->kind == Reference::Kind::collected &&
                     line_at(context, kept->line) == line_at(context, {own_frame(context.text, place.stack), 0}));
  }

  static uint32_t line_at(const Context& context, EditLine edit) {
    return edit.line != 0 ? edit.line : context.text.frame_line[edit.frame];
  }

  // The loop makes them for one output at a time. A concatenation of the outputs has no equivalent there.
  static Bytes in_the_loop(const Context& context, const Collection& one) {
    Bytes bytes;
    for (const AllocationId derived : one.derived) {
      const std::string_view name = context.provenance.name(context.provenance.maker(derived));
      const bool is_joined =
          name.ends_with("cat") || name == "stack" || name == "vstack" || name == "hstack" || name == "concatenate";
      if (!is_joined) bytes += context.process.allocations.bytes[derived];
    }
    return bytes;
  }

  static void add_all(const Context& context, const Collection& one, Variant variant, Sink& sink) {
    const Process& p = context.process;
    Bytes all;
    for (const CollectedOutput& output : one.outputs) all += p.allocations.bytes[output.allocation];
    const bool has_variable = !is_direct(context, one);
    const Bytes temporaries = in_the_loop(context, one);
    bool is_first = true;
    for (size_t i = 0; i < one.outputs.size(); ++i) {
      const CollectedOutput& output = one.outputs[i];
      const Time freed = p.freed(output.allocation);
      Time dropped = output.idle;
      if (has_variable && i + 1 < one.outputs.size()) dropped = std::max(dropped, one.outputs[i + 1].idle);
      if (dropped >= freed) continue;
      peak::WhatIf change;
      change.ends.push_back({output.allocation, dropped});
      if (variant == kBinned) {
        // To count a batch of float32 in bins, torchmetrics needs about four int64 tensors of its shape.
        constexpr int64_t kCounting = 8;
        const Bytes bytes{kCounting * p.allocations.bytes[output.allocation].value};
        change.extras.push_back({output.allocation, {output.idle, Time{output.idle.ns + 1}}, bytes});
      }
      if (variant == kReduced) {
        const double part = static_cast<double>(p.allocations.bytes[output.allocation].value) /
                            static_cast<double>(std::max<int64_t>(all.value, 1));
        const auto share = [&](Bytes of) { return Bytes{static_cast<int64_t>(static_cast<double>(of.value) * part)}; };
        change.extras.push_back({output.allocation, {output.idle, freed}, share(one.kept)});
        change.extras.push_back({output.allocation, {output.idle, Time{output.idle.ns + 1}}, share(temporaries)});
      }
      if (std::exchange(is_first, false)) {
        for (const AllocationId derived : one.derived) change.never_make(p, derived);
        if (variant == kBinned) leave_out_curves(context, one, change);
      }
      add(context, one, output, dropped, change, variant, sink);
    }
  }

  static void add(const Context& context, const Collection& one, const CollectedOutput& output, Time dropped,
                  const peak::WhatIf& change, Variant variant, Sink& sink) {
    const Process& p = context.process;
    sink.add({.place = place_of(context, output.allocation),
              .allocation = output.allocation,
              .bytes = p.allocations.bytes[output.allocation],
              .when = {dropped, p.freed(output.allocation)},
              .number = one.reader.value},
             change, variant);
  }
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::CollectedOutputs)
