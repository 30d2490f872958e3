#include "analyzer/snapshot/stack_facts.h"

#include <algorithm>
#include <string>

#include "analyzer/model/text.h"

namespace tapelens::snapshot {

using trace::ImportedPhase;

namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Newer versions of Python qualify names: "Adam.step", "Optimizer.profile_hook_step.<locals>.wrapper".
bool is_function(std::string_view function, std::string_view name) {
  return function == name || (function.ends_with(name) && function[function.size() - name.size() - 1] == '.');
}

FrameSign sign_of_optimizer(std::string_view file, std::string_view function) {
  if (file.ends_with("/lr_scheduler.py") || file.ends_with("/swa_utils.py")) return FrameSign::python;
  if (file.ends_with("/optimizer.py")) {
    if (is_function(function, "wrapper")) return FrameSign::step_wrapper;
    return is_function(function, "zero_grad") ? FrameSign::zero_grad : FrameSign::python;
  }
  if (is_function(function, "_init_group")) return FrameSign::optimizer_state;
  return is_function(function, "step") ? FrameSign::optimizer_step : FrameSign::python;
}

FrameSign sign_of_module(std::string_view function) {
  if (is_function(function, "_call_impl")) return FrameSign::module_call;
  if (is_function(function, "_apply")) return FrameSign::module_moved;
  return is_function(function, "zero_grad") ? FrameSign::zero_grad : FrameSign::python;
}

FrameSign sign_of_python(std::string_view file, std::string_view function) {
  if (contains(file, "/torch/optim/")) return sign_of_optimizer(file, function);
  if (file.ends_with("/torch/nn/modules/module.py")) return sign_of_module(function);
  if (contains(file, "/torch/nn/modules/") && is_function(function, "__init__")) return FrameSign::module_made;
  // The thread that called the backward waits for the engine, or evaluates nodes itself.
  if (file.ends_with("/torch/autograd/graph.py") && is_function(function, "_engine_run_backward"))
    return FrameSign::engine;
  if (model::is_installed_frame(file) || model::is_library_frame(file, function)) return FrameSign::python;
  return is_function(function, "step") ? FrameSign::own_step : FrameSign::own;
}

}  // namespace

bool is_python(FrameSign sign) { return sign >= FrameSign::python; }

FrameSign sign_of(std::string_view file, std::string_view function) {
  if (model::is_python_frame(file)) {
    std::string path(file);
    std::ranges::replace(path, '\\', '/');
    return sign_of_python(path, function);
  }
  if (function.starts_with("at::_ops::")) return FrameSign::op;
  if (function.starts_with("at::cuda::") && (contains(function, "Workspace") || contains(function, "CUDABlasHandle")))
    return FrameSign::workspace;
  if (!function.starts_with("torch::autograd::")) return FrameSign::other;
  if (function.starts_with("torch::autograd::Engine::evaluate_function")) return FrameSign::engine;
  const bool is_node = !node_of(function).empty() || function.starts_with("torch::autograd::PyNode::apply");
  return is_node ? FrameSign::node : FrameSign::other;
}

void StackReader::add(FrameSign sign, trace::StringId name, bool accumulates) {
  facts_.is_known = true;
  if (is_python(sign)) return add_python(sign);
  if (sign == FrameSign::op && name && python_ == 0 && facts_.phase != ImportedPhase::backward) {
    if (!facts_.op) facts_.op = name;
    facts_.called = name;
  }
  if (facts_.phase == ImportedPhase::backward) return;
  facts_.is_workspace |= sign == FrameSign::workspace;
  if (sign == FrameSign::node) {
    facts_.node = name;  // the engine evaluates the outermost node
    accumulates_ = accumulates && python_ == 0;
  }
  if (sign != FrameSign::engine) return;
  // A hook may step an optimizer.
  if (facts_.phase == ImportedPhase::optimizer) return;
  facts_.phase = ImportedPhase::backward;
  facts_.accumulates = accumulates_;
  facts_.runs_python = python_ > 0;
  if (facts_.runs_python) facts_.node = {};  // the node does not own the results of a saved-tensor hook
  facts_.makes_module = facts_.makes_state = false;
}

void StackReader::add_python(FrameSign sign) {
  ++python_;
  const bool is_first_own = own_ == 0;
  const bool is_wrapped_step = own_ == 1 && last_is_own_step_;
  own_ += sign == FrameSign::own || sign == FrameSign::own_step ? 1 : 0;
  last_is_own_step_ = sign == FrameSign::own_step;
  if (facts_.phase == ImportedPhase::backward) return;
  // A step may call a closure of the program.
  const bool is_step = (sign == FrameSign::optimizer_step && is_first_own) ||
                       (sign == FrameSign::step_wrapper && (is_first_own || is_wrapped_step));
  if (is_step && facts_.phase == ImportedPhase::unknown) facts_.phase = ImportedPhase::optimizer;
  if (sign == FrameSign::module_call && facts_.phase == ImportedPhase::unknown) facts_.phase = ImportedPhase::forward;
  facts_.makes_state |= sign == FrameSign::optimizer_state && is_first_own;
  facts_.zeroes |= sign == FrameSign::zero_grad && is_first_own;
  facts_.makes_module |=
      (sign == FrameSign::module_moved && is_first_own) || (sign == FrameSign::module_made && python_ == 1);
}

}  // namespace tapelens::snapshot
