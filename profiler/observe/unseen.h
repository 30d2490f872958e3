// While it lives, the program does not see Python that the probe runs inside the program's work: no __torch_function__,
// no mode, no compiler, and no hook of the probe. Requires the GIL.
#pragma once

#include <ATen/PythonTorchFunctionTLS.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

#include <optional>

#include "profiler/observe/python_functions.h"
#include "profiler/observe/thread.h"

namespace tapelens::observe {

class Unseen {
 public:
  Unseen(const cpython::Python& api, Thread& thread)
      : api_(api),
        thread_(thread),
        was_busy_(thread.busy),
        functions_(at::impl::PythonTorchFunctionTLS::get_disabled_state()),
        set_eval_frame_(found(api, hook_function("set_eval_frame"))),
        compiler_(api, set_eval_frame_ == nullptr ? nullptr : api.CallOneArg(set_eval_frame_, api.none, nullptr)) {
    thread_.busy = true;
    at::impl::PythonTorchFunctionTLS::set_disabled_state(at::impl::TorchFunctionDisabledState::ALL_DISABLED);
    if (c10::impl::TorchDispatchModeTLS::any_modes_set()) {
      modes_ = c10::impl::TorchDispatchModeTLS::get_state();
      c10::impl::TorchDispatchModeTLS::set_state({});
    }
    if (!compiler_) api_.ErrClear();
  }
  ~Unseen() {
    if (modes_) c10::impl::TorchDispatchModeTLS::set_state(std::move(*modes_));
    at::impl::PythonTorchFunctionTLS::set_disabled_state(functions_);
    if (compiler_) {
      const cpython::Owned none(api_, api_.CallOneArg(set_eval_frame_, compiler_.get(), nullptr));
      if (!none) api_.ErrClear();
    }
    thread_.busy = was_busy_;
  }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;

 private:
  static cpython::PyObject* found(const cpython::Python& api, cpython::PyObject* object) {
    return object == api.none ? nullptr : object;
  }

  const cpython::Python& api_;
  Thread& thread_;
  bool was_busy_;
  at::impl::TorchFunctionDisabledState functions_;
  std::optional<c10::impl::TorchDispatchModeTLS> modes_;
  cpython::PyObject* set_eval_frame_;  // torch._dynamo's; null: this Python runs no compiler
  cpython::Owned compiler_;            // its previous setting
};

}  // namespace tapelens::observe
