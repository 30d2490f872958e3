// The parts that tensors have in a training, as far as others write of them.
#pragma once

#include <c10/core/TensorImpl.h>

#include <cstdint>

#include "profiler/record/thread_state.h"

namespace tapelens::record {

// By which a parameter is named in the recording: the address of its storage; of a wrapper subclass, which has none, of
// the first tensor that it consists of, once that was told.
uint64_t parameter_address(ThreadState& thread, const c10::TensorImpl& parameter);

}  // namespace tapelens::record
