// Every operator with its inputs, every labelled range, and every evaluation of a node, as LibTorch tells its
// observers.
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/graph_task.h>

#include "profiler/observe/capture.h"
#include "profiler/observe/graph.h"
#include "profiler/record/intern.h"
#include "profiler/observe/stack.h"
#include "profiler/record/storage.h"

namespace tapelens::capture {
namespace {

using trace::RecordKind;

// Calls take(tensor, address of its storage, number of the argument) for each input that has a storage.
template <class Take>
void each_input(Thread& thread, c10::ArrayRef<const c10::IValue> inputs, Take take) {
  const auto one = [&](const at::Tensor& tensor, size_t argument) {
    if (!tensor.defined()) return;
    const uint64_t address = storage_of(thread, *tensor.unsafeGetTensorImpl()).address;
    if (address != 0) take(tensor, address, argument);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].isTensor()) {
      one(inputs[i].toTensor(), i);
    } else if (inputs[i].isList()) {
      for (const c10::IValue& element : inputs[i].toListRef()) {
        if (!element.isTensor()) break;  // a list of numbers; of optional tensors, None is a tensor that is undefined
        one(element.toTensor(), i);
      }
    }
  }
}

struct Inputs {
  size_t count = 0;      // that there are; the first `room` of them are filled in
  uint32_t written = 0;  // as OperatorRecord says
};
Inputs inputs_of(Thread& thread, const at::RecordFunction& function, uint32_t written, uint64_t* addresses,
                 size_t room) {
  Inputs found;
  each_input(thread, function.inputs(), [&](const at::Tensor&, uint64_t address, size_t argument) {
    if (found.count < room) addresses[found.count] = address;
    if ((written >> std::min<size_t>(argument, 31) & 1) != 0) found.written |= 1U << std::min<size_t>(found.count, 31);
    ++found.count;
  });
  return found;
}

void write_views(Thread& thread, const at::RecordFunction& function, size_t count) {
  constexpr size_t kMost = trace::kBlockPayloadBytes / sizeof(trace::InputView) - 8;
  if (count == 0 || count > kMost) return;  // concatenations of thousands: copies of none
  // Layouts are written before what names them.
  std::vector<trace::InputView> views;
  views.reserve(count);
  each_input(thread, function.inputs(), [&](const at::Tensor& tensor, uint64_t, size_t) {
    const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
    const uint32_t layout = intern_layout(thread, impl);
    const auto offset = layout != 0 ? impl.sym_storage_offset_default().maybe_as_int() : std::nullopt;
    views.push_back({layout, 0, offset ? static_cast<uint64_t>(*offset) : 0});
  });
  size_t bytes;
  if (auto* record = reserve<trace::InputViewsRecord>(thread, RecordKind::input_views, 0, 0, 2 * views.size(), bytes)) {
    record->ticks = trace::ticks_now();
    std::ranges::copy(views, reinterpret_cast<trace::InputView*>(record + 1));
    thread.lane.commit(bytes);
  }
}

// A cheap operator in place in a part of a storage: what it makes is not all that the storage holds.
bool writes_a_part(const at::RecordFunction& function) {
  const auto inputs = function.inputs();
  if (inputs.empty() || !inputs[0].isTensor() || !inputs[0].toTensor().defined()) return false;
  const c10::TensorImpl& impl = *inputs[0].toTensor().unsafeGetTensorImpl();
  if (!impl.has_storage() || impl.has_symbolic_sizes_strides() || impl.is_python_dispatch()) return false;
  const auto nbytes = impl.unsafe_storage().sym_nbytes().maybe_as_int();
  return nbytes && *nbytes != impl.numel() * static_cast<int64_t>(impl.itemsize());
}

