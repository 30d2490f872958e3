// The dispatch keys of modes, which see an operator before its kernel.
#pragma once

#include <c10/core/DispatchKeySet.h>

namespace tapelens::observe {

// The keys that a mode of a thread adds to every call: a TorchDispatchMode, torch.func, make_fx, torch.jit.trace.
inline constexpr c10::DispatchKeySet kModeKeys({
    c10::DispatchKey::Python,
    c10::DispatchKey::PythonTLSSnapshot,
    c10::DispatchKey::PreDispatch,
    c10::DispatchKey::PythonDispatcher,
    c10::DispatchKey::Functionalize,
    c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
    c10::DispatchKey::FuncTorchDynamicLayerBackMode,
    c10::DispatchKey::FuncTorchVmapMode,
    c10::DispatchKey::VmapMode,
    c10::DispatchKey::Tracer,
});

}  // namespace tapelens::observe
