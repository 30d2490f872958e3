#include "plugins/materialized-attention/math.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "analyzer/check/content.h"
#include "analyzer/check/frameworks.h"

namespace tapelens::check::attention {
namespace {

constexpr std::string_view kKernel = "aten::_scaled_dot_product_attention_math";
constexpr size_t kQueryKeyValue = 3;  // inputs before the mask

bool is_inside(const Process& p, OperatorId op, OperatorId outer) {
  while (op > outer) op = p.operators.parent[op];
  return op == outer;
}

// The operators inside of an operator follow it in their table.
template <class Fn>
void each_inner(const Process& p, OperatorId outer, Fn fn) {
  for (OperatorId op{outer.value + 1};
       op.value <= p.operators.rows() && p.operators.begin[op] <= p.operators.end[outer]; ++op.value) {
    if (is_inside(p, op, outer)) fn(op);
  }
}

std::vector<NodeId> nodes_of(const Context& context, OperatorId kernel) {
  std::vector<NodeId> nodes;
  const auto add = [&](OperatorId op) {
    for (const NodeId node : context.provenance.nodes(op)) {
      if (context.text.string(context.process.nodes.type[node]) != "AccumulateGrad") nodes.push_back(node);
    }
  };
  add(kernel);
  each_inner(context.process, kernel, add);
  return nodes;
}

class Finder {
 public:
  explicit Finder(const Context& context)
      : context_(context), p_(context.process), evaluations_(last_evaluations(context.process)) {}

  MathCall of(OperatorId kernel) const {
    MathCall call{kernel, {}, {}, {}, {}, {}, {}};
    const std::vector<NodeId> nodes = nodes_of(context_, kernel);
    for (const NodeId node : nodes) {
      const EvaluationId evaluation = evaluations_[node.value];
      if (evaluation) call.backward = std::max(call.backward, p_.evaluations.end[evaluation]);
    }
    add_forward(nodes, call);
    for (const NodeId node : nodes) add_backward(evaluations_[node.value], call);
    std::ranges::sort(call.tensors);
    call.tensors.erase(std::ranges::unique(call.tensors).begin(), call.tensors.end());
    return call;
  }

 private:
  void add_forward(const std::vector<NodeId>& nodes, MathCall& call) const {
    const Time end = p_.operators.end[call.op];
    std::vector<AllocationId> outputs;  // alive behind the call, and not for its backward alone
    Bytes largest;
    for (const AllocationId made : allocations_during(p_, call.op)) {
      if (!is_inside(p_, p_.allocations.op[made], call.op)) continue;
      if (p_.freed(made) > end && !is_saved_by(made, nodes)) {
        outputs.push_back(made);
        continue;
      }
      call.tensors.push_back(made);
      if (p_.allocations.bytes[made] <= largest) continue;
      largest = p_.allocations.bytes[made];
      call.largest = made;
    }
    if (call.backward == Time{}) return;
    const auto inputs = context_.provenance.inputs(call.op);
    for (const uint32_t input : inputs.first(std::min(inputs.size(), kQueryKeyValue))) {
      if (input != 0 && !has(call.kept, AllocationId{input})) call.kept.emplace_back(input);
    }
    call.kept.insert(call.kept.end(), outputs.begin(), outputs.end());
    for (const AllocationId output : outputs) add_copies(output, end, call);
    call.rows = rows(nodes);
  }

  // A fused kernel writes (batch, queries, heads, head size): the program's reshape to (batch, queries, width) is a
  // view.
  void add_copies(AllocationId output, Time since, MathCall& call) const {
    for (const OperatorId use : context_.provenance.uses(output)) {
      if (p_.operators.begin[use] < since || p_.operators.evaluation[use]) continue;
      for (const AllocationId made : allocations_in(p_, {p_.operators.begin[use], p_.operators.end[use]})) {
        const bool is_whole = p_.allocations.bytes[made] == p_.allocations.bytes[output];
        if (is_whole && context_.provenance.copy_of(made).source == output) call.copies.push_back({made, output});
      }
    }
  }

  // The gradients of query, key and value outlive the backward of the call.
  void add_backward(EvaluationId evaluation, MathCall& call) const {
    if (!evaluation) return;
    for (const AllocationId made : allocations_in(p_, evaluation)) {
      if (p_.allocations.evaluation[made] == evaluation && p_.freed(made) <= call.backward)
        call.tensors.push_back(made);
    }
  }

  bool is_saved_by(AllocationId allocation, const std::vector<NodeId>& nodes) const {
    return std::ranges::any_of(context_.provenance.saves(allocation), [&](SaveId save) {
      return std::ranges::find(nodes, p_.saves.node[save]) != nodes.end();
    });
  }

  static bool has(const std::vector<AllocationId>& all, AllocationId one) {
    return std::ranges::find(all, one) != all.end();
  }

