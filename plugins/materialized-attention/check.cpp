// Attention without a fused operator: scores, mask, softmax and dropout are separate tensors.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "analyzer/check/content.h"
#include "analyzer/check/frameworks.h"
#include "plugins/materialized-attention/math.h"

namespace tapelens::check {

namespace {

constexpr std::array kOptions = {
    Option{"min-bytes", "64KiB", "smaller softmaxes are ignored"},
};

// The program writes attention out, or scaled_dot_product_attention itself takes its math kernel.
enum Variant : uint32_t { kWrittenOut = 0, kMath = 1, kMathInference = 2 };

// All tensors of the scores' size between the two products.
struct Attention {
  std::vector<AllocationId> tensors;  // scores first, then the softmax's result and its derived tensors
  AllocationId softmax;
  std::vector<NodeId> nodes;  // evaluations of these nodes make gradients of that size
};

class Finder {
 public:
  explicit Finder(const Context& context)
      : context_(context),
        p_(context.process),
        products_(context.text, {"aten::bmm", "aten::baddbmm"}),
        softmaxes_(context.text, {"aten::_softmax"}),
        pointwise_(context.text, {"aten::div", "aten::mul", "aten::add", "aten::sub", "aten::where", "aten::clone",
                                  "aten::masked_fill", "aten::_to_copy", "aten::clamp", "aten::nan_to_num"}),
        product_node_(context.text, {"BmmBackward0", "BaddbmmBackward0"}),
        self_(context.text, {"self", "batch1"}) {}

  std::optional<Attention> around(NodeId softmax) const {
    const OperatorId op = p_.nodes.op[softmax];
    Attention found;
    for (const SaveId save : saves_of(context_, softmax)) found.softmax = p_.saves.allocation[save];
    if (!found.softmax || !add_scores(found)) return {};
    found.nodes.push_back(softmax);
    found.tensors.push_back(found.softmax);
    if (!add_results(found.softmax, p_.operators.end[op], found)) return {};
    std::ranges::sort(found.tensors);
    found.tensors.erase(std::ranges::unique(found.tensors).begin(), found.tensors.end());
    return found;
  }

 private:
  // The innermost operator of a set around an allocation.
  OperatorId maker(AllocationId allocation, const NameSet& names) const {
    const OperatorId outermost = context_.provenance.maker(allocation);
    for (OperatorId op = p_.allocations.op[allocation]; op; op = p_.operators.parent[op]) {
      if (names.has(p_.operators.name[op])) return op;
      if (op == outermost) break;
    }
    return {};
  }

  // The same number of elements, in floats of 4, 2 or 8 bytes.
  static bool is_alike(Bytes a, Bytes b) {
    return a.value > 0 && (a == b || a.value == 2 * b.value || 2 * a.value == b.value);
  }

  AllocationId alike_input(OperatorId op, AllocationId result) const {
    for (const uint32_t input : context_.provenance.inputs(op)) {
      const AllocationId id{input};
      if (id != result && is_alike(p_.allocations.bytes[id], p_.allocations.bytes[result])) return id;
    }
    return {};
  }

  void add_nodes_of(OperatorId op, Attention& found) const {
    for (const NodeId node : context_.provenance.nodes(op)) found.nodes.push_back(node);
    const OperatorId called = context_.provenance.called(op);
    for (OperatorId around = op; around != called && around;) {
      around = p_.operators.parent[around];
      for (const NodeId node : context_.provenance.nodes(around)) found.nodes.push_back(node);
    }
  }

  // From the softmax back to the product that made the scores.
  bool add_scores(Attention& found) const {
    constexpr int kMostSteps = 8;  // scale, bias, mask, casts
    const OperatorId softmax = maker(found.softmax, softmaxes_);
    AllocationId at = softmax ? alike_input(softmax, found.softmax) : AllocationId{};
    for (int step = 0; step < kMostSteps && at; ++step) {
      found.tensors.push_back(at);
      if (maker(at, products_)) return true;
      const OperatorId op = maker(at, pointwise_);
      if (!op) return false;
      add_nodes_of(op, found);
      at = alike_input(op, at);
    }
    return false;
  }

