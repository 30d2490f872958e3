// Finds cross-entropy losses whose logits, log-softmax and gradients are alive together at the peak.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
#include <set>

#include "analyzer/check/content.h"
#include "analyzer/check/frameworks.h"

namespace tapelens::check {

namespace {

constexpr std::array kOptions = {
    Option{"chunks", "8", "into how many chunks of rows the loss would be cut"},
    Option{"min-share", "10", "percent of the peak that the logits, their log-softmax and the gradients must be"},
};

enum Variant : uint32_t { kOfLoss, kOfGather };

// All tensors with the size of the logits that one cross-entropy makes.
struct Loss {
  NodeId softmax;
  bool is_gather = false;             // a gather or an index reads the log-softmax, not a loss
  std::vector<AllocationId> tensors;  // logits, log-softmax, their gradients; in the order of time
  // Bytes of the gradients of the last layer's parameters. Each chunk makes a second gradient, and adds it to the sum.
  Bytes weights;
  Interval chunks;  // time in which the chunks run
};

// Finds the node that reads few entries of each row of a log-softmax. A loss saves the log-softmax. A gather does not.
class LossReaders {
 public:
  explicit LossReaders(const Context& context)
      : context_(context),
        losses_(context.text, {"NllLossBackward0", "NllLoss2DBackward0"}),
        gathers_(context.text, {"GatherBackward0", "IndexBackward0", "TakeBackward0", "IndexSelectBackward0"}) {}

  NodeId of(AllocationId softmax) const {
    const Process& p = context_.process;
    NodeId reader;
    for (const SaveId save : context_.provenance.saves(softmax)) {
      if (losses_.has(p.nodes.type[p.saves.node[save]])) reader = p.saves.node[save];
    }
    if (reader) return reader;
    for (const OperatorId use : context_.provenance.uses(softmax)) {
      for (const NodeId node : context_.provenance.nodes(use)) {
        if (gathers_.has(p.nodes.type[node])) return node;
      }
    }
    return {};
  }

  bool is_gather(NodeId reader) const { return gathers_.has(context_.process.nodes.type[reader]); }

 private:
  const Context& context_;
  NameSet losses_, gathers_;
};

class LogitsPeak final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "logits-peak",
            .title = "logits and their gradients at the peak",
            .help =
                "Cross-entropy over many classes makes the logits, their log-softmax and the gradients of both: up to "
                "four tensors of rows times classes, while all saved tensors of the forward are alive as well. If the "
                "program computes the loss in chunks of rows, each with its own backward (or checkpointed together "
                "with the last layer), only one chunk of each tensor is alive.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    chunks_ = std::clamp<int64_t>(options.number("chunks"), 2, 1 << 20);
    const Bytes share = options.share("min-share", context.peak.bytes);
    const std::vector<Loss> losses = all_losses(context);
    // Losses at the peak, and losses of the same lines in other steps.
    std::set<StackId> lines;
    for (const Loss& loss : losses) {
      Bytes at_peak;
      for (const AllocationId tensor : loss.tensors) {
        if (context.peak.when.holds(context.process, tensor)) at_peak += context.process.allocations.bytes[tensor];
      }
      if (at_peak.value > 0 && at_peak >= share) {
        lines.insert(place_of(context, loss.softmax).stack);
      }
    }
    for (const Loss& loss : losses) {
      const Place place = place_of(context, loss.softmax);
      if (lines.contains(place.stack)) emit(context, loss, place, sink);
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const Occurrence& biggest = group.biggest();
    Description words;
    words.severity = Severity::info;
    words.title = std::string("several logits-sized tensors in ") +
                  (group.variant == kOfGather ? "a gather of their log-softmax" : "cross-entropy");
    words.message = "Logits, log-softmax and their gradients are alive at the peak. With " + std::to_string(chunks_) +
                    " chunks of rows, only 1/" + std::to_string(chunks_) + " of each is alive at a time.";
    if (const auto saves = context.provenance.saves(biggest.allocation); !saves.empty()) {
      words.notes.push_back("Each is " + layout_text(context.text, context.process.saves.layout[saves.front()]) + ".");
    }
    words.notes.emplace_back(
        "Gradients of the last layer's weight are then summed over the chunks, which temporarily needs a second "
        "gradient "
        "buffer.");
    words.fix = {
        FixKind::advice,
        "",
        {},
        "a chunked or fused linear cross-entropy: the last layer and the loss for a chunk of rows at a time, under "
        "torch.utils.checkpoint"};
    // Liger's kernels are Triton's.
    const std::string phrase = context.is_on_cuda() ? in_framework(context.in_use, Remedy::fused_loss) : "";
    if (!phrase.empty() && group.variant == kOfLoss) words.fix.text = phrase + ", or " + words.fix.text;
    return words;
  }

 private:
  static bool is_alike(Bytes a, Bytes b) {
    return a.value > 0 && (a == b || a.value == 2 * b.value || 2 * a.value == b.value);
  }

