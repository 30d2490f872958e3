#include "plugins/operator-temporaries/trials.h"

#include <algorithm>
#include <tuple>

#include "analyzer/check/content.h"

namespace tapelens::check {
namespace {

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

}  // namespace

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

}  // namespace tapelens::check
