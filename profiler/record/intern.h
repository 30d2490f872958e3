// Gives strings, layouts and stacks their numbers, and writes each to the spool when it is first seen. The tables are
// behind one lock, which a thread takes only on a miss of its own cache. Stacks: observers.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "profiler/record/thread_state.h"

namespace tapelens::record {

uint32_t intern_string(ThreadState& thread, std::string_view text);
// The same, for texts of which a program has few: the thread remembers them.
uint32_t intern_attributes(ThreadState& thread, std::string_view text);

// dtype, sizes and strides. 0 for tensors without strides (sparse, nested).
uint32_t intern_layout(ThreadState& thread, const c10::TensorImpl& tensor);

void write_information(ThreadState& thread, std::string_view key, std::string_view value);
void write_mapping(ThreadState& thread, std::string_view path, uint64_t begin, uint64_t end, uint64_t bias);
void write_device(ThreadState& thread, uint8_t id, std::string_view name);

}  // namespace tapelens::record
