#include "plugins/expanded-save/filled.h"

#include <algorithm>

namespace tapelens::check::expanded {

namespace {

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

}  // namespace

std::vector<Filled> find_filled(const Context& context, const Contents& contents, Bytes least, int64_t ratio) {
  const Finder finder(context, contents, ratio);
  std::vector<Filled> found;
  for (const AllocationId allocation : context.allocations(least)) {
    if (const Filled filled = finder.filled(allocation); filled.allocation) found.push_back(filled);
  }
  return found;
}

}  // namespace tapelens::check::expanded
