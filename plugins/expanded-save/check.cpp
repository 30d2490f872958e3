// Copies that repeat a smaller tensor: the expanded inputs of a broadcast matmul, and expand() made contiguous.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>

#include "analyzer/check/content.h"

namespace tapelens::check {

namespace {

constexpr std::array kOptions = {
    Option{"min-bytes", "64KiB", "copies of less are not looked at"},
    Option{"min-ratio", "2", "how many times bigger than what it repeats a copy must be"},
};

// The maker of the copy: PyTorch, inside a product that does not need it, or the program, which may need it.
enum Variant : uint32_t { kInProduct = 0, kAskedFor = 1 };

class ExpandedSave final : public Check {
 public:
  CheckInfo info() const override {
    return {.id = "expanded-save",
            .title = "copies that repeat a smaller tensor",
            .help =
                "matmul of tensors whose batch dimensions differ expands both and copies what it expanded, once for "
                "every repetition; autograd then saves the copies. The same product can be had without them: fold "
                "the dimensions that only one side has into its rows or columns, or write it as torch.einsum, which "
                "does that. expand() followed by contiguous(), reshape() or clone() and repeat() copy likewise.",
            .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Contents contents(context);
    const NameSet products(context.text, {"aten::matmul", "aten::einsum", "aten::linear", "aten::tensordot",
                                          "aten::bilinear", "aten::_trilinear", "aten::__matmul__"});
    const NameSet copying(context.text, {"aten::clone", "aten::repeat", "aten::_reshape_copy", "aten::expand_copy"});
    const Bytes least = options.bytes("min-bytes");
    const int64_t ratio = std::max<int64_t>(2, options.number("min-ratio"));
    Gradients gradients(context);
    for (const AllocationId copy : context.allocations(least)) {
      const Bytes bytes = p.allocations.bytes[copy];
      if (contents.is_of_backward(copy)) continue;
      const OperatorId called = context.provenance.maker(copy);
      const bool in_product = products.has(p.operators.name[called]);
      if (!in_product && !contents.is_called_copy(called)) continue;
      const Copied copied = contents.copied(copy);
      if (copied.parts.empty() || !copying.has(p.operators.name[copied.op])) continue;
      const View source = copied.parts[0];
      const Bytes distinct = distinct_bytes(context.text, source.layout);
      if (bytes.value < ratio * distinct.value || p.allocations.device[source.allocation] != context.device) continue;
      const Time end = p.freed(copy);
      if (!contents.is_unchanged(copy, copied.since, end) ||
          !contents.is_unchanged(source.allocation, copied.since, end)) {
        continue;
      }
      peak::WhatIf change;
      change.aliases.push_back({copy, source.allocation});
      if (in_product) gradients.drop(called, bytes, distinct, change);
      sink.add({.place = place_of(context, copy),
                .allocation = copy,
                .bytes = bytes,
                .when = {p.allocations.time[copy], end}},
               change, in_product ? kInProduct : kAskedFor);
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const Occurrence& biggest = group.biggest();
    const std::string name(context.provenance.name(biggest.place.op));
    const Contents contents(context);
    const Copied copied = contents.copied(biggest.allocation);
    Description words;
    if (!copied.parts.empty()) {
      words.notes.push_back("The biggest repeats " + layout_text(context.text, copied.parts[0].layout) + ", of which " +
                            std::to_string(distinct_bytes(context.text, copied.parts[0].layout).value) +
                            " bytes are different elements.");
    }
    if (group.variant == kInProduct) {
      words.title = "broadcast " + name + " saves the expanded copy";
      words.message =
          "The batch dimensions of the two sides differ, so PyTorch expands them and copies every "
          "repetition before it multiplies. The product needs none of the copies.";
      words.fix = {FixKind::advice,
                   "",
                   {},
                   "Fold the dimensions that only one side has into that side's rows or columns and multiply once, or "
                   "write the product as torch.einsum. The sums may be added up in another order."};
    } else {
      words.severity = Severity::info;
      words.title = "expanded copy of a smaller tensor (" + name + ")";
      words.message =
          "The result holds every element of its source several times over. If what reads it takes a view "
          "with strides of 0, expand() alone is enough.";
      words.is_proved = false;
      words.fix = {FixKind::advice, "", {}, "Use expand() without the copy, and let broadcasting do the rest."};
    }
    return words;
  }

 private:
  // The gradient of an expanded input has the size of the copy before it is summed up.
  class Gradients {
   public:
    explicit Gradients(const Context& context) : context_(context) {}

    void drop(OperatorId called, Bytes bytes, Bytes distinct, peak::WhatIf& change) {
      const Process& p = context_.process;
      if (evaluations_.empty()) evaluations_ = last_evaluations(p);
      // Nodes of the operators inside the product.
      for (OperatorId op = called; op.value <= p.operators.rows() && p.operators.begin[op] <= p.operators.end[called];
           ++op.value) {
        if (context_.provenance.called(op) != called) continue;
        for (const NodeId node : context_.provenance.nodes(op)) {
          const EvaluationId evaluation = evaluations_[node.value];
          if (evaluation && name_of(node) == "BmmBackward0") drop_in(evaluation, bytes, distinct, change);
        }
      }
    }

   private:
    std::string_view name_of(NodeId node) const { return context_.text.string(context_.process.nodes.type[node]); }

    void drop_in(EvaluationId evaluation, Bytes bytes, Bytes distinct, peak::WhatIf& change) const {
      const Process& p = context_.process;
      const auto& times = p.allocations.time.raw;
      const auto begin = static_cast<uint64_t>(p.evaluations.begin[evaluation].ns);
      auto at = std::ranges::lower_bound(times.begin() + 1, times.end(), begin);
      for (; at != times.end() && *at < static_cast<uint64_t>(p.evaluations.end[evaluation].ns); ++at) {
        const AllocationId gradient{static_cast<uint32_t>(at - times.begin())};
        if (p.allocations.evaluation[gradient] != evaluation || p.allocations.bytes[gradient] != bytes) continue;
        change.ends.push_back({gradient, Time{p.allocations.time[gradient].ns - 1}});
        change.extras.push_back({gradient, {p.allocations.time[gradient], p.freed(gradient)}, distinct});
      }
    }

    const Context& context_;
    std::vector<EvaluationId> evaluations_;  // by node: its last evaluation
  };
};

}  // namespace

}  // namespace tapelens::check

TAPELENS_CHECKS(tapelens::check::ExpandedSave)
