// While it lives, the dispatcher has the state that the program's Python code expects. A factory such as torch.randn()
// calls its operator without autograd. A signal handler that the interpreter runs inside our Python may train.
#pragma once

#include <c10/core/DispatchKeySet.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace tapelens::observe {

class AsPython {
 public:
  AsPython() {
    if (c10::InferenceMode::is_enabled()) return;  // the program itself disabled autograd
    c10::impl::LocalDispatchKeySet keys = before_;
    keys.excluded_ = keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
    c10::impl::_force_tls_local_dispatch_key_set(keys);
  }
  ~AsPython() { c10::impl::_force_tls_local_dispatch_key_set(before_); }
  AsPython(const AsPython&) = delete;
  AsPython& operator=(const AsPython&) = delete;

 private:
  const c10::impl::LocalDispatchKeySet before_ = c10::impl::tls_local_dispatch_key_set();
};

}  // namespace tapelens::observe
