// Copies that repeat a smaller tensor: the expanded inputs of a broadcast matmul, and expand() made contiguous.
#include "analyzer/check/check.h"

#include <algorithm>
#include <array>

#include "analyzer/check/content.h"

namespace tapelens::check {

namespace {

constexpr std::array kOptions = {
    Option{"min-bytes", "64KiB", "smaller copies are ignored"},
    Option{"min-ratio", "2", "least ratio of the copy's size to the size of the repeated tensor"},
};

// The maker of the copy: PyTorch, inside a product that does not need it, or the program, which may need it.
// kFilled: the program, from a constant and a small tensor.
enum Variant : uint32_t { kInProduct = 0, kAskedFor = 1, kFilled = 2 };

// A tensor of which a constant and a small tensor define every element, such as the attention mask of each head.
struct Filled {
  AllocationId allocation;
  AllocationId constant;  // the input of the same size; none: the operator changed it in place
  AllocationId pattern;   // the small input
  Bytes distinct;         // at most so many bytes are different
};

constexpr int64_t kWidest = 8;  // bytes of an element

class Finder {
 public:
  Finder(const Context& context, const Contents& contents, int64_t ratio)
      : context_(context), contents_(contents), p_(context.process), ratio_(ratio) {}

  Filled filled(AllocationId allocation) const {
    if (contents_.has_role(allocation) || contents_.is_of_backward(allocation)) return {};
    const OperatorId maker = context_.provenance.maker(allocation);
    if (!maker || p_.freed(allocation) <= p_.operators.end[maker]) return {};
    if (pointwise_.has(p_.operators.name[maker])) return filled_by(allocation, maker);
    if (!constants_.has(p_.operators.name[maker])) return {};
    // A constant that one operator changes in place.
    OperatorId writer;
    for (const OperatorId op : context_.provenance.writers(allocation)) {
      const OperatorId called = context_.provenance.called(op);
      if (called == maker || called == writer) continue;
      if (writer) return {};
      writer = called;
    }
    return writer && pointwise_.has(p_.operators.name[writer]) ? filled_by(allocation, writer) : Filled{};
  }

 private:
  Filled filled_by(AllocationId allocation, OperatorId op) const {
    Filled filled{allocation, {}, {}, {}};
    const Bytes bytes = p_.allocations.bytes[allocation];
    bool is_constant = false;
    for (const uint32_t row : context_.provenance.inputs(op)) {
      const AllocationId input{row};
      if (!input) continue;
      if (input == allocation || is_unwritten_constant(input, op)) {
        is_constant |= p_.allocations.bytes[input].value * kWidest >= bytes.value;
        if (input != allocation) filled.constant = input;
      } else if (!filled.pattern || input == filled.pattern) {
        filled.pattern = input;
      } else {
        return {};  // two patterns, such as a row and a column, may differ in all elements
      }
    }
    if (!is_constant || !filled.pattern) return {};
    filled.distinct = Bytes{element_bytes(allocation) * p_.allocations.bytes[filled.pattern].value};
    const bool is_repeated = bytes.value >= ratio_ * filled.distinct.value;
    return is_repeated && contents_.is_unchanged(allocation, p_.operators.end[op], p_.freed(allocation)) ? filled
                                                                                                         : Filled{};
  }

  // The recording has the layouts of saved tensors only. An element of the pattern takes one byte or more.
  int64_t element_bytes(AllocationId allocation) const {
    for (const SaveId save : context_.provenance.saves(allocation)) {
      const LayoutId layout = p_.saves.layout[save];
      const uint64_t count = layout ? elements(context_.text, layout) : 0;
      if (count > 0) {
        return std::max<int64_t>(1, static_cast<int64_t>(context_.text.layout_bytes[layout].value / count));
      }
    }
    return kWidest;
  }

  bool is_unwritten_constant(AllocationId allocation, OperatorId until) const {
    const OperatorId maker = context_.provenance.maker(allocation);
    return maker && constants_.has(p_.operators.name[maker]) &&
           contents_.is_unchanged(allocation, p_.operators.end[maker], p_.operators.begin[until]);
  }

  const Context& context_;
  const Contents& contents_;
  const Process& p_;
  int64_t ratio_;
  const NameSet constants_{context_.text,
                           {"aten::zeros", "aten::ones", "aten::full", "aten::zeros_like", "aten::ones_like",
                            "aten::full_like", "aten::new_zeros", "aten::new_ones", "aten::new_full"}};
  const NameSet pointwise_{context_.text,
                           {"aten::masked_fill", "aten::masked_fill_", "aten::where", "aten::add", "aten::add_",
                            "aten::mul", "aten::mul_", "aten::sub", "aten::logical_and", "aten::logical_or",
                            "aten::__and__", "aten::__or__", "aten::bitwise_and", "aten::bitwise_or"}};
};

// In the order of time. A tensor counts if it is `ratio` times larger than its different elements.
std::vector<Filled> find_filled(const Context& context, const Contents& contents, Bytes least, int64_t ratio) {
  const Finder finder(context, contents, ratio);
  std::vector<Filled> found;
  for (const AllocationId allocation : context.allocations(least)) {
    if (const Filled filled = finder.filled(allocation); filled.allocation) found.push_back(filled);
  }
  return found;
}

class ExpandedSave final : public Check {
 public:
  CheckInfo info() const override {
    return {
        .id = "expanded-save",
        .title = "copies that repeat a smaller tensor",
        .help =
            "If the batch dimensions of two tensors differ, matmul expands both tensors and copies every repetition. "
            "Autograd then saves the copies. The product needs no copies: fold the dimensions that only one side "
            "has into its rows or columns, or use torch.einsum, which folds them. repeat(), and expand() "
            "followed by contiguous(), reshape() or clone(), also copy.",
        .options = kOptions};
  }