void write_operator(Thread& thread, const at::RecordFunction& function, Frame& frame) {
  const Thread::Name& name = intern_name(thread, function);
  // Python stands between this operator and the one around it only where that one may run Python.
  const bool from_python = thread.frames.empty() || thread.frames.back().runs_python;
  const uint32_t name_id = name.id, name_written = name.written;
  const bool has_views = name.has_views || (name.is_cheap_in_place && writes_a_part(function));
  frame.runs_python = name.runs_python;
  const uint32_t stack = from_python ? stack_here(thread) : thread.frames.back().stack;
  frame.own_stack = stack;

  constexpr size_t kRoom = 24;
  uint64_t few[kRoom];
  std::vector<uint64_t> many;
  const uint64_t* addresses = few;
  Inputs inputs = inputs_of(thread, function, name_written, few, kRoom);
  if (inputs.count > kRoom) {
    many.resize(inputs.count);
    inputs = inputs_of(thread, function, name_written, many.data(), inputs.count);
    constexpr size_t kMost = trace::kBlockPayloadBytes / 8 - 64;
    if (inputs.count > kMost) {
      g_spool.count(trace::Loss::truncated_text, inputs.count - kMost);
      inputs.count = kMost;
    }
    addresses = many.data();
  }
  size_t bytes;
  const uint8_t flags =
      function.scope() == at::RecordScope::FUNCTION && name.runs_python ? trace::kOperatorIsPythonFunction : 0;
  if (auto* record =
          reserve<trace::OperatorRecord>(thread, RecordKind::operator_begin, flags, name_id, inputs.count, bytes)) {
    record->ticks = trace::ticks_now();
    record->sequence_nr = static_cast<uint64_t>(function.seqNr());
    record->stack = stack;
    record->written = inputs.written;
    std::copy_n(addresses, inputs.count, reinterpret_cast<uint64_t*>(record + 1));
    thread.lane.commit(bytes);
    frame.recorded = true;
    if (has_views) write_views(thread, function, inputs.count);
  }
}

void begin_evaluation(Thread& thread, Frame& frame) {
  torch::autograd::Node* node = torch::autograd::get_current_node().get();
  if (node == nullptr) return;
  const NodeType& type = node_type(thread, *node);
  frame.node = node;
  frame.runs_python = type.is_custom;
  const uint8_t flags = torch::autograd::get_current_graph_task_keep_graph() ? 0 : trace::kEvaluationReleases;
  frame.recorded = thread.lane.write(trace::EvaluationRecord{
      header<trace::EvaluationRecord>(RecordKind::evaluation_begin, flags), trace::ticks_now(), address_of(node)});
}

// What rewrites want to know of a call before it changes anything.
void begin_rewritten(Thread& thread, const at::RecordFunction& function, Frame& frame) {
  const Thread::Name& name = intern_name(thread, function);
  frame.runs_python = name.runs_python;
  if (!rewrite::wants_calls()) return;
  frame.is_watched = true;
  frame.written = static_cast<uint32_t>(thread.rewrites.written.size());
  if (name.cheap != nullptr) {
    thread.rewrites.calls.push_back(rewrite::begin(*name.cheap, function));
    frame.is_call = true;
  }
  if (name.is_collective) {  // what it writes its schema need not say
    for (const c10::IValue& input : function.inputs()) rewrite::begin_collective(input);
    return;
  }
  if (name.product != recompute::Product::none) rewrite::product(name.product, function);
  if (name.written == 0) return;
  size_t argument = 0;
  for (const c10::IValue& input : function.inputs()) {
    if ((name.written >> std::min<size_t>(argument++, 31) & 1) != 0) rewrite::begin_write(thread.rewrites, input);
  }
}

