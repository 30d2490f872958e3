// Gives strings, layouts and stacks their numbers, and writes each to the spool when it is first seen.
// The tables are behind one lock, which a thread takes only on a miss of its own cache.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "profiler/observe/thread.h"

namespace tapelens::capture {

uint32_t intern_string(Thread& thread, std::string_view text);
// The same, for texts of which a program has few: the thread remembers them.
uint32_t intern_attributes(Thread& thread, std::string_view text);

// What is known of the operator by its name, which stays at one address; checked by content.
const Thread::Name& intern_name(Thread& thread, const at::RecordFunction& function);

// dtype, sizes and strides. 0 for tensors without strides (sparse, nested).
uint32_t intern_layout(Thread& thread, const c10::TensorImpl& tensor);

uint32_t intern_module(Thread& thread, std::string_view path, std::string_view type);
std::string module_path(uint32_t module);

struct FrameText {
  std::string_view file, function;
  uint32_t line;
};

// A stack by a hash of its frames: 0 if it was not seen yet.
uint32_t find_stack(Thread& thread, uint64_t hash);
// Writes a stack. Frames innermost first; the caller has found none by that hash.
uint32_t add_stack(Thread& thread, uint64_t hash, std::span<const FrameText> frames);
uint32_t add_native_stack(Thread& thread, uint64_t hash, std::span<const uint64_t> program_counters);

void write_information(Thread& thread, std::string_view key, std::string_view value);
void write_mapping(Thread& thread, std::string_view path, uint64_t begin, uint64_t end, uint64_t bias);
void write_device(Thread& thread, uint8_t id, std::string_view name);

inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9fb21c651e98df25ULL;
  return hash ^ hash >> 32;
}

}  // namespace tapelens::capture
