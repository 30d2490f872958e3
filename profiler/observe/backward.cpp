// Records backwards that the engine runs, and the program's saved-tensor hooks during a backward.
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>

#include "profiler/observe/graph.h"
#include "profiler/observe/hooks.h"
#include "profiler/observe/named_tensors.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/stack.h"
#include "profiler/observe/variables.h"

namespace tapelens::observe {
namespace {

using torch::autograd::edge_list;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;
using ExecuteFunction = variable_list (*)(torch::autograd::Engine*, const edge_list&, const variable_list&, bool, bool,
                                          bool, const edge_list&);
static_assert(std::is_same_v<decltype(&torch::autograd::Engine::execute),
                             variable_list (torch::autograd::Engine::*)(const edge_list&, const variable_list&, bool,
                                                                        bool, bool, const edge_list&)>);
ExecuteFunction g_execute;
variable_list execute(torch::autograd::Engine* engine, const edge_list& roots, const variable_list& inputs,
                      bool keep_graph, bool create_graph, bool accumulate_grad, const edge_list& outputs) {
  struct Backward {
    Backward(const edge_list& edges, bool keeps_graph, bool creates_graph) {
      const Mode now = mode();
      if (now == Mode::off) return;
      Thread& thread = this_thread();
      if (thread.busy) return;
      OpenCall open_call;
      open_call.scope = at::RecordScope::BACKWARD_FUNCTION;
      open_call.runs_python = true;  // between evaluations: hooks on tensors and nodes
      if (follows_graph(now)) {
        Busy busy(thread);
        run_guarded([&] {
          settle_graph(thread, thread.open_calls.empty() ? OpenCall{} : thread.open_calls.back());
          if (g_rewrites) rewrite::backward_begins(*thread.rewriting);
          if (now == Mode::full) open_call.stack = stack_here(thread);  // also ends finished module calls
          if (now == Mode::full && !in_backward(thread)) {
            search_before_backward(thread);
            safe_point(thread, SafePoint::begin);
          }
        });
      }
      if (is_recording()) run_guarded([&] { record::backward_begins(thread, edges, keeps_graph, creates_graph); });
      open_call.nodes = static_cast<uint32_t>(thread.nodes.size());
      open_call.saves = thread.saves;
      thread.open_calls.push_back(open_call);
      open = true;
    }
    ~Backward() {
      if (!open || mode() == Mode::off) return;
      Thread& thread = this_thread();
      run_guarded([&] { settle_graph(thread, thread.open_calls.back()); });
      thread.open_calls.pop_back();
      if (mode() == Mode::full && python_is_innermost(thread)) safe_point(thread, SafePoint::end);
      if (is_recording()) record::backward_ends(thread);
      if (g_rewrites && !in_backward(thread)) {
        Busy busy(thread);
        run_guarded([&] { rewrite::backward_ended(*thread.rewriting); });
      }
    }
    bool open = false;
  } const backward(roots, keep_graph, create_graph);
  variable_list gradients = g_execute(engine, roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
  // Gradients of fake tensors have no values: a compiler traces.
  if (!accumulate_grad && backward.open && mode() == Mode::full && record::wants_step_values() && !has_fake_tensors()) {
    Thread& thread = this_thread();
    Busy busy(thread);
    run_guarded([&] { record::gradients_returned(thread, outputs, gradients); });
  }
  return gradients;
}

// The program's hook unpacks a save: it recomputes it (checkpointing), or copies it back to its device. The hook is the
// program's code, with its own stacks and module calls, even during the evaluation of a node.
class Unpacking {
 public:
  explicit Unpacking(const SavedVariable& saved) {
    if (mode() != Mode::full || !saved.has_hooks()) return;
    Thread& thread = this_thread();
    if (thread.busy || !inside_evaluation(thread)) return;
    OpenCall open_call;
    open_call.nodes = static_cast<uint32_t>(thread.nodes.size());
    open_call.saves = thread.saves;
    open_call.modules = static_cast<uint32_t>(thread.modules.size());
    open_call.scope = at::RecordScope::USER_SCOPE;
    open_call.runs_python = open_call.unpacks = true;
    run_guarded([&] {
      thread.open_calls.push_back(open_call);
      open_ = true;
    });
  }
  ~Unpacking() {
    if (!open_ || mode() == Mode::off) return;
    Thread& thread = this_thread();
    const OpenCall open_call = thread.open_calls.back();
    run_guarded([&] { settle_graph(thread, open_call); });
    thread.open_calls.pop_back();
    if (!is_recording()) return;
    end_module_calls(thread, open_call.modules);
    if (open_call.recorded) record::evaluation_ends(thread);
  }
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;

 private:
  bool open_ = false;
};

// The PyTorch version decides whether nodes are counted by intrusive or by shared pointers.
template <class NodePointer>
struct Unpack {
  using Function = at::Tensor (*)(const SavedVariable*, NodePointer);
  static inline Function original = nullptr;
  static at::Tensor call(const SavedVariable* saved, NodePointer node) {
    const Unpacking unpacking(*saved);
    return original(saved, std::move(node));
  }
};
template <class NodePointer>
Unpack<NodePointer> unpack_of(at::Tensor (SavedVariable::*)(NodePointer) const);
using UnpackSave = decltype(unpack_of(&SavedVariable::unpack));

}  // namespace

bool is_in_backward() { return torch::autograd::get_current_graph_task_id() != -1 || in_backward(this_thread()); }

void watch_backward() {
  g_execute = real<ExecuteFunction>(TAPELENS_engine_execute);
  g_inject->replace(TAPELENS_engine_execute, reinterpret_cast<void*>(&execute));
  for (const tapelens_symbol symbol : {TAPELENS_unpack, TAPELENS_unpack_shared}) {
    if (g_inject->real(symbol) == nullptr) continue;
    UnpackSave::original = real<UnpackSave::Function>(symbol);
    g_inject->replace(symbol, reinterpret_cast<void*>(&UnpackSave::call));
  }
}

}  // namespace tapelens::observe
