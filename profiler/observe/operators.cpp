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

void begin_operator(Thread& thread, const at::RecordFunction& function, Frame& frame, bool is_recorded) {
  frame.name = function.name();
  OperatorName& name = operator_name(thread, function);
  // Python frames are between this operator and the enclosing one only if the latter may run Python.
  const bool from_python = python_is_innermost(thread);
  // Operators below an operator on fake tensors share its stack. A compiler's stacks are deep, and a walk for each
  // inner operator made recording a compilation slow.
  frame.is_traced =
      (!thread.frames.empty() && thread.frames.back().is_traced) || (name.runs_python && has_fake_tensors());
  frame.runs_python = name.runs_python && !frame.is_traced;
  if (is_recorded) {
    frame.own_stack = from_python ? stack_here(thread) : thread.frames.back().stack;
    if (from_python) safe_point(thread, SafePoint::begin);
    frame.recorded = record::operator_begins(thread, function, name, frame.own_stack);
  } else if (g_follows_modules && from_python) {
    stack_here(thread);
  }
  if (g_rewrites) frame.rewrite_mark = rewrite::operator_begins(thread, function, name);
}

void begin_evaluation(Thread& thread, Frame& frame) {
  torch::autograd::Node* node = torch::autograd::get_current_node().get();
  if (node == nullptr) return;
  frame.node = node;
  const NodeType& type = node_type(thread, *node);
  // A post-accumulate-grad hook, by which an optimizer may step during backward.
  frame.runs_python = type.is_custom || (type.is_accumulate_grad && node->tensor_post_acc_grad_hooks() != nullptr);
  frame.recorded = record::evaluation_begins(thread, *node, !torch::autograd::get_current_graph_task_keep_graph());
}

void begin_followed(Thread& thread, const at::RecordFunction& function, Frame& frame, bool is_recorded) {
  // Nodes made outside of any operator (by a C++ custom function) are complete now.
  if (!inside_operator(thread)) {
    settle_graph(thread, thread.frames.empty() ? Frame{} : thread.frames.back());
    frame.nodes = static_cast<uint32_t>(thread.nodes.size());
    frame.saves = thread.saves;
    if (g_rewrites) rewrite::sweep(*thread.rewriting);
  }
  if (is_recorded && !thread.frames.empty() && thread.frames.back().unpacks && !thread.frames.back().recorded) {
    thread.frames.back().recorded = record::unpacking_begins(thread);
  }
  frame.is_followed = true;
  switch (function.scope()) {
    case at::RecordScope::BACKWARD_FUNCTION:
      if (is_recorded) begin_evaluation(thread, frame);
      break;
    case at::RecordScope::USER_SCOPE:
      frame.runs_python = true;
      if (is_recorded) record::range_begins(thread, function.name());
      frame.recorded = is_recorded;
      break;
    default:
      begin_operator(thread, function, frame, is_recorded);
  }
}

// Member by member: a copy of the whole would use wide loads of recent narrow stores, which stall.
void push(std::vector<Frame>& frames, const Frame& frame) {
  [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = frame;  // copy any new member, too
  Frame& top = frames.emplace_back();
  top.nodes = frame.nodes;
  top.saves = frame.saves;
  top.scope = frame.scope;
  top.runs_python = frame.runs_python;
  top.is_traced = frame.is_traced;
  top.is_followed = frame.is_followed;
  top.unpacks = frame.unpacks;
  top.node = frame.node;
  top.name = frame.name;
  top.modules = frame.modules;
  top.stack = frame.stack;
  top.own_stack = frame.own_stack;
  top.recorded = frame.recorded;
  top.rewrite_mark = frame.rewrite_mark;
  top.simulated_mark = frame.simulated_mark;
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  const Mode now = mode();
  if (now == Mode::off) return nullptr;
  Thread& thread = this_thread();
  if (now >= Mode::memory && cuda::g_waits.load(std::memory_order_relaxed)) cuda::operator_begins(thread);
  Frame frame{static_cast<uint32_t>(thread.nodes.size()), thread.saves, function.scope()};
  frame.modules = static_cast<uint32_t>(thread.modules.size());
  if (!thread.busy && follows_graph(now)) {
    Busy busy(thread);
    begin_followed(thread, function, frame, now == Mode::full);
  }
  // Outside of --steps: needed for the stack of allocations. The first operator also starts the watch on optimizers.
  if (!thread.busy && now == Mode::memory && thread.frames.empty()) {
    Busy busy(thread);
    frame.stack = stack_here(thread);
  }
  if (g_simulates && !thread.executes_on_cpu && is_operator(function.scope())) {
    const bool was_busy = thread.busy;
    thread.busy = true;
    frame.name = function.name();  // the operator may read unknown values, which are recorded with its name
    frame.simulated_mark = fake_kernels::operator_begins(thread, function, operator_name(thread, function));
    thread.busy = was_busy;
  }
  push(thread.frames, frame);
  return nullptr;
}

void end_recorded(Thread& thread, const at::RecordFunction& function, const Frame& frame) {
  switch (function.scope()) {
    case at::RecordScope::BACKWARD_FUNCTION:
      if (frame.node->sequence_nr() == UINT64_MAX && node_type(thread, *frame.node).is_accumulate_grad) {
        record::gradient_accumulated(thread, *frame.node);
      }
      end_module_calls(thread, frame.modules);
      record::evaluation_ends(thread);
      break;
    case at::RecordScope::USER_SCOPE:
      record::range_ends(thread);
      break;
    default:
      record::operator_ends(thread);
  }
}

void end_followed(Thread& thread, const at::RecordFunction& function, const Frame& frame) {
  thread.settling_stack = frame.own_stack;
  if (frame.rewrite_mark != 0) rewrite::operator_ends(thread, function, frame.rewrite_mark);
  settle_graph(thread, frame);
  if (mode() == Mode::full && is_operator(frame.scope) && python_is_innermost(thread) && has_modes()) [[unlikely]]
    run_guarded([&] { record::held_by_checkpointing(thread, checkpointed_tensors(thread)); });
  if (frame.recorded && is_recording()) end_recorded(thread, function, frame);
}

void end(const at::RecordFunction& function, at::ObserverContext*) {
  if (mode() == Mode::off) return;
  Thread& thread = this_thread();
  if (thread.frames.empty()) return;
  const Frame frame = thread.frames.back();
  thread.frames.pop_back();
  if (!frame.is_followed && frame.simulated_mark == 0) return;
  const bool was_busy = thread.busy;  // always report the end, because the begin was reported
  thread.busy = true;
  if (frame.simulated_mark != 0) fake_kernels::operator_ends(thread, function, frame.simulated_mark);
  if (frame.is_followed) end_followed(thread, function, frame);
  if (!was_busy && mode() == Mode::full && is_operator(frame.scope) && python_is_innermost(thread)) {
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
    if (thread.frames.empty() || inside_engine(thread)) return callbacks;
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