  Bytes rows(const std::vector<NodeId>& nodes) const {
    for (const NodeId node : nodes) {
      if (!context_.text.string(p_.nodes.type[node]).ends_with("SoftmaxBackward0")) continue;
      for (const SaveId save : saves_of(context_, node)) {
        const LayoutId layout = p_.saves.layout[save];
        const auto sizes = context_.text.sizes(layout);
        if (sizes.empty() || sizes.back() == 0) continue;
        return Bytes{static_cast<int64_t>(elements(context_.text, layout) / sizes.back() * sizeof(float))};
      }
    }
    return {};
  }

  const Context& context_;
  const Process& p_;
  const std::vector<EvaluationId> evaluations_;
};

// The facts that the operators inside a call show.
struct Signs {
  bool has_dropout = false, has_trained_mask = false, is_double = false;
  size_t dimensions = 0;  // number of dimensions of the scores; 0: unknown
  uint64_t head_size = 0;
};

// A mask that needs a gradient is a second input of the addition that has a node behind it.
bool is_trained(const Process& p, std::span<const NodeId> nodes) {
  return std::ranges::any_of(nodes, [&](NodeId node) {
    const auto edges = p.nodes.edges_of(node);
    return edges.size() > 1 && edges[0] != 0 && edges[1] != 0;
  });
}

Signs signs_of(const Context& context, OperatorId kernel) {
  const Process& p = context.process;
  Signs signs;
  each_inner(p, kernel, [&](OperatorId op) {
    const std::string_view name = context.provenance.name(op);
    const auto nodes = context.provenance.nodes(op);
    if (name == "dropout" || name == "native_dropout" || name == "bernoulli_") signs.has_dropout = true;
    if (name == "add" || name == "add_") signs.has_trained_mask |= is_trained(p, nodes);
    for (const NodeId node : nodes) {
      const std::string_view type = context.text.string(p.nodes.type[node]);
      const bool is_softmax = type.ends_with("SoftmaxBackward0");
      if (!is_softmax && type != "BmmBackward0") continue;
      for (const SaveId save : saves_of(context, node)) {
        const LayoutId layout = p.saves.layout[save];
        if (!layout) continue;
        signs.is_double |= context.text.string(context.text.layout_dtype[layout]).ends_with("64");
        const auto sizes = context.text.sizes(layout);
        if (is_softmax) signs.dimensions = sizes.size();
        // The first product saves the query first: (heads, queries, head size).
        if (!is_softmax && signs.head_size == 0 && !sizes.empty() && context.text.string(p.saves.field[save]) == "self")
          signs.head_size = sizes.back();
      }
    }
  });
  return signs;
}

}  // namespace

std::vector<MathCall> math_calls(const Context& context) {
  const Process& p = context.process;
  const NameSet kernels(context.text, {kKernel});
  std::vector<MathCall> calls;
  std::optional<Finder> finder;
  for (const OperatorId op : p.operators.ids()) {
    if (!kernels.has(p.operators.name[op])) continue;
    if (!finder) finder.emplace(context);
    calls.push_back(finder->of(op));
  }
  return calls;
}

MathReason cause_of(const Context& context, OperatorId op, bool has_backward) {
  constexpr uint64_t kMostHead = 256, kHeadMultiple = 8;
  const Signs signs = signs_of(context, op);
  if (signs.has_dropout && !context.is_on_cuda()) {
    if (!has_backward) {
      return {"Its dropout is on, although no backward follows, and the fused kernel of the CPU has none.",
              "call model.eval() before inference, which turns dropout off"};
    }
    const bool is_of_library = is_of_library_model(context.text, stack_of(context.process, context.text, op));
    const std::string setting = is_of_library ? "attention_dropout=0.0 in the model's config" : "dropout_p=0.0";
    return {"The fused kernel of the CPU has no dropout, those of a GPU have.",
            "train on a GPU, or without attention's dropout (" + setting + "), which changes the regularization"};
  }
  if (signs.has_trained_mask && !context.is_on_cuda()) {
    return {"Its mask needs a gradient, and the fused kernel of the CPU makes none.",
            "attn_mask.detach() for a mask that is not trained; torch.nn.attention.flex_attention for a trained bias"};
  }
  if (signs.dimensions != 0 && signs.dimensions != 4) {
    return {"Its inputs have " + std::to_string(signs.dimensions) + " dimensions, and fused kernels need four.",
            "query, key and value of (batch, heads, length, head size): x.unsqueeze(0)"};
  }
  if (signs.is_double && context.is_on_cuda()) {
    return {"Its inputs are float64, which no fused kernel of a GPU computes with.",
            "float32, bfloat16 or float16 for query, key and value"};
  }
  if (context.is_on_cuda() && (signs.head_size > kMostHead || signs.head_size % kHeadMultiple != 0)) {
    return {"Its head size is " + std::to_string(signs.head_size) + ".",
            "a head size that is a multiple of 8, and 256 at most"};
  }
  return {"The recording does not show why: the program may select the kernel (sdpa_kernel, enable_math_sdp).",
          "with torch.nn.attention.sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]): around "
          "the call. PyTorch then says why a fused kernel does not take it"};
}

}  // namespace tapelens::check::attention