  static std::vector<Loss> all_losses(const Context& context) {
    const Process& p = context.process;
    const NameSet softmaxes(context.text, {"LogSoftmaxBackward0"});
    const LossReaders readers(context);
    const std::vector<EvaluationId> evaluations = last_evaluations(p);
    std::vector<Loss> found;
    for (uint32_t row = 1; row <= p.saves.rows(); ++row) {
      const NodeId node = p.saves.node[SaveId{row}];
      const AllocationId result = p.saves.allocation[SaveId{row}];
      if (!softmaxes.has(p.nodes.type[node]) || !result || p.allocations.device[result] != context.device) continue;
      const NodeId reader = readers.of(result);
      if (!reader) continue;
      Loss loss{node, readers.is_gather(reader), {}, {}, {}};
      add_logits(context, result, loss);
      loss.tensors.push_back(result);
      for (const NodeId of : {reader, node}) add_gradients(p, evaluations[of.value], result, loss);
      add_last_layer(context, evaluations[reader.value], evaluations[node.value], result, loss);
      std::ranges::sort(loss.tensors);
      loss.tensors.erase(std::ranges::unique(loss.tensors).begin(), loss.tensors.end());
      found.push_back(std::move(loss));
    }
    return found;
  }

  // Adds the input of the log-softmax, and the tensors from which it was cast or copied.
  static void add_logits(const Context& context, AllocationId result, Loss& loss) {
    const Process& p = context.process;
    const OperatorId softmax = p.allocations.op[result];
    AllocationId at;
    for (const uint32_t input : context.provenance.inputs(softmax)) {
      if (AllocationId{input} != result &&
          is_alike(p.allocations.bytes[AllocationId{input}], p.allocations.bytes[result])) {
        at = AllocationId{input};
      }
    }
    constexpr int kMostCopies = 4;
    for (int i = 0; i < kMostCopies && at; ++i) {
      loss.tensors.push_back(at);
      const AllocationId source = context.provenance.copy_of(at).source;
      at = source && is_alike(p.allocations.bytes[source], p.allocations.bytes[at]) ? source : AllocationId{};
    }
  }

  static void add_gradients(const Process& p, EvaluationId evaluation, AllocationId result, Loss& loss) {
    if (!evaluation) return;
    for (const AllocationId id : allocations_in(p, evaluation)) {
      if (p.allocations.evaluation[id] == evaluation &&
          is_alike(p.allocations.bytes[id], p.allocations.bytes[result])) {
        loss.tensors.push_back(id);
      }
    }
  }

  // The first evaluation that reads the gradient of the logits makes the gradient of the weight.
  static void add_last_layer(const Context& context, EvaluationId first, EvaluationId softmax, AllocationId result,
                             Loss& loss) {
    const Process& p = context.process;
    const AllocationId gradient = loss.tensors.back();
    if (!first || !softmax || p.allocations.evaluation[gradient] != softmax) return;
    for (const OperatorId use : context.provenance.uses(gradient)) {
      const EvaluationId layer = p.operators.evaluation[use];
      if (!layer || layer == softmax) continue;
      loss.chunks = {p.evaluations.begin[first], p.evaluations.end[layer]};
      for (uint32_t row = gradient.value + 1; row <= p.allocations.rows(); ++row) {
        const AllocationId made{row};
        if (p.allocations.time[made] >= loss.chunks.end) break;
        const bool is_kept = p.freed(made) > loss.chunks.end && p.allocations.evaluation[made] == layer;
        if (is_kept && is_gradient_of_parameter(context, made) &&
            !is_alike(p.allocations.bytes[made], p.allocations.bytes[result])) {
          loss.weights += p.allocations.bytes[made];
        }
      }
      return;
    }
  }

  static bool is_gradient_of_parameter(const Context& context, AllocationId allocation) {
    const Roles& roles = context.process.roles;
    for (uint32_t row = 1; row <= roles.rows(); ++row) {
      if (roles.allocation[RoleId{row}] == allocation && roles.kind[RoleId{row}] == Role::gradient) return true;
    }
    return false;
  }

  void emit(const Context& context, const Loss& loss, const Place& place, Sink& sink) const {
    const Process& p = context.process;
    for (const AllocationId tensor : loss.tensors) {
      const Interval life{p.allocations.time[tensor], p.freed(tensor)};
      const Bytes bytes = p.allocations.bytes[tensor];
      peak::WhatIf change;
      change.never_make(p, tensor);
      change.extras.push_back({tensor, life, Bytes{(bytes.value + chunks_ - 1) / chunks_}});
      if (tensor == loss.tensors.front() && loss.weights.value > 0) {
        change.extras.push_back({tensor, loss.chunks, loss.weights});
      }
      sink.add({.place = place, .allocation = tensor, .bytes = bytes, .when = life}, change,
               loss.is_gather ? kOfGather : kOfLoss);
    }
  }

  int64_t chunks_ = 8;
};

}  // namespace

}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::LogitsPeak)
