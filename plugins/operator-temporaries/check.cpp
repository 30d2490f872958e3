// Finds the temporaries of operators, if the peak is inside the operator.
#include "analyzer/check/check.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "analyzer/check/content.h"

namespace tapelens::check {
namespace {

constexpr Option kOptions[] = {
    {"chunks", "4", "on how many chunks of its input the operator would be run"},
    {"min-share", "10", "percent of the peak that the temporaries of one line must be"},
};

enum Variant : uint32_t { kWorkspace, kCopiedInput, kTrial };

using Key = std::tuple<uint32_t, uint32_t, int64_t>;  // line, operator, bytes of the inputs

struct Calls {
  OperatorId first;
  bool has_later = false;
  std::vector<AllocationId> of_first;
  Bytes later;  // the largest
};

class Convolutions {
 public:
  explicit Convolutions(const Context& context)
      : context_(context),
        names_(context.text,
               {"aten::cudnn_convolution", "aten::cudnn_convolution_transpose", "aten::cudnn_convolution_relu",
                "aten::cudnn_convolution_add_relu", "aten::convolution_backward"}) {}

  bool has(OperatorId op) const { return names_.has(context_.process.operators.name[op]); }
  // The convolution around an allocation; none: another operator made it.
  OperatorId of(AllocationId allocation) const {
    OperatorId op = context_.process.allocations.op[allocation];
    while (op && !has(op)) op = context_.process.operators.parent[op];
    return op;
  }
  Key key(OperatorId op) const {
    const Process& p = context_.process;
    Bytes inputs;
    for (const uint32_t input : context_.provenance.inputs(op)) inputs += p.allocations.bytes[AllocationId{input}];
    return {stack_of(p, context_.text, op).value, p.operators.name[op].value, inputs.value};
  }

 private:
  const Context& context_;
  const NameSet names_;
};

// Workspaces in which cuDNN tries algorithms (torch.backends.cudnn.benchmark): the first convolution of a size makes
// larger temporaries than all later ones of that line and size.
// By temporary of a first call: the bytes of the largest temporary of the later calls. `temporaries`: in the order of
// time.
std::map<AllocationId, Bytes> convolution_trials(const Context& context, const std::vector<AllocationId>& temporaries) {
  const Process& p = context.process;
  std::map<AllocationId, Bytes> trials;
  if (!context.is_on_cuda()) return trials;
  const Convolutions convolutions(context);
  std::map<Key, Calls> calls;
  for (const OperatorId op : p.operators.ids()) {
    if (!convolutions.has(op)) continue;
    const auto [at, is_first] = calls.try_emplace(convolutions.key(op));
    if (is_first) at->second.first = op;
    at->second.has_later |= !is_first;
  }
  for (const AllocationId allocation : temporaries) {
    const OperatorId op = convolutions.of(allocation);
    if (!op) continue;
    Calls& of = calls.at(convolutions.key(op));
    if (op == of.first) {
      of.of_first.push_back(allocation);
    } else {
      of.later = std::max(of.later, p.allocations.bytes[allocation]);
    }
  }
  for (const auto& [key, of] : calls) {
    for (const AllocationId allocation : of.of_first) {
      if (of.has_later && p.allocations.bytes[allocation] > of.later) trials.emplace(allocation, of.later);
    }
  }
  return trials;
}

class OperatorTemporaries final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "operator-temporaries",
            .title = "temporaries of the operator that runs at the peak",
            .help =
                "Memory that an operator allocates for itself and frees before it returns: unfolded columns of a "
                "convolution, copies of an input whose layout or dtype the kernel does not support, buffers of a "
                "reduction, workspaces in which cuDNN tries algorithms (torch.backends.cudnn.benchmark). If the peak "
                "is inside such an operator, run it on chunks of its input: the temporaries "
                "that grow with the input become smaller. An input in a supported layout and dtype needs no copy.",
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
    std::vector<AllocationId> temporaries;
    for (const AllocationId allocation : context.allocations(Bytes{1})) {
      if (is_temporary(context, allocation)) temporaries.push_back(allocation);
    }
    const std::map<AllocationId, Bytes> trials = convolution_trials(context, temporaries);
    for (const AllocationId allocation : temporaries) {
      if (!lines.contains(stack(context, allocation))) continue;
      const auto trial = trials.find(allocation);
      if (trial == trials.end()) {
        emit(context, allocation, sink);
      } else {
        emit_trial(context, allocation, trial->second, sink);
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
          "The operator does not support the layout or dtype of the input, makes a copy, and frees the copy when it "
          "returns. The peak is inside the operator.";
      if (const Copy copy = context.provenance.copy_of(biggest.allocation); copy.source_layout) {
        words.notes.push_back("The input is " + layout_text(context.text, copy.source_layout) + ".");
      }
      words.fix.text = "make the input contiguous, and in the dtype of the computation, where the program creates it";
      return words;
    }
    if (group.variant == kTrial) {
      words.title = "cuDNN tries algorithms in a large workspace";
      words.message = "The first call of a size needs " + bytes_text(biggest.bytes) + ", later ones " +
                      bytes_text(Bytes{static_cast<int64_t>(biggest.number)}) +
                      " at most. With torch.backends.cudnn.benchmark, the first call of each size runs all algorithms, "
                      "and the peak is inside of it.";
      words.is_proved = false;
      words.fix.text = "torch.backends.cudnn.benchmark = False; convolutions may be slower";
      return words;
    }
    const std::string chunks = std::to_string(chunks_);
    words.title = op + " needs temporaries while it runs";
    words.message =
        "They are neither inputs nor results, and the operator frees them when it returns. The peak is inside the "
        "operator. On " +
        chunks + " chunks of its input, they take 1/" + chunks + " as much memory, as far as they grow with the input.";
    words.notes.emplace_back(
        "The estimate assumes that all of them grow with the input: the recording shows the sizes of one input.");
    words.is_proved = false;
    words.fix.text =
        p.operators.evaluation[biggest.place.op]
            ? "run the operator of the forward on " + chunks +
                  " chunks of the batch: each chunk has a separate backward"
            : "call it on " + chunks + " chunks of the batch, and write each result into its part of one tensor";
    return words;
  }

 private:
  // Whether an operator that the program or a node called made the allocation, and freed it before it returned.
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
    change.never_make(p, allocation);
    if (!is_copy) change.extras.push_back({allocation, life, Bytes{(bytes.value + chunks_ - 1) / chunks_}});
    sink.add({.place = place_of(context, allocation), .allocation = allocation, .bytes = bytes, .when = life}, change,
             is_copy ? kCopiedInput : kWorkspace);
  }

  static void emit_trial(const Context& context, AllocationId allocation, Bytes later, Sink& sink) {
    const Process& p = context.process;
    const Interval life{p.allocations.time[allocation], p.freed(allocation)};
    peak::WhatIf change;
    change.never_make(p, allocation);
    if (later > Bytes{}) change.extras.push_back({allocation, life, later});
    sink.add({.place = place_of(context, allocation),
              .allocation = allocation,
              .bytes = p.allocations.bytes[allocation],
              .when = life,
              .number = static_cast<uint64_t>(later.value)},
             change, kTrial);
  }

  int64_t chunks_ = 4;
};

}  // namespace
}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::OperatorTemporaries)