  // Walks from the softmax's result, over dropout and casts, to a product that saves one of the results. Visits each
  // operator once.
  bool add_results(AllocationId softmax, Time since, Attention& found) const {
    constexpr int kMostSteps = 4;
    struct Result {
      AllocationId tensor;
      Time since;
      size_t made_of;  // its index in `results`
      OperatorId made_by;
      int steps;
    };
    std::vector<Result> results{{softmax, since, 0, {}, 0}};
    std::set<OperatorId> seen;
    for (size_t at = 0; at < results.size(); ++at) {
      const Result result = results[at];
      if (const NodeId product = saving_product(result.tensor)) {
        found.nodes.push_back(product);
        for (size_t of = at; of != 0; of = results[of].made_of) {
          // The noise of a dropout is made in the same call.
          const auto made = made_in(results[of].made_by, p_.allocations.bytes[results[results[of].made_of].tensor]);
          found.tensors.insert(found.tensors.end(), made.begin(), made.end());
          add_nodes_of(maker(results[of].tensor, pointwise_), found);
        }
        return true;
      }
      if (result.steps == kMostSteps) continue;
      for (const OperatorId op : context_.provenance.uses(result.tensor)) {
        if (p_.operators.begin[op] < result.since || p_.operators.evaluation[op] || !seen.insert(op).second) continue;
        for (const AllocationId next : made_in(op, p_.allocations.bytes[result.tensor])) {
          if (next == result.tensor || !maker(next, pointwise_)) continue;
          results.push_back({next, p_.operators.end[op], at, op, result.steps + 1});
        }
      }
    }
    return false;
  }

  NodeId saving_product(AllocationId tensor) const {
    for (const SaveId save : context_.provenance.saves(tensor)) {
      const NodeId node = p_.saves.node[save];
      if (product_node_.has(p_.nodes.type[node]) && self_.has(p_.saves.field[save])) return node;
    }
    return {};
  }

  // The allocations of the same size that an operator made and left alive.
  std::vector<AllocationId> made_in(OperatorId op, Bytes bytes) const {
    std::vector<AllocationId> made;
    for (const AllocationId id : allocations_during(p_, op)) {
      if (context_.provenance.maker(id) == op && is_alike(p_.allocations.bytes[id], bytes) &&
          p_.freed(id) > p_.operators.end[op]) {
        made.push_back(id);
      }
    }
    return made;
  }

  const Context& context_;
  const Process& p_;
  NameSet products_, softmaxes_, pointwise_, product_node_, self_;
};

class MaterializedAttention final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "materialized-attention",
            .title = "attention matrices that are materialised",
            .help =
                "softmax(q @ k.T) @ v, written with matmul, makes the scores, the masked scores, their softmax and its "
                "dropout as tensors of queries times keys, and autograd keeps several of them. "
                "torch.nn.functional.scaled_dot_product_attention computes the same tile by tile and keeps one number "
                "a query. It makes the same tensors itself where no fused kernel takes its inputs (its math kernel).",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const NameSet softmaxes(context.text, {"SoftmaxBackward0"});
    const Bytes least = options.bytes("min-bytes");
    const Finder finder(context);
    std::vector<EvaluationId> evaluations;
    for (const NodeId node : p.nodes.ids()) {
      if (!softmaxes.has(p.nodes.type[node])) continue;
      const auto found = finder.around(node);
      if (!found || !context.is_looked_at(found->softmax, least)) continue;
      if (evaluations.empty()) evaluations = last_evaluations(p);
      emit(context, node, *found, evaluations, sink);
    }
    for (const attention::MathCall& call : attention::math_calls(context)) {
      if (call.largest && context.is_looked_at(call.largest, least)) emit_math(context, call, sink);
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    if (group.variant != kWrittenOut) return describe_math(context, group);
    Description words;
    words.severity = Severity::info;
    words.title = "attention matrix is materialised (no fused SDPA)";
    words.message =
        "Scores, mask, softmax and dropout between two batched products are tensors of queries times keys. "
        "scaled_dot_product_attention makes none of them.";
    words.notes.emplace_back(
        "The replay leaves out their gradients as well, and adds what the fused operator keeps: a float "
        "each row of scores.");
    words.fix = {
        FixKind::advice,
        "",
        {},
        "torch.nn.functional.scaled_dot_product_attention (is_causal, attn_mask, dropout_p), where the device has a "
        "kernel for these inputs; sums are added in another order"};
    const StackId stack = group.biggest().place.stack;
    if (is_in_function(context.text, stack, "multi_head_attention_forward")) {
      words.message += " nn.MultiheadAttention calls it only with need_weights=False.";
      words.fix.text =
          "attention(query, key, value, need_weights=False); its second result becomes None. average_attn_weights "
          "has no effect on memory";
    } else if (is_of_library_model(context.text, stack)) {
      const std::string phrase = in_framework(context.in_use, Remedy::fused_attention);
      if (!phrase.empty())
        words.fix.text = phrase + ", without output_attentions=True; sums are added in another order";
    }
    return words;
  }

