#include "analyzer/model/attribution.h"

#include <string_view>

#include "analyzer/model/operator_names.h"
#include "trace/record.h"

namespace tapelens::model {
namespace {

// "layer1.conv" of the path "Net.layer1.conv". The root module's own name is not part of parameter names.
std::string_view inside_of_root(std::string_view path) {
  const size_t dot = path.find('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
}

// "layer1.conv" of "layer1.conv.weight"; empty for a parameter of the root itself.
std::string_view module_part(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

}  // namespace

// The function is defined in torch/autograd/graph.py.
bool is_engine_call(const Text& text, StackId stack) {
  const auto frames = text.stack(stack);
  return !frames.empty() && text.string(text.frame_function[frames.front()]).ends_with("_engine_run_backward");
}

namespace {

// The operator that made the node under evaluation. A sound recording made it earlier than any operator in the
// evaluation; the comparison keeps the walk finite in a damaged one.
OperatorId maker(const Process& p, EvaluationId evaluation, uint32_t before) {
  if (!evaluation) return {};
  const OperatorId op = p.nodes.op[p.evaluations.node[evaluation]];
  return op.value < before ? op : OperatorId{};
}

// The operator that `op` inherits from: its parent, unless an evaluation began between the two.
OperatorId outwards(const Process& p, OperatorId op) {
  const OperatorId parent = p.operators.parent[op];
  const EvaluationId evaluation = p.operators.evaluation[op];
  if (parent && p.operators.evaluation[parent] == evaluation) return parent;
  const OperatorId made = maker(p, evaluation, op.value);
  return made ? made : parent;
}

// Walks outwards from an operator until `found` returns a value.
template <class Found>
auto walk(const Process& p, OperatorId op, Found found) -> decltype(found(op)) {
  while (op) {
    if (const auto answer = found(op)) return answer;
    op = outwards(p, op);
  }
  return {};
}

StackId telling_stack(const Process& p, const Text& text, OperatorId op) {
  const StackId own = p.operators.stack[op];
  return is_engine_call(text, own) ? StackId{} : own;
}
ModuleId own_module(const Process& p, OperatorId op) {
  const ModuleCallId call = p.operators.module_call[op];
  return call ? p.module_calls.module[call] : ModuleId{};
}

}  // namespace

StackId stack_of(const Process& p, const Text& text, OperatorId op) {
  if (const StackId stack = walk(p, op, [&](OperatorId at) { return telling_stack(p, text, at); })) return stack;
  return walk(p, op, [&p](OperatorId at) { return p.operators.stack[at]; });
}

ModuleCallId outermost_call(const Process& p, OperatorId op) {
  return p.module_calls.outermost[p.operators.module_call[op]];
}

ModuleId module_of(const Process& p, OperatorId op) {
  return walk(p, op, [&p](OperatorId at) { return own_module(p, at); });
}

namespace {
StackId stack_of(const Process& p, const Text& text, StackId own, OperatorId op, EvaluationId evaluation) {
  if (own && !is_engine_call(text, own)) return own;
  const StackId of_operator = stack_of(p, text, op);
  if (of_operator && !is_engine_call(text, of_operator)) return of_operator;
  if (const StackId stack = stack_of(p, text, maker(p, evaluation, UINT32_MAX))) return stack;
  return own ? own : of_operator;
}
}  // namespace

StackId stack_of(const Process& p, const Text& text, AllocationId allocation) {
  const Allocations& t = p.allocations;
  return stack_of(p, text, t.stack[allocation], t.op[allocation], t.evaluation[allocation]);
}

StackId stack_of(const Process& p, const Text& text, ValueReadId read) {
  const ValueReads& t = p.value_reads;
  return stack_of(p, text, t.stack[read], t.op[read], t.evaluation[read]);
}

StackId stack_of(const Process& p, const Text& text, OutOfMemoryId request) {
  const StackId own = p.out_of_memory.stack[request];
  return own ? own : stack_of(p, text, p.out_of_memory.op[request]);
}

ModuleId module_of(const Process& p, OutOfMemoryId request) {
  const ModuleCallId call = p.out_of_memory.module_call[request];
  return call ? p.module_calls.module[call] : module_of(p, p.out_of_memory.op[request]);
}

ModuleId module_of(const Process& p, AllocationId allocation) {
  if (const ModuleCallId call = p.allocations.module_call[allocation]) return p.module_calls.module[call];
  if (const ModuleId module = module_of(p, p.allocations.op[allocation])) return module;
  return module_of(p, maker(p, p.allocations.evaluation[allocation], UINT32_MAX));
}

bool is_unpacked(const Process& p, AllocationId allocation) {
  return (p.evaluations.flags[p.allocations.evaluation[allocation]] & trace::kEvaluationUnpacks) != 0;
}

namespace {
// The kernel that Inductor allocated the memory for; none for other allocations.
StringId kernel_of(const Process& p, const Text& text, AllocationId allocation) {
  const auto frames = text.stack(p.allocations.stack[allocation]);
  if (frames.empty()) return {};
  const StringId function = text.frame_function[frames.front()];
  return text.string(function).starts_with(trace::kInductor) ? function : StringId{};
}
}  // namespace

StringId operator_name_of(const Process& p, const Text& text, AllocationId allocation) {
  if (const StringId kernel = kernel_of(p, text, allocation)) return kernel;
  if (const ImportedFactsId facts = p.imported_facts.of(allocation)) {
    const StringId imported = p.imported_facts.op[facts];
    return imported ? imported : p.imported_facts.node[facts];
  }
  const OperatorId op = p.allocations.op[allocation];
  if (op && !is_engine_operator(text, p.operators.name[op])) return p.operators.name[op];
  const StringId type = p.nodes.type[p.evaluations.node[p.allocations.evaluation[allocation]]];
  return type || !op ? type : p.operators.name[op];
}

StringId called_name_of(const Process& p, const Text& text, AllocationId allocation) {
  if (const StringId kernel = kernel_of(p, text, allocation)) return kernel;
  if (const ImportedFactsId facts = p.imported_facts.of(allocation)) {
    const StringId imported = p.imported_facts.called[facts];
    return imported ? imported : p.imported_facts.node[facts];
  }
  OperatorId op = p.allocations.op[allocation];
  const Operators& o = p.operators;
  for (OperatorId around = op; (around = o.parent[around]);) {
    if (o.evaluation[around] != o.evaluation[op] || is_transparent(text, o.name[around])) break;
    op = around;
  }
  return op && !is_transparent(text, o.name[op]) ? o.name[op] : operator_name_of(p, text, allocation);
}

bool is_engine_operator(const Text& text, StringId name) { return is_engine_operator(text.string(name)); }

bool is_transparent(const Text& text, StringId name) { return is_transparent(text.string(name)); }

ParameterModules::ParameterModules(const Process& process, const Text& text) {
  const Roles& roles = process.roles;
  if (roles.rows() == 0) return;
  // No module if models of different classes have one of that name.
  std::unordered_map<std::string_view, ModuleId> by_name;
  for (uint32_t row = 1; row <= text.module_path.rows(); ++row) {
    const ModuleId id{row};
    const std::string_view path = text.string(text.module_path[id]);
    const auto [at, fresh] = by_name.try_emplace(inside_of_root(path), id);
    if (!fresh && at->second && text.string(text.module_path[at->second]) != path) at->second = {};
  }
  const auto place = [&](AllocationId allocation, StringId name) {
    if (!allocation) return;
    const auto at = by_name.find(module_part(text.string(name)));
    if (at != by_name.end() && at->second) module_.try_emplace(allocation.value, at->second);
  };
  for (uint32_t row = 1; row <= roles.rows(); ++row) {
    const RoleId role{row};
    if (roles.kind[role] == Role::parameter || roles.kind[role] == Role::buffer)
      place(roles.allocation[role], roles.name[role]);
  }
  for (uint32_t row = 1; row <= roles.rows(); ++row) {
    const RoleId role{row};
    if (roles.kind[role] != Role::gradient && roles.kind[role] != Role::optimizer_state) continue;
    const AllocationId allocation = roles.allocation[role];
    if (const ModuleId module = of(roles.parameter[role]); module && allocation)
      module_.try_emplace(allocation.value, module);
  }
}

ModuleId ParameterModules::of(AllocationId allocation) const {
  const auto at = module_.find(allocation.value);
  return at == module_.end() ? ModuleId{} : at->second;
}

}  // namespace tapelens::model
