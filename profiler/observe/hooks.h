// Helpers for every hook behind a stand-in of the preload library.
#pragma once

#include "profiler/observe/observers.h"
#include "profiler/observe/thread.h"

namespace tapelens::observe {

template <class Function>
Function real(tapelens_symbol symbol) {
  return reinterpret_cast<Function>(g_inject->real(symbol));
}

// Keeps our exceptions from the program. None is expected: the event of a hook that throws is counted as lost.
template <class Hook>
void run_guarded(Hook hook) noexcept {
  try {
    hook();
  } catch (...) {
    if (is_recording()) record::hook_failed();
  }
}

}  // namespace tapelens::observe
