#include <algorithm>

#include "analyzer/check/content.h"
#include "plugins/reduced-intermediate/regions.h"

namespace tapelens::check::reduced {

namespace {

// Adds the temporaries of the log-softmax, such as a contiguous copy of logits that are a view.
void add_temporaries(const Context& context, Gathered& one) {
  const Process& p = context.process;
  const OperatorId called = context.provenance.maker(one.result);
  const auto add = [&](uint32_t row) {
    const AllocationId other{row};
    if (context.provenance.maker(other) != called) return false;
    const bool is_temporary = p.freed(other) <= p.operators.end[called];
    if (is_temporary && p.allocations.device[other] == context.device) one.temporaries.push_back(other);
    return true;
  };
  for (uint32_t row = one.result.value - 1; row > 0 && add(row);) --row;
  for (uint32_t row = one.result.value + 1; row <= p.allocations.rows() && add(row);) ++row;
}

}  // namespace

std::vector<Gathered> find_gathered(const Context& context, Bytes least) {
  const Process& p = context.process;
  const NameSet softmaxes(context.text, {"aten::_log_softmax"});
  const NameSet readers(context.text, {"aten::gather", "aten::index", "aten::take_along_dim", "aten::take",
                                       "aten::index_select", "aten::select", "aten::nll_loss", "aten::nll_loss_nd",
                                       "aten::nll_loss2d", "aten::nll_loss_forward", "aten::nll_loss2d_forward"});
  const NameSet views(context.text, {"aten::view", "aten::reshape", "aten::unsqueeze", "aten::squeeze", "aten::flatten",
                                     "aten::transpose", "aten::permute", "aten::t", "aten::slice", "aten::detach"});
  std::vector<Gathered> found;
  for (const AllocationId result : context.allocations(least)) {
    const OperatorId op = p.allocations.op[result];
    if (!op || !softmaxes.has(p.operators.name[op]) || !context.provenance.saves(result).empty()) continue;
    bool is_read = false, is_read_whole = p.freed(result) == kNever;
    for (const OperatorId use : context.provenance.uses(result)) {
      if (p.operators.begin[use] < p.operators.end[op]) continue;  // its own maker
      const StringId name = p.operators.name[use];
      is_read |= readers.has(name);
      is_read_whole |= !readers.has(name) && !views.has(name);
    }
    if (!is_read || is_read_whole) continue;
    Gathered one{result, op, 0, {}};
    add_temporaries(context, one);
    if (const auto layouts = context.provenance.input_layouts(op); !layouts.empty()) {
      const auto sizes = context.text.sizes(LayoutId{layouts.front()});
      if (sizes.size() > 1) one.rows = sizes.front();
    }
    found.push_back(one);
  }
  return found;
}

}  // namespace tapelens::check::reduced