void begin_followed(Thread& thread, const at::RecordFunction& function, Frame& frame, bool is_recorded) {
  // What was made outside of any operator (by a C++ custom function) is whole by now.
  if (!inside_operator(thread)) {
    settle_graph(thread, thread.frames.empty() ? Frame{} : thread.frames.back());
    frame.nodes = static_cast<uint32_t>(thread.nodes.size());
    frame.saves = static_cast<uint32_t>(thread.saves.size());
    if (g_rewrites) rewrite::sweep(thread.rewrites);
  }
  if (!thread.frames.empty() && thread.frames.back().unpacks && !thread.frames.back().recorded && is_recorded) {
    thread.frames.back().recorded = thread.lane.write(trace::EvaluationRecord{
        header<trace::EvaluationRecord>(RecordKind::evaluation_begin, trace::kEvaluationUnpacks), trace::ticks_now(),
        0});
  }
  frame.is_followed = true;
  switch (function.scope()) {
    case at::RecordScope::BACKWARD_FUNCTION:
      if (is_recorded) begin_evaluation(thread, frame);
      break;
    case at::RecordScope::USER_SCOPE:
      frame.runs_python = true;
      if (is_recorded) write_event(thread, RecordKind::range_begin, intern_string(thread, function.name()));
      frame.recorded = is_recorded;
      break;
    default:
      frame.name = function.name();
      if (is_recorded) {
        write_operator(thread, function, frame);
      } else if (g_names_places && (thread.frames.empty() || thread.frames.back().runs_python)) {
        stack_here(thread);  // which module is being called
      }
      if (g_rewrites) begin_rewritten(thread, function, frame);
  }
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  const Mode now = mode();
  if (now == Mode::off) return nullptr;
  Thread& thread = this_thread();
  Frame frame{static_cast<uint32_t>(thread.nodes.size()), static_cast<uint32_t>(thread.saves.size()), function.scope()};
  frame.modules = static_cast<uint32_t>(thread.modules.size());
  if (!thread.busy && follows_graph(now)) {
    Busy busy(thread);
    begin_followed(thread, function, frame, now == Mode::full);
  }
  // Outside of --steps: who made what is alive, and the first operator brings in the watch on optimizers.
  if (!thread.busy && now == Mode::memory && thread.frames.empty()) {
    Busy busy(thread);
    frame.stack = stack_here(thread);
  }
  thread.frames.push_back(frame);
  return nullptr;
}

void write_end(Thread& thread, const at::RecordFunction& function, const Frame& frame) {
  switch (function.scope()) {
    case at::RecordScope::BACKWARD_FUNCTION:
      evaluation_ends(thread, *frame.node);
      end_module_calls(thread, frame.modules);
      write_event(thread, RecordKind::evaluation_end);
      break;
    case at::RecordScope::USER_SCOPE:
      write_event(thread, RecordKind::range_end);
      break;
    default:
      write_event(thread, RecordKind::operator_end);
  }
}

void end(const at::RecordFunction& function, at::ObserverContext*) {
  if (mode() == Mode::off) return;
  Thread& thread = this_thread();
  if (thread.frames.empty()) return;
  const Frame frame = thread.frames.back();
  thread.frames.pop_back();
  if (!frame.is_followed) return;
  const bool was_busy = thread.busy;  // ends are written whatever happens: their begin was
  thread.busy = true;
  thread.settling_stack = frame.own_stack;
  if (frame.is_watched) rewrite::end_writes(thread.rewrites, frame.written);
  if (frame.is_call && !thread.rewrites.calls.empty()) {
    rewrite::Call call = std::move(thread.rewrites.calls.back());
    thread.rewrites.calls.pop_back();
    rewrite::end(std::move(call), function, thread.rewrites.calls.empty());
  }
  settle_graph(thread, frame);
  if (frame.recorded && is_recording()) write_end(thread, function, frame);
  thread.busy = was_busy;
}

// LibTorch asks, for each operator, who wants to observe it. We answer in its place: ours, and whoever it would have
// named. As a registered callback we would be copied, under a lock, at each node that is evaluated, and be seen by the
// program.
bool observes(at::RecordScope scope) {
  if (scope == at::RecordScope::FUNCTION || scope == at::RecordScope::TORCHSCRIPT_FUNCTION) return true;
  // Rewrites know a backward by itself.
  return is_recording() && (scope == at::RecordScope::BACKWARD_FUNCTION || scope == at::RecordScope::USER_SCOPE);
}

void add_ourselves(at::StepCallbacks& callbacks, at::RecordScope scope) {
  callbacks.callbacks_.push_back({begin, end});
  // An evaluation's inputs are of no use here, and would be copied into a list first.
  if (scope == at::RecordScope::BACKWARD_FUNCTION) return;
  const bool is_called = g_rewrites && rewrite::wants_calls();
  if (is_called || mode() == Mode::full) callbacks.needs_inputs_ = true;
  if (is_called) callbacks.needs_outputs_ = true;
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
  // The engine would announce each node a second time, as an operator named "evaluate_function: ".
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

}  // namespace tapelens::capture
