#include "analyzer/model/attribution.h"

namespace tapelens::model {

namespace {

// The operator that made the node under evaluation: always an earlier one than what runs in the evaluation. A recording
// that says otherwise must not make the walk endless.
OperatorId maker(const Process& p, EvaluationId evaluation, uint32_t before) {
  if (!evaluation) return {};
  const OperatorId op = p.nodes.op[p.evaluations.node[evaluation]];
  return op.value < before ? op : OperatorId{};
}

// From an operator outwards, until `found` answers something.
template <class Found>
auto walk(const Process& p, OperatorId op, Found found) -> decltype(found(op)) {
  while (op) {
    if (const auto answer = found(op)) return answer;
    const OperatorId parent = p.operators.parent[op];
    op = parent ? parent : maker(p, p.operators.evaluation[op], op.value);
  }
  return {};
}

StackId own_stack(const Process& p, OperatorId op) { return p.operators.stack[op]; }
ModuleId own_module(const Process& p, OperatorId op) {
  const ModuleCallId call = p.operators.module_call[op];
  return call ? p.module_calls.module[call] : ModuleId{};
}

}  // namespace

StackId stack_of(const Process& p, OperatorId op) {
  return walk(p, op, [&p](OperatorId at) { return own_stack(p, at); });
}

ModuleId module_of(const Process& p, OperatorId op) {
  return walk(p, op, [&p](OperatorId at) { return own_module(p, at); });
}

StackId stack_of(const Process& p, AllocationId allocation) {
  if (const StackId own = p.allocations.stack[allocation]) return own;
  if (const StackId stack = stack_of(p, p.allocations.op[allocation])) return stack;
  return stack_of(p, maker(p, p.allocations.evaluation[allocation], UINT32_MAX));
}

ModuleId module_of(const Process& p, AllocationId allocation) {
  if (const ModuleCallId call = p.allocations.module_call[allocation]) return p.module_calls.module[call];
  if (const ModuleId module = module_of(p, p.allocations.op[allocation])) return module;
  return module_of(p, maker(p, p.allocations.evaluation[allocation], UINT32_MAX));
}

StringId operator_name_of(const Process& p, AllocationId allocation) {
  if (const OperatorId op = p.allocations.op[allocation]) return p.operators.name[op];
  if (const EvaluationId evaluation = p.allocations.evaluation[allocation]) {
    return p.nodes.type[p.evaluations.node[evaluation]];
  }
  return {};
}

}  // namespace tapelens::model
