// While it lives, operators that a rewrite runs are isolated from the program's state: no autograd, no autocast, no
// modes.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "profiler/observe/mode_keys.h"

namespace tapelens::rewrite {

struct Alone {
  at::AutoDispatchBelowADInplaceOrView below;
  c10::impl::ExcludeDispatchKeyGuard autocast{c10::autocast_dispatch_keyset};
  c10::impl::ExcludeDispatchKeyGuard modes{observe::kModeKeys};
  at::NoGradGuard no_grad;
};

}  // namespace tapelens::rewrite
