// What every hook behind a stand-in of the preload library needs.
#pragma once

#include "profiler/observe/observers.h"
#include "profiler/observe/thread.h"

namespace tapelens::observe {

template <class Function>
Function real(tapelens_symbol symbol) {
  return reinterpret_cast<Function>(g_inject->real(symbol));
}

// No exception of ours reaches the program. None is expected: what it would have told is a loss.
template <class Hook>
void undisturbed(Hook hook) noexcept {
  try {
    hook();
  } catch (...) {
    if (is_recording()) record::hook_failed();
  }
}

}  // namespace tapelens::observe