  void run(const Context& context, const Options& options, Sink& sink) override {
    const Process& p = context.process;
    const Contents contents(context);
    const NameSet products(context.text, {"aten::matmul", "aten::einsum", "aten::linear", "aten::tensordot",
                                          "aten::bilinear", "aten::_trilinear", "aten::__matmul__"});
    const NameSet copying(context.text, {"aten::clone", "aten::repeat", "aten::_reshape_copy", "aten::expand_copy"});
    const NameSet interleaving(context.text, {"aten::repeat_interleave"});
    const Bytes least = options.bytes("min-bytes");
    const int64_t ratio = std::max<int64_t>(2, options.number("min-ratio"));
    Gradients gradients(context);
    for (const AllocationId copy : context.allocations(least)) {
      const Bytes bytes = p.allocations.bytes[copy];
      if (contents.is_of_backward(copy)) continue;
      const OperatorId called = context.provenance.maker(copy);
      if (interleaving.has(p.operators.name[called])) {
        add_interleaved(context, contents, called, copy, ratio, sink);
        continue;
      }
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
    for (const Filled& filled : find_filled(context, contents, least, ratio)) {
      add_filled(context, filled, sink);
    }
  }

  Description describe(const Context& context, const Group& group) const override {
    const Occurrence& biggest = group.biggest();
    const std::string name(context.provenance.name(biggest.place.op));
    const Contents contents(context);
    const Copied copied = contents.copied(biggest.allocation);
    Description words;
    if (group.variant == kFilled) return describe_filled(context, group);
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
          "The result holds every element of its source several times. If its readers accept a view with strides of "
          "0, expand() alone is enough. A product can keep the repetitions in the rows of its other side.";
      words.is_proved = false;
      words.fix = {FixKind::advice, "", {}, "Use expand() without the copy, and let the operators broadcast."};
    }
    return words;
  }

 private:
  static void add_filled(const Context& context, const Filled& filled, Sink& sink) {
    const Process& p = context.process;
    const Interval life{p.allocations.time[filled.allocation], p.freed(filled.allocation)};
    peak::WhatIf change;
    change.never_make(p, filled.allocation);
    change.extras.push_back({filled.allocation, life, filled.distinct});
    if (filled.constant && context.provenance.uses(filled.constant).size() == 1) {
      change.never_make(p, filled.constant);
    }
    sink.add({.place = place_of(context, filled.allocation),
              .allocation = filled.allocation,
              .bytes = p.allocations.bytes[filled.allocation],
              .when = life,
              .number = filled.pattern.value},
             change, kFilled);
  }

  static Description describe_filled(const Context& context, const Group& group) {
    const Occurrence& biggest = group.biggest();
    const AllocationId pattern{static_cast<uint32_t>(biggest.number)};
    Description words;
    words.severity = Severity::info;
    words.title = "tensor that repeats a smaller mask (" + std::string(context.provenance.name(biggest.place.op)) + ")";
    words.message = "Its " + bytes_text(biggest.bytes) + " are a constant and a tensor of " +
                    bytes_text(context.process.allocations.bytes[pattern]) + ", repeated.";
    words.is_proved = false;
    words.fix.text =
        "Make it with size 1 in the repeated dimensions, torch.zeros(1, 1, n, n), and let broadcasting do the rest: "
        "scaled_dot_product_attention accepts such a mask. Make it once, not in each layer.";
    return words;
  }

  // The recording has no layout of the input, so its whole storage counts as different elements.
  static void add_interleaved(const Context& context, const Contents& contents, OperatorId called, AllocationId copy,
                              int64_t ratio, Sink& sink) {
    const Process& p = context.process;
    const auto inputs = context.provenance.inputs(called);
    const AllocationId source{inputs.empty() ? 0 : inputs.front()};
    const Time made = p.operators.end[called], end = p.freed(copy);
    const bool is_repeated = source && source != copy && end > made && p.allocations.device[source] == context.device &&
                             p.allocations.bytes[copy].value >= ratio * p.allocations.bytes[source].value;
    if (!is_repeated || !contents.is_unchanged(copy, made, end) || !contents.is_unchanged(source, made, end)) return;
    peak::WhatIf change;
    change.aliases.push_back({copy, source});
    sink.add({.place = place_of(context, copy),
              .allocation = copy,
              .bytes = p.allocations.bytes[copy],
              .when = {p.allocations.time[copy], end}},
             change, kAskedFor);
  }

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
      for (const AllocationId gradient : allocations_in(p, evaluation)) {
        if (p.allocations.evaluation[gradient] != evaluation || p.allocations.bytes[gradient] != bytes) continue;
        change.never_make(p, gradient);
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
