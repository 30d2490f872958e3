// Observes every operator, labelled range and evaluation of a node, by LibTorch's observer interface.
#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/graph_task.h>

#include <algorithm>
#include <cstring>

#include "profiler/observe/graph.h"
#include "profiler/observe/hooks.h"
#include "profiler/observe/named_tensors.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/stack.h"
#include "profiler/observe/variables.h"

namespace tapelens::observe {
namespace {

bool is_operator(at::RecordScope scope) {
  return scope == at::RecordScope::FUNCTION || scope == at::RecordScope::TORCHSCRIPT_FUNCTION;
}

uint32_t written_arguments(const at::RecordFunction& function) {
  const auto schema = function.operator_schema();
  if (!schema) return 0;
  uint32_t written = 0;
  for (size_t i = 0; i < schema->arguments().size(); ++i) {
    const c10::AliasInfo* alias = schema->arguments()[i].alias_info();
    if (alias != nullptr && alias->isWrite()) written |= 1U << std::min<size_t>(i, 31);
  }
  return written;
}

// Compares the content: the memory of a name may later have another name.
OperatorName& operator_name(Thread& thread, const at::RecordFunction& function) {
  const char* text = function.name();
  OperatorName& name = thread.names[slot_of(address_of(text), thread.names.size())];
  if (name.text == text && std::strncmp(name.copy, text, sizeof name.copy) == 0 &&
      name.copy[sizeof name.copy - 1] == '\0')
    return name;
  name.text = text;
  std::strncpy(name.copy, text, sizeof name.copy);  // a longer name has no zero at the end: always looked up
  // LibTorch's own operators run no Python; a torch.autograd.Function or a custom operator may.
  name.runs_python = std::strncmp(text, "aten::", 6) != 0 && std::strncmp(text, "prim::", 6) != 0;
  name.written = written_arguments(function);
  name.recorded = nullptr;
  name.rewritten = nullptr;
  name.values = nullptr;
  return name;
}

void begin_operator(Thread& thread, const at::RecordFunction& function, OpenCall& open_call, bool is_recorded) {
  if (g_rewrites) rewrite::give_memory(function);
  OperatorName& name = operator_name(thread, function);
  open_call.name = name.text;
  // Python frames are between this operator and the enclosing one only if the latter may run Python.
  const bool from_python = python_is_innermost(thread);
  // Operators below an operator on fake tensors share its stack. A compiler's stacks are deep, and a walk for each
  // inner operator made recording a compilation slow.
  open_call.is_traced =
      (!thread.open_calls.empty() && thread.open_calls.back().is_traced) || (name.runs_python && has_fake_tensors());
  open_call.runs_python = name.runs_python && !open_call.is_traced;
  if (is_recorded) {
    open_call.own_stack = from_python ? stack_here(thread) : thread.open_calls.back().stack;
    if (from_python) safe_point(thread, SafePoint::begin);
    open_call.recorded = record::operator_begins(thread, function, name, open_call.own_stack);
  } else if (g_follows_modules && from_python) {
    stack_here(thread);
  }
  if (g_rewrites) open_call.rewrite_mark = rewrite::operator_begins(thread, function, name);
}

void begin_evaluation(Thread& thread, OpenCall& open_call) {
  torch::autograd::Node* node = torch::autograd::get_current_node().get();
  if (node == nullptr) return;
  open_call.node = node;
  const NodeType& type = node_type(thread, *node);
  // A post-accumulate-grad hook, by which an optimizer may step during backward.
  open_call.runs_python = type.is_custom || (type.is_accumulate_grad && node->tensor_post_acc_grad_hooks() != nullptr);
  open_call.recorded = record::evaluation_begins(thread, *node, !torch::autograd::get_current_graph_task_keep_graph());
}

void begin_followed(Thread& thread, const at::RecordFunction& function, OpenCall& open_call, bool is_recorded) {
  // Nodes made outside of any operator (by a C++ custom function) are complete now.
  if (!inside_operator(thread)) {
    settle_graph(thread, thread.open_calls.empty() ? OpenCall{} : thread.open_calls.back());
    open_call.nodes = static_cast<uint32_t>(thread.nodes.size());
    open_call.saves = thread.saves;
    if (g_rewrites) rewrite::sweep(*thread.rewriting);
  }
  if (is_recorded && !thread.open_calls.empty() && thread.open_calls.back().unpacks &&
      !thread.open_calls.back().recorded) {
    thread.open_calls.back().recorded = record::unpacking_begins(thread);
  }
  open_call.is_followed = true;
  switch (function.scope()) {
    case at::RecordScope::BACKWARD_FUNCTION:
      if (is_recorded) begin_evaluation(thread, open_call);
      break;
    case at::RecordScope::USER_SCOPE:
      open_call.runs_python = true;
      if (is_recorded) record::range_begins(thread, function.name());
      open_call.recorded = is_recorded;
      break;
    default:
      begin_operator(thread, function, open_call, is_recorded);
  }
}

// Member by member: a copy of the whole would use wide loads of recent narrow stores, which stall.
void push(std::vector<OpenCall>& open_calls, const OpenCall& open_call) {
  [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = open_call;  // copy any new member, too
  OpenCall& top = open_calls.emplace_back();
  top.nodes = open_call.nodes;
  top.saves = open_call.saves;
  top.scope = open_call.scope;
  top.runs_python = open_call.runs_python;
  top.is_traced = open_call.is_traced;
  top.is_followed = open_call.is_followed;
  top.unpacks = open_call.unpacks;
  top.node = open_call.node;
  top.name = open_call.name;
  top.modules = open_call.modules;
  top.stack = open_call.stack;
  top.own_stack = open_call.own_stack;
  top.recorded = open_call.recorded;
  top.rewrite_mark = open_call.rewrite_mark;
  top.simulated_mark = open_call.simulated_mark;
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  const Mode now = mode();
  if (now == Mode::off) return nullptr;
  Thread& thread = this_thread();
  if (now >= Mode::memory && cuda::g_waits.load(std::memory_order_relaxed)) cuda::operator_begins(thread);
  OpenCall open_call{static_cast<uint32_t>(thread.nodes.size()), thread.saves, function.scope()};
  open_call.modules = static_cast<uint32_t>(thread.modules.size());
  if (!thread.busy && follows_graph(now)) {
    Busy busy(thread);
    begin_followed(thread, function, open_call, now == Mode::full);
  }
  // Outside of --steps: needed for the stack of allocations. The first operator also starts the watch on optimizers.
  if (!thread.busy && now == Mode::memory && thread.open_calls.empty()) {
    Busy busy(thread);
    open_call.stack = stack_here(thread);
  }
  if (g_simulates && !thread.executes_on_cpu && is_operator(function.scope())) {
    const bool was_busy = thread.busy;
    thread.busy = true;
    open_call.name = function.name();  // the operator may read unknown values, which are recorded with its name
    open_call.simulated_mark = fake_kernels::operator_begins(thread, function, operator_name(thread, function));
    thread.busy = was_busy;
  }
  push(thread.open_calls, open_call);
  return nullptr;
}

void end_recorded(Thread& thread, const at::RecordFunction& function, const OpenCall& open_call) {
  switch (function.scope()) {
    case at::RecordScope::BACKWARD_FUNCTION:
      if (open_call.node->sequence_nr() == UINT64_MAX && node_type(thread, *open_call.node).is_accumulate_grad) {
        record::gradient_accumulated(thread, *open_call.node);
      }
      end_module_calls(thread, open_call.modules);
      record::evaluation_ends(thread);
      break;
    case at::RecordScope::USER_SCOPE:
      record::range_ends(thread);
      break;
    default:
      record::operator_ends(thread);
  }
}

void end_followed(Thread& thread, const at::RecordFunction& function, const OpenCall& open_call) {
  thread.settling_stack = open_call.own_stack;
  if (open_call.rewrite_mark != 0) rewrite::operator_ends(thread, function, open_call.rewrite_mark);
  settle_graph(thread, open_call);
  if (mode() == Mode::full && is_operator(open_call.scope) && python_is_innermost(thread) && has_modes()) [[unlikely]]
    run_guarded([&] { record::held_by_checkpointing(thread, checkpointed_tensors(thread)); });
  if (open_call.recorded && is_recording()) end_recorded(thread, function, open_call);
}

void end(const at::RecordFunction& function, at::ObserverContext*) {
  if (mode() == Mode::off) return;
  Thread& thread = this_thread();
  if (thread.open_calls.empty()) return;
  const OpenCall open_call = thread.open_calls.back();
  thread.open_calls.pop_back();
  if (!open_call.is_followed && open_call.simulated_mark == 0) return;
  const bool was_busy = thread.busy;  // always report the end, because the begin was reported
  thread.busy = true;
  if (open_call.simulated_mark != 0) fake_kernels::operator_ends(thread, function, open_call.simulated_mark);
  if (open_call.is_followed) end_followed(thread, function, open_call);
  if (!was_busy && mode() == Mode::full && is_operator(open_call.scope) && python_is_innermost(thread)) {
    safe_point(thread, SafePoint::end);
  }
  thread.busy = was_busy;
}

// LibTorch collects the observers of each operator. This replaces that function and adds ours to its own result. A
// registered callback would be copied, under a lock, at each evaluation of a node, and would be visible to the program.
bool observes(at::RecordScope scope) {
  if (g_simulates && this_thread().executes_on_cpu) return false;
  if (is_operator(scope)) return true;
  // The rewrites notice a backward without an observer.
  return is_recording() && (scope == at::RecordScope::BACKWARD_FUNCTION || scope == at::RecordScope::USER_SCOPE);
}

void add_ourselves(at::StepCallbacks& callbacks, at::RecordScope scope) {
  callbacks.callbacks_.push_back({begin, end});
  // An evaluation's inputs are not used, and LibTorch would first copy them into a list.
  if (scope == at::RecordScope::BACKWARD_FUNCTION) return;
  const bool is_called = g_rewrites && rewrite::wants_calls();
  if (is_called || g_simulates || mode() == Mode::full) callbacks.needs_inputs_ = true;
  if (is_called || g_simulates) callbacks.needs_outputs_ = true;
}

using UnlessEmpty = decltype(&at::getStepCallbacksUnlessEmpty);
UnlessEmpty g_unless_empty;
std::optional<at::StepCallbacks> step_callbacks_unless_empty(at::RecordScope scope) {
  auto callbacks = g_unless_empty(scope);
  if (mode() != Mode::off && observes(scope)) {
    if (!callbacks) callbacks.emplace(at::RecordFunction::currentThreadId(), scope);
    add_ourselves(*callbacks, scope);
  }
  return callbacks;
}

using StepCallbacks = decltype(&at::getStepCallbacks);
StepCallbacks g_step_callbacks;
at::StepCallbacks step_callbacks(at::RecordScope scope) {
  auto callbacks = g_step_callbacks(scope);
  if (mode() == Mode::off || !observes(scope)) return callbacks;
  // The engine would report each node a second time, as an operator named "evaluate_function: ".
  if (scope == at::RecordScope::FUNCTION && torch::autograd::get_current_graph_task_id() != -1) {
    const Thread& thread = this_thread();
    if (thread.open_calls.empty() || inside_engine(thread)) return callbacks;
  }
  add_ourselves(callbacks, scope);
  return callbacks;
}

}  // namespace

void watch_operators() {
  g_unless_empty = reinterpret_cast<UnlessEmpty>(g_inject->real(TAPELENS_step_callbacks_unless_empty));
  g_step_callbacks = reinterpret_cast<StepCallbacks>(g_inject->real(TAPELENS_step_callbacks));
  g_inject->replace(TAPELENS_step_callbacks_unless_empty, reinterpret_cast<void*>(&step_callbacks_unless_empty));
  g_inject->replace(TAPELENS_step_callbacks, reinterpret_cast<void*>(&step_callbacks));
}

}  // namespace tapelens::observe