 private:
  static Description describe_math(const Context& context, const Group& group) {
    const attention::MathReason cause =
        attention::cause_of(context, OperatorId{static_cast<uint32_t>(group.biggest().number)}, group.variant == kMath);
    Description words;
    words.severity = Severity::info;
    words.title = "scaled_dot_product_attention ran in its math kernel";
    words.message = "The math kernel makes scores, softmax and dropout as tensors of queries times keys: " +
                    bytes_text(group.bytes) + " at a time. A fused kernel makes none. " + cause.why;
    words.notes.emplace_back(
        "The prediction is for a fused kernel: query, key, value and output stay until its backward, and a float for "
        "each row of scores.");
    words.fix.text = cause.fix;
    return words;
  }

  static void emit_math(const Context& context, const attention::MathCall& call, Sink& sink) {
    const Process& p = context.process;
    const Place place = place_of(context, call.op);
    const Variant variant = call.backward == Time{} ? kMathInference : kMath;
    for (const AllocationId tensor : call.tensors) {
      peak::WhatIf change;
      change.never_make(p, tensor);
      if (tensor == call.largest) add_fused(p, call, change);
      sink.add({.place = place,
                .allocation = tensor,
                .bytes = p.allocations.bytes[tensor],
                .when = {p.allocations.time[tensor], p.freed(tensor)},
                .number = call.op.value},
               change, variant);
    }
  }

  // The tensors that a fused kernel saves.
  static void add_fused(const Process& p, const attention::MathCall& call, peak::WhatIf& change) {
    if (call.backward == Time{}) return;
    const Time end = p.operators.end[call.op];
    if (call.rows > Bytes{}) change.extras.push_back({call.largest, {end, call.backward}, call.rows, true});
    change.aliases.insert(change.aliases.end(), call.copies.begin(), call.copies.end());
    for (const AllocationId kept : call.kept) {
      Time freed = std::max(p.freed(kept), end);
      for (const peak::WhatIf::Alias& alias : call.copies) {
        if (alias.source == kept) freed = std::max(freed, p.freed(alias.copy));
      }
      if (freed >= call.backward) continue;
      change.extras.push_back({call.largest, {freed, call.backward}, p.allocations.bytes[kept], true});
    }
  }

  static bool is_in_function(const Text& text, StackId stack, std::string_view function) {
    return std::ranges::any_of(text.stack(stack), [&](FrameId frame) {
      return is_library_frame(text.string(text.frame_file[frame]), "") &&
             text.string(text.frame_function[frame]) == function;
    });
  }

  static void emit(const Context& context, NodeId softmax, const Attention& found,
                   const std::vector<EvaluationId>& evaluations, Sink& sink) {
    const Process& p = context.process;
    Place place = place_of(context, softmax);
    for (const AllocationId tensor : found.tensors) {
      peak::WhatIf change;
      change.never_make(p, tensor);
      if (tensor == found.softmax) {
        add_gradients(p, found, evaluations, change);
        change.extras.push_back({tensor, {p.allocations.time[tensor], p.freed(tensor)}, rows(context, softmax)});
      }
      sink.add({.place = place,
                .allocation = tensor,
                .bytes = p.allocations.bytes[tensor],
                .when = {p.allocations.time[tensor], p.freed(tensor)}},
               change);
    }
  }

  // One float for each row of scores.
  static Bytes rows(const Context& context, NodeId softmax) {
    for (const SaveId save : saves_of(context, softmax)) {
      const auto sizes = context.text.sizes(context.process.saves.layout[save]);
      if (sizes.empty() || sizes.back() == 0) continue;
      return Bytes{static_cast<int64_t>(elements(context.text, context.process.saves.layout[save]) / sizes.back() * 4)};
    }
    return {};
  }

  static void add_gradients(const Process& p, const Attention& found, const std::vector<EvaluationId>& evaluations,
                            peak::WhatIf& change) {
    const int64_t bytes = p.allocations.bytes[found.softmax].value;
    for (const NodeId node : found.nodes) {
      const EvaluationId evaluation = evaluations[node.value];
      if (!evaluation) continue;
      for (const AllocationId id : allocations_in(p, evaluation)) {
        const int64_t its = p.allocations.bytes[id].value;
        if (p.allocations.evaluation[id] == evaluation && (its == bytes || its == 2 * bytes || 2 * its == bytes)) {
          change.never_make(p, id);
        }
      }
    }
  }
};

}  // namespace

}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::MaterializedAttention)
