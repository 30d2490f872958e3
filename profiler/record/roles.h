// The roles of tensors in a training, as other files need them.
#pragma once

#include <c10/core/TensorImpl.h>

#include <cstdint>

#include "profiler/record/thread_state.h"

namespace tapelens::record {

// The address that names a parameter in the recording: its storage's. For a wrapper subclass, which has no storage,
// that of its first inner tensor, once reported.
uint64_t parameter_address(ThreadState& thread, const c10::TensorImpl& parameter);

}  // namespace tapelens::record
