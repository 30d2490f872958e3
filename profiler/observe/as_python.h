// While it lives, the dispatcher is as Python code of the program has it. A factory such as torch.randn() calls its
// operator without autograd; a handler of signals that the interpreter runs inside of our Python may train.
#pragma once

#include <c10/core/DispatchKeySet.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace tapelens::observe {

class AsPython {
 public:
  AsPython() {
    if (c10::InferenceMode::is_enabled()) return;  // it is the program that is without autograd
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
