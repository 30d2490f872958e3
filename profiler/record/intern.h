// Interns strings, layouts and stacks, and writes each to the spool at its first use. One lock guards the tables; a
// thread takes it only on a miss in its own cache. Stacks: observers.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "profiler/record/thread_state.h"

namespace tapelens::record {

uint32_t intern_string(ThreadState& thread, std::string_view text);
// The same for texts with few different values: the thread caches them.
uint32_t intern_attributes(ThreadState& thread, std::string_view text);

// dtype, sizes and strides. 0 for tensors without strides (sparse, nested).
uint32_t intern_layout(ThreadState& thread, const c10::TensorImpl& tensor);

void write_information(ThreadState& thread, std::string_view key, std::string_view value);
void write_device(ThreadState& thread, uint8_t id, std::string_view name);

}  // namespace tapelens::record
