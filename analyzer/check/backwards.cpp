#include "analyzer/check/backwards.h"

#include <algorithm>

namespace tapelens::check {
namespace {

// backward() and grad() make the gradient that they begin with just before.
bool makes_gradient(const Text& text, StackId stack) {
  return std::ranges::any_of(text.stack(stack), [&](FrameId frame) {
    return text.string(text.frame_function[frame]).ends_with("_make_grads");
  });
}

}  // namespace

uint32_t backward_at(const Process& p, Time when) {
  const auto behind = std::ranges::upper_bound(p.backwards, when, {}, &Backward::begin);
  for (auto at = behind; at != p.backwards.begin();) {
    --at;
    if (at->contains(when)) return static_cast<uint32_t>(at - p.backwards.begin());
  }
  return kNoBackward;
}

StackId stack_of_backward(const Context& context, Time when) {
  const Process& p = context.process;
  const uint32_t at = backward_at(p, when);
  if (at == kNoBackward) return {};
  const Backward& backward = p.backwards[at];
  const auto& begins = p.operators.begin.raw;
  const auto first = std::lower_bound(begins.begin() + 1, begins.end(), static_cast<uint64_t>(backward.begin.ns));
  for (auto row = static_cast<uint32_t>(first - begins.begin()); row > 1; --row) {
    const OperatorId op{row - 1};
    if (p.operators.parent[op]) continue;
    if (makes_gradient(context.text, p.operators.stack[op])) return p.operators.stack[op];
    break;
  }
  for (auto row = static_cast<uint32_t>(first - begins.begin()); row < begins.size(); ++row) {
    const OperatorId op{row};
    if (p.operators.begin[op] >= backward.end) break;
    if (model::is_engine_call(context.text, p.operators.stack[op])) return p.operators.stack[op];
  }
  return {};
}

bool begins_backward(const Context& context, AllocationId allocation) {
  return std::ranges::any_of(context.provenance.uses(allocation), [&](OperatorId use) {
    return context.provenance.name(use) == "ones_like" &&
           makes_gradient(context.text, context.process.operators.stack[use]);
  });
}

}  // namespace tapelens::check
