#include "analyzer/check/backwards.h"

#include <algorithm>
#include <set>

#include "trace/record.h"

namespace tapelens::check {
namespace {

// backward() and grad() make their initial gradient in _make_grads, just before the engine starts.
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

std::vector<bool> created_for_nothing(const Context& context, const Graphs& graphs) {
  const Process& p = context.process;
  struct Made {
    FrameId line;
    uint32_t first, end;  // nodes
  };
  const auto& made = p.nodes.time.raw;
  const auto node_at = [&](Time time) {
    const auto at = std::lower_bound(made.begin() + 1, made.end(), static_cast<uint64_t>(time.ns));
    return static_cast<uint32_t>(at - made.begin());
  };
  std::vector<Made> all;
  std::set<FrameId> needed;
  for (const Backward& backward : p.backwards) {
    if ((backward.flags & trace::kBackwardCreatesGraph) == 0 || backward.end == kNever) continue;
    const FrameId line = own_frame(context.text, stack_of_backward(context, backward.begin));
    all.push_back({line, node_at(backward.begin), node_at(backward.end)});
    for (uint32_t row = all.back().first; row < all.back().end && !needed.contains(line); ++row) {
      if (graphs.is_inner(NodeId{row}) && graphs.is_evaluated(NodeId{row})) needed.insert(line);
    }
  }
  std::vector<bool> for_nothing(size_t{p.nodes.rows()} + 1);
  for (const Made& one : all) {
    if (!one.line || needed.contains(one.line)) continue;
    for (uint32_t row = one.first; row < one.end; ++row) for_nothing[row] = graphs.is_inner(NodeId{row});
  }
  return for_nothing;
}

bool begins_backward(const Context& context, AllocationId allocation) {
  return std::ranges::any_of(context.provenance.uses(allocation), [&](OperatorId use) {
    return context.provenance.name(use) == "ones_like" &&
           makes_gradient(context.text, context.process.operators.stack[use]);
  });
}

}  // namespace tapelens::check
