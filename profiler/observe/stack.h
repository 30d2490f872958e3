// The program's current stack: Python frames, or native frames.
#pragma once

#include <cstdint>
#include <string_view>

#include "profiler/observe/thread.h"

namespace tapelens::observe {

// The kinds of stacks to capture (--stacks). In a process with a Python interpreter `python` is tried first.
struct StackOptions {
  bool python = true;
  bool native = true;
};
extern StackOptions g_stacks;

// The recording's number of the calling thread's stack; 0 without a stack or without a recording. Also updates the
// thread's module calls. May take the GIL, and runs a little Python the first time it sees a module.
uint32_t stack_here(Thread& thread);

// The same inside a lock of LibTorch. Python must not run there, because it could wait for that lock. So module calls
// are not updated. 0 if the thread does not hold the GIL.
uint32_t stack_within_lock(Thread& thread);

// Ends the module calls of the thread except the outermost `kept`.
void end_module_calls(Thread& thread, size_t kept);

// Whether the Python frames include this line of a file whose path ends with `file`. True without Python: the frames of
// C++ programs have no lines before symbolization.
bool is_line_in_stack(std::string_view file, uint32_t line);

// Whether the engine runs on the calling thread.
bool is_in_backward();

// The native stack, if is_recording().
uint32_t native_stack_here(Thread& thread);

}  // namespace tapelens::observe
