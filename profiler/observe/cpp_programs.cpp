// C++ programs: the parameters and buffers of torch::nn modules by name, and the steps and state of torch::optim
// optimizers. Python has separate modules and optimizers; see python_hooks.py.
#include <c10/util/Type.h>
#include <torch/nn/module.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/steps.h"

namespace tapelens::observe {
namespace {

using torch::nn::Module;
using torch::optim::Optimizer;

// "torch::optim::Adam" -> "Adam"
std::string class_name(const std::type_info& type) {
  std::string name = c10::demangle(type.name());
  if (const size_t colon = name.rfind("::"); colon != std::string::npos) name.erase(0, colon + 2);
  return name;
}

void tell_role(Thread& thread, Role role, std::string_view name, const at::Tensor& tensor,
               const c10::TensorImpl* parameter) {
  record::role_told(thread, role, name, *tensor.unsafeGetTensorImpl(), parameter);
}

// A C++ program calls Module::parameters() to make an optimizer: the hook learns the parameters' names here.
using Parameters = std::vector<at::Tensor> (*)(const Module*, bool);
Parameters g_parameters;
std::vector<at::Tensor> parameters(const Module* module, bool recurse) {
  if (is_recording()) {
    Thread& thread = this_thread();
    for (const auto& item : module->named_parameters(recurse))
      if (item.value().defined()) tell_role(thread, Role::parameter, item.key(), item.value(), nullptr);
    for (const auto& item : module->named_buffers(recurse))
      if (item.value().defined()) tell_role(thread, Role::buffer, item.key(), item.value(), nullptr);
  }
  return g_parameters(module, recurse);
}

// A second optimizer of one class gets a number: "Adam" and "Adam#2".
std::string optimizer_name(const Optimizer* optimizer) {
  static auto* lock = new base::Mutex;
  static auto* names TAPELENS_PT_GUARDED_BY(*lock) = new std::unordered_map<const Optimizer*, std::string>;
  static auto* counts TAPELENS_PT_GUARDED_BY(*lock) = new std::unordered_map<std::string, int>;
  const base::MutexLock guard(*lock);
  std::string& name = (*names)[optimizer];
  if (name.empty()) {
    const std::string kind = class_name(typeid(*optimizer));
    const int count = ++(*counts)[kind];
    name = count == 1 ? kind : kind + "#" + std::to_string(count);
  }
  return name;
}

void tell_state(Thread& thread, const c10::TensorImpl* parameter, const char* name, const at::Tensor& tensor) {
  if (tensor.defined()) tell_role(thread, Role::optimizer_state, name, tensor, parameter);
}

template <class State>
void tell_moments(Thread& thread, const c10::TensorImpl* parameter, const State& state) {
  tell_state(thread, parameter, "exp_avg", state.exp_avg());
  tell_state(thread, parameter, "exp_avg_sq", state.exp_avg_sq());
  tell_state(thread, parameter, "max_exp_avg_sq", state.max_exp_avg_sq());
}

// The history belongs to all parameters, and is kept with the first.
void tell_history(Thread& thread, const c10::TensorImpl* parameter, const torch::optim::LBFGSParamState& state) {
  tell_state(thread, parameter, "d", state.d());
  tell_state(thread, parameter, "H_diag", state.H_diag());
  tell_state(thread, parameter, "prev_flat_grad", state.prev_flat_grad());
  for (const at::Tensor& tensor : state.old_dirs()) tell_state(thread, parameter, "old_dirs", tensor);
  for (const at::Tensor& tensor : state.old_stps()) tell_state(thread, parameter, "old_stps", tensor);
  for (const at::Tensor& tensor : state.ro()) tell_state(thread, parameter, "ro", tensor);
  if (state.al().has_value())
    for (const at::Tensor& tensor : *state.al()) tell_state(thread, parameter, "al", tensor);
}

void tell_states(Thread& thread, Optimizer& optimizer) {
  for (const auto& [key, state] : optimizer.state()) {
    const auto* parameter = static_cast<const c10::TensorImpl*>(key);
    if (const auto* adam = dynamic_cast<torch::optim::AdamParamState*>(state.get())) {
      tell_moments(thread, parameter, *adam);
    } else if (const auto* adamw = dynamic_cast<torch::optim::AdamWParamState*>(state.get())) {
      tell_moments(thread, parameter, *adamw);
    } else if (const auto* sgd = dynamic_cast<torch::optim::SGDParamState*>(state.get())) {
      tell_state(thread, parameter, "momentum_buffer", sgd->momentum_buffer());
    } else if (const auto* rmsprop = dynamic_cast<torch::optim::RMSpropParamState*>(state.get())) {
      tell_state(thread, parameter, "square_avg", rmsprop->square_avg());
      tell_state(thread, parameter, "momentum_buffer", rmsprop->momentum_buffer());
      tell_state(thread, parameter, "grad_avg", rmsprop->grad_avg());
    } else if (const auto* adagrad = dynamic_cast<torch::optim::AdagradParamState*>(state.get())) {
      tell_state(thread, parameter, "sum", adagrad->sum());
    } else if (const auto* lbfgs = dynamic_cast<torch::optim::LBFGSParamState*>(state.get())) {
      const auto& groups = optimizer.param_groups();
      const bool is_of_one = groups.size() == 1 && groups.front().params().size() == 1;
      tell_history(thread, is_of_one ? parameter : nullptr, *lbfgs);
    }
  }
}

void tell_values(Optimizer& optimizer, ParameterValues of) {
  if (!record::wants_step_values()) return;
  for (const auto& group : optimizer.param_groups())
    for (const at::Tensor& parameter : group.params())
      if (parameter.defined()) record::step_values(this_thread(), of, parameter.unsafeGetTensorImpl());
}

template <tapelens_symbol symbol, class Kind>
struct Step {
  using Function = at::Tensor (*)(Kind*, Optimizer::LossClosure);
  static_assert(std::is_same_v<decltype(&Kind::step), at::Tensor (Kind::*)(Optimizer::LossClosure)>);
  static inline Function original = nullptr;

