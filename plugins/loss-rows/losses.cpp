#include "plugins/loss-rows/losses.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "analyzer/check/content.h"
#include "trace/record.h"

namespace tapelens::check {
namespace {

using plugins::loss_rows::kRewrite;

class Losses {
 public:
  explicit Losses(const Context& context) : context_(context), evaluations_(last_evaluations(context.process)) {}

  std::optional<LossByRows> of(NodeId node) const {
    if (!losses_.has(p_.nodes.type[node])) return std::nullopt;
    LossByRows loss;
    loss.op = cross_entropy(node);
    const NodeId cast = next(node, casts_);
    const NodeId softmax = next(cast ? cast : node, softmaxes_);
    if (!loss.op || !softmax || cross_entropy(softmax) != loss.op || !is_plain(loss.op)) return std::nullopt;
    loss.input = save(node, self_);
    loss.result = save(softmax, result_);
    if (!loss.input || !loss.result || save(node, weight_)) return std::nullopt;
    const auto sizes = context_.text.sizes(p_.saves.layout[loss.input]);
    if (sizes.size() != 2) return std::nullopt;
    loss.size = {static_cast<int64_t>(sizes[0]), static_cast<int64_t>(sizes[1]), context_.is_on_cuda() ? 0 : 1};
    if (!is_worth_it(loss.size)) return std::nullopt;
    const AllocationId logits = logits_of(softmax);
    if (!logits || p_.allocations.bytes[logits] < context_.applied->min_bytes()) return std::nullopt;
    loss.kept = logits;
    if (!add_backward(node, cast, softmax, loss)) return std::nullopt;
    for (const AllocationId made : allocations_in(p_, {p_.operators.begin[loss.op], p_.operators.end[loss.op]}))
      if (is_matrix(made, loss)) loss.never_made.push_back(made);
    return loss;
  }

 private:
  OperatorId cross_entropy(NodeId node) const {
    OperatorId op = p_.nodes.op[node];
    while (op && !calls_.has(p_.operators.name[op])) op = p_.operators.parent[op];
    return op;
  }

  // The only next node, if it is of these types.
  NodeId next(NodeId node, const NameSet& types) const {
    const auto edges = p_.nodes.edges_of(node);
    if (edges.size() != 1 || edges[0] == 0 || !types.has(p_.nodes.type[NodeId{edges[0]}])) return {};
    return NodeId{edges[0]};
  }

  // Smoothed labels need further operators.
  bool is_plain(OperatorId op) const {
    for (OperatorId inner{op.value + 1}; inner.value <= p_.operators.rows(); ++inner.value) {
      if (p_.operators.begin[inner] > p_.operators.end[op]) break;
      if (p_.operators.parent[inner] == op && !parts_.has(p_.operators.name[inner])) return false;
    }
    return true;
  }

  SaveId save(NodeId node, const NameSet& field) const {
    for (const SaveId save : saves_of(context_, node)) {
      const bool is_packed = (p_.saves.flags[save] & trace::kSaveIsPacked) != 0;
      if (field.has(p_.saves.field[save]) && !is_packed && p_.saves.allocation[save] &&
          p_.allocations.device[p_.saves.allocation[save]] == context_.device)
        return save;
    }
    return {};
  }

  AllocationId logits_of(NodeId softmax) const {
    const auto inputs = context_.provenance.inputs(p_.nodes.op[softmax]);
    return inputs.empty() ? AllocationId{} : AllocationId{inputs[0]};
  }

  bool is_matrix(AllocationId allocation, const LossByRows& loss) const {
    const int64_t elements = loss.size.rows * loss.size.columns;
    const int64_t bytes = p_.allocations.bytes[allocation].value;
    return p_.allocations.device[allocation] == context_.device &&
           std::ranges::any_of(std::array{2, 4, 8}, [&](int64_t of) { return bytes == of * elements; });
  }

  std::vector<AllocationId> matrices_of(NodeId node, const LossByRows& loss) const {
    std::vector<AllocationId> found;
    const EvaluationId evaluation = node ? evaluations_[node.value] : EvaluationId{};
    if (!evaluation) return found;
    for (const AllocationId made : allocations_in(p_, evaluation))
      if (p_.allocations.evaluation[made] == evaluation && is_matrix(made, loss)) found.push_back(made);
    return found;
  }

  // The nodes' gradients. False: no backward ran.
  bool add_backward(NodeId node, NodeId cast, NodeId softmax, LossByRows& loss) const {
    if (!evaluations_[node.value] || !evaluations_[softmax.value]) return false;
    for (const NodeId each : {node, cast})
      for (const AllocationId made : matrices_of(each, loss)) loss.never_made.push_back(made);
    std::vector<AllocationId> gradients = matrices_of(softmax, loss);
    NodeId last = softmax;
    if (const NodeId casting = cast_of_logits(softmax)) {
      // The gradient is computed in the type of the cast's source.
      const AllocationId source = context_.provenance.copy_of(loss.kept).source;
      const std::vector<AllocationId> of_source = matrices_of(casting, loss);
      if (source && of_source.size() == 1 && p_.allocations.bytes[source] < p_.allocations.bytes[loss.kept] &&
          p_.allocations.bytes[of_source[0]] == p_.allocations.bytes[source]) {
        loss.never_made.insert(loss.never_made.end(), gradients.begin(), gradients.end());
        loss.kept = source;
        gradients = of_source;
        last = casting;
      }
    }
    if (gradients.size() != 1) return false;
    loss.gradient = gradients[0];
    loss.backward_begins = p_.evaluations.begin[evaluations_[softmax.value]];
    loss.gradient_is_there = p_.evaluations.end[evaluations_[last.value]];
    return true;
  }

  NodeId cast_of_logits(NodeId softmax) const {
    NodeId at = softmax;
    while (const NodeId view = next(at, views_)) at = view;
    return next(at, casts_);
  }

  const Context& context_;
  const Process& p_ = context_.process;
  const std::vector<EvaluationId> evaluations_;
  const NameSet losses_{context_.text, {"NllLossBackward0"}}, softmaxes_{context_.text, {"LogSoftmaxBackward0"}},
      casts_{context_.text, {"ToCopyBackward0"}}, views_{context_.text, {"ViewBackward0", "UnsafeViewBackward0"}},
      calls_{context_.text, {"aten::cross_entropy_loss"}},
      parts_{context_.text, {"aten::log_softmax", "aten::nll_loss_nd"}}, self_{context_.text, {"self"}},
      result_{context_.text, {"result"}}, weight_{context_.text, {"weight"}};
};

// On CUDA, PyTorch announces writes to the logits since 2.15.
bool announces_writes(std::string_view torch_version) {
  int major = 0, minor = 0;
  return std::sscanf(std::string(torch_version).c_str(), "%d.%d", &major, &minor) == 2 &&
         std::pair(major, minor) >= std::pair(2, 15);
}

}  // namespace

std::vector<LossByRows> losses_by_rows(const Context& context) {
  std::vector<LossByRows> found;
  if (context.is_on_cuda() && !announces_writes(context.torch_version)) return found;
  const Losses losses(context);
  for (uint32_t row = 1; row <= context.process.nodes.rows(); ++row) {
    auto loss = losses.of(NodeId{row});
    if (loss && context.applied->takes(kRewrite.id, loss->input)) found.push_back(std::move(*loss));
  }
  return found;
}

}  // namespace tapelens::check
