// Steps the optimizer in the backward: the functions of LibTorch that rewrite.py needs. rewrite.py observes Python's
// optimizers. This file observes the reads of operators between the backward and the step, and decides whether a
// parameter may change early.
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "plugins/late-gradient/rewrite.py.h"
#include "plugins/late-gradient/rule.h"
#include "profiler/cpython/python.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/steps.h"
#include "profiler/rewrite/attempt.h"
#include "profiler/rewrite/foreach.h"
#include "profiler/rewrite/guards.h"
#include "profiler/rewrite/host.h"
#include "profiler/rewrite/operators.h"
#include "profiler/rewrite/python_part.h"
#include "profiler/rewrite/streams.h"

namespace tapelens::rewrite {
namespace {

using plugins::late_gradient::kRewrite;

using cpython::PyMethodDef;
using cpython::PyObject;
using cpython::Python;

// ---- state while the steps of an optimizer are observed

struct Watched {
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;  // keeps the address from being reused
  int watch;
  bool is_gradient;  // else a parameter with a complete gradient whose step is still to come
};
struct Watches {
  base::Mutex lock;
  std::unordered_map<const c10::StorageImpl*, Watched> storages TAPELENS_GUARDED_BY(lock);
  std::map<int, bool> stepping TAPELENS_GUARDED_BY(lock);  // by watch
  std::map<int, std::string> seen TAPELENS_GUARDED_BY(lock);
  at::CallbackHandle callback TAPELENS_GUARDED_BY(lock) = at::INVALID_CALLBACK_HANDLE;
};
Watches& watches() {
  static auto* made = new Watches;
  return *made;
}

const c10::StorageImpl* storage_of(const at::TensorBase& tensor) {
  return tensor.defined() ? tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl() : nullptr;
}

void look_at(Watches& w, const at::Tensor& tensor, bool in_backward) TAPELENS_REQUIRES(w.lock) {
  const auto at = w.storages.find(storage_of(tensor));
  if (at == w.storages.end() || w.stepping[at->second.watch]) return;
  // In the backward, only hooks could read a complete gradient. It may share its memory with incomplete ones.
  if (at->second.is_gradient && in_backward) return;
  std::string& seen = w.seen[at->second.watch];
  if (seen.empty()) {
    seen = at->second.is_gradient ? "something else reads the gradients"
                                  : "something reads the parameters before their step";
  }
}

// The reads of an operator were not observed, so no observed optimizer may step early.
void nothing_is_known() {
  Watches& w = watches();
  const base::MutexLock guard(w.lock);
  for (const auto& [number, is_stepping] : w.stepping) w.seen[number] = "an error inside Tapelens";
}

void look_at_inputs(const at::RecordFunction& function) {
  Watches& w = watches();
  const bool in_backward = torch::autograd::get_current_graph_task_id() != -1;
  const base::MutexLock guard(w.lock);
  for (const c10::IValue& input : function.inputs()) {
    if (input.isTensor()) {
      look_at(w, input.toTensor(), in_backward);
    } else if (input.isList()) {
      for (const c10::IValue& element : input.toListRef()) {
        if (!element.isTensor()) break;
        look_at(w, element.toTensor(), in_backward);
      }
    }
  }
}

std::unique_ptr<at::ObserverContext> operator_begins(const at::RecordFunction& function) {
  if (!attempt({kRewrite.id, kRewrite.level}, [&] { look_at_inputs(function); })) nothing_is_known();
  return nullptr;
}

void watch(int number, const at::TensorBase& tensor, bool is_gradient) {
  Watches& w = watches();
  const base::MutexLock guard(w.lock);
  const auto& storage = tensor.unsafeGetTensorImpl()->unsafe_storage();
  auto* impl = storage.unsafeGetStorageImpl();
  w.storages.insert_or_assign(
      impl, Watched{c10::weak_intrusive_ptr<c10::StorageImpl>(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(impl)),
                    number, is_gradient});
}

// ---- whether a parameter may be stepped now, in the backward

// The Python object of the parameter and its AccumulateGrad hold the parameter. Any other holder of it or of its memory
// saved it, and may still read it in this backward.
constexpr uint32_t kHoldersOfParameter = 2;

// The program has used one stream only: so nothing that it began earlier still reads the parameter when the step writes
// it. The host looks at the streams at each operator, so it knows them all.
const char* reason_of_streams(c10::Device device) {
  if (!streams::has_streams(device)) return nullptr;
  switch (streams::stream_use()) {
    case streams::StreamUse::ordinary:
      return nullptr;
    case streams::StreamUse::several:
      return "the program uses several streams";
    case streams::StreamUse::is_capturing:
      return "the backward is part of a CUDA graph";
  }
  return nullptr;
}

const char* reason_against(c10::TensorImpl* impl) {
  const auto parameter = tensor_of(impl);
  const at::Tensor& gradient = parameter.grad();
  if (!is_plain_moment() || !is_plain(parameter) || !is_plain(gradient)) {
    return "a parameter or its gradient is not an ordinary tensor";
  }
  if (const char* reason = reason_of_streams(parameter.device())) return reason;
  if (at::GradMode::is_enabled()) return "the backward makes a graph (create_graph=True)";
  if (torch::autograd::get_current_graph_task_keep_graph()) return "the graph is kept for another backward";
  if (at::autocast::is_autocast_enabled(parameter.device().type())) return "the backward runs under autocast";
  if (!gradient.storage().resizable()) return "something else reads the gradients";  // through numpy
  const auto accumulator = torch::autograd::impl::try_get_grad_accumulator(parameter);
  if (accumulator && !accumulator->post_hooks().empty()) return "the program has hooks on gradients";
  if (parameter.use_count() > kHoldersOfParameter + 1 || parameter.storage().use_count() > 1) {  // and this function
    return "the rest of the backward may still read the parameter";
  }
  return nullptr;
}

// ---- the functions that the Python part calls; `self` is unused

int number_at(PyObject* arguments, int argument) {
  const Python& api = *cpython::python();
  return static_cast<int>(api.AsLong(api.GetTupleItem(arguments, argument)));
}
c10::TensorImpl* tensor_from(PyObject* object) {
  return static_cast<c10::TensorImpl*>(cpython::python()->AsVoidPtr(object));
}
c10::TensorImpl* tensor_at(PyObject* arguments, int argument) {
  return tensor_from(cpython::python()->GetTupleItem(arguments, argument));
}
at::Tensor gradient_of(c10::TensorImpl* impl) { return tensor_of(impl).grad(); }

PyObject* begin(PyObject*, PyObject* number) {
  Watches& w = watches();
  const base::MutexLock guard(w.lock);
  w.stepping[static_cast<int>(cpython::python()->AsLong(number))] = false;
  if (w.callback == at::INVALID_CALLBACK_HANDLE) {
    w.callback = at::addGlobalCallback(
        at::RecordFunctionCallback(operator_begins).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  }
  return python_none();
}

PyObject* end(PyObject*, PyObject* number) {
  Watches& w = watches();
  const base::MutexLock guard(w.lock);
  const int watch = static_cast<int>(cpython::python()->AsLong(number));
  w.stepping.erase(watch);
  w.seen.erase(watch);
  std::erase_if(w.storages, [watch](const auto& entry) { return entry.second.watch == watch; });
  if (w.stepping.empty() && w.callback != at::INVALID_CALLBACK_HANDLE) {
    at::removeCallback(w.callback);
    w.callback = at::INVALID_CALLBACK_HANDLE;
  }
  return python_none();
}

PyObject* accumulated(PyObject*, PyObject* arguments) {  // number, parameter
  c10::TensorImpl* parameter = tensor_at(arguments, 1);
  if (parameter == nullptr) return nullptr;
  if (const char* reason = reason_against(parameter)) return python_text(reason);
  const int number = number_at(arguments, 0);
  watch(number, gradient_of(parameter), true);
  watch(number, tensor_of(parameter), false);
  return python_none();
}

// Begin and end of the optimizer's own step. After the step any code may read the parameters again.
PyObject* window(PyObject*, PyObject* arguments) {  // number, 1 or 0
  Watches& w = watches();
  const base::MutexLock guard(w.lock);
  const int number = number_at(arguments, 0);
  const bool begins = number_at(arguments, 1) != 0;
  w.stepping[number] = begins;
  if (!begins) {
    std::erase_if(w.storages,
                  [&](const auto& entry) { return entry.second.watch == number && !entry.second.is_gradient; });
  }
  return python_none();
}

PyObject* seen(PyObject*, PyObject* number) {
  Watches& w = watches();
  const base::MutexLock guard(w.lock);
  const auto at = w.seen.find(static_cast<int>(cpython::python()->AsLong(number)));
  return python_text(at != w.seen.end() ? at->second.c_str() : nullptr);
}

PyObject* may_step(PyObject*, PyObject* parameter) {
  c10::TensorImpl* impl = tensor_from(parameter);
  return impl != nullptr ? python_text(reason_against(impl)) : nullptr;
}

// Whether the parameter takes the same kernels alone as with others; None: it does.
PyObject* may_be_alone(PyObject*, PyObject* arguments) {  // number of tensors, parameter, gradient, state
  std::vector<at::Tensor> tensors;
  for (int i = 1; i <= number_at(arguments, 0); ++i) {
    tensors.push_back(tensor_of(tensor_at(arguments, i)));
  }
  const bool may = permits_foreach_kernels(tensors.front(), std::span(tensors).subspan(1));
  return python_text(may ? nullptr : "a gradient or state differs from its parameter in type or layout");
}

RewriteSite site_of(int number) { return {.operator_name = "Optimizer.step", .where = static_cast<uint64_t>(number)}; }

PyObject* stepping(PyObject*, PyObject* arguments) {  // number, parameter
  c10::TensorImpl* parameter = tensor_at(arguments, 1);
  if (parameter == nullptr) return nullptr;
  observe::steps_early(parameter);
  applied(kRewrite.id, kRewrite.level, site_of(number_at(arguments, 0)), gradient_of(parameter).nbytes(), 0);
  return python_none();
}

PyObject* tell_skipped(PyObject*, PyObject* arguments) {  // number, reason, bytes
  const Python& api = *cpython::python();
  const char* reason = api.AsUTF8(api.GetTupleItem(arguments, 1));
  if (reason == nullptr) return nullptr;
  skipped(kRewrite.id, kRewrite.level, site_of(number_at(arguments, 0)), reason,
          static_cast<uint64_t>(api.AsLong(api.GetTupleItem(arguments, 2))));
  return python_none();
}

PyObject* broken(PyObject*, PyObject* reason) {
  const char* why = cpython::python()->AsUTF8(reason);
  if (why == nullptr) return nullptr;
  observe::say(
      "late-gradient: " + std::string(why) +
      ", and parameters were stepped in the backward already: this step differs from that of the bare program");
  return python_none();
}

PyMethodDef g_functions[] = {
    {"tapelens_late_begin", guarded<begin>, cpython::kMethO, nullptr},
    {"tapelens_late_end", guarded<end>, cpython::kMethO, nullptr},
    {"tapelens_late_accumulated", guarded<accumulated>, cpython::kMethVarargs, nullptr},
    {"tapelens_late_window", guarded<window>, cpython::kMethVarargs, nullptr},
    {"tapelens_late_seen", guarded<seen>, cpython::kMethO, nullptr},
    {"tapelens_late_may_step", guarded<may_step>, cpython::kMethO, nullptr},
    {"tapelens_late_may_be_alone", guarded<may_be_alone>, cpython::kMethVarargs, nullptr},
    {"tapelens_late_stepping", guarded<stepping>, cpython::kMethVarargs, nullptr},
    {"tapelens_late_skipped", guarded<tell_skipped>, cpython::kMethVarargs, nullptr},
    {"tapelens_late_broken", guarded<broken>, cpython::kMethO, nullptr},
};

// ---- the first backward installs rewrite.py: by then the program has its optimizers

constinit PythonPart g_part = {.id = kRewrite.id,
                               .level = kRewrite.level,
                               .source = plugins::late_gradient::kPython,
                               .functions = g_functions,
                               .without_python = "optimizers of C++ programs are not rewritten",
                               .not_installed = "the optimizers of this PyTorch cannot be watched"};

std::unique_ptr<at::ObserverContext> node_begins(const at::RecordFunction&) {
  g_part.attempt();
  return nullptr;
}

class LateGradient final : public Rewrite {
 public:
  RewriteInfo info() const override { return kRewrite; }
  void install(const OperatorHost&) const override { g_part.bring_in(at::RecordScope::BACKWARD_FUNCTION, node_begins); }
};

}  // namespace
}  // namespace tapelens::rewrite

TAPELENS_REWRITES(tapelens::rewrite::LateGradient)