  static at::Tensor call(Kind* optimizer, Optimizer::LossClosure closure) {
    if (!is_recording()) return original(optimizer, std::move(closure));
    const std::string name = optimizer_name(optimizer);
    const bool has_closure = static_cast<bool>(closure);  // then its backward is inside the step
    tell_values(*optimizer, ParameterValues::gradient);
    optimizer_begins(this_thread(), name);
    at::Tensor loss = original(optimizer, std::move(closure));
    if (is_recording()) {
      Thread& thread = this_thread();
      tell_states(thread, *optimizer);
      if (has_closure) tell_values(*optimizer, ParameterValues::gradient);
      tell_values(*optimizer, ParameterValues::own);
      optimizer_ends(thread, name);
    }
    return loss;
  }
  static void watch() {
    original = reinterpret_cast<Function>(g_inject->real(symbol));
    if (original != nullptr) g_inject->replace(symbol, reinterpret_cast<void*>(&call));
  }
};

}  // namespace

void watch_cpp_programs() {
  g_parameters = reinterpret_cast<Parameters>(g_inject->real(TAPELENS_module_parameters));
  g_inject->replace(TAPELENS_module_parameters, reinterpret_cast<void*>(&parameters));
  Step<TAPELENS_adagrad_step, torch::optim::Adagrad>::watch();
  Step<TAPELENS_adam_step, torch::optim::Adam>::watch();
  Step<TAPELENS_adamw_step, torch::optim::AdamW>::watch();
  Step<TAPELENS_lbfgs_step, torch::optim::LBFGS>::watch();
  Step<TAPELENS_rmsprop_step, torch::optim::RMSprop>::watch();
  Step<TAPELENS_sgd_step, torch::optim::SGD>::watch();
}

}  // namespace tapelens::observe
