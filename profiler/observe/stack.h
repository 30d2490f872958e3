// Where the program is: the frames of its interpreter, or of its machine code.
#pragma once

#include <cstdint>
#include <string_view>

#include "profiler/observe/thread.h"

namespace tapelens::observe {

// --stacks: which kinds are taken. Where a process has a Python interpreter `python` is tried first.
struct StackOptions {
  bool python = true;
  bool native = true;
};
extern StackOptions g_stacks;

// The recording's number of the calling thread's stack; 0 if there is none to be had, or no recording. Also brings the
// module calls of the thread up to date. May take the interpreter's lock and run a little Python the first time a
// module is seen.
uint32_t stack_here(Thread& thread);

// The same inside of a lock of LibTorch's, where no Python may run, which could wait for that lock: module calls stay as
// they are. 0 where the thread does not hold the interpreter's lock.
uint32_t stack_within_lock(Thread& thread);

// `record --referrers` looks for variables here, in programs whose optimizers PyTorch does not know.
void look_before_backward();

// Ends the module calls of the thread but for the outermost `kept`.
void end_module_calls(Thread& thread, size_t kept);

// Is this line of a file whose path ends so among the frames of Python? True where no Python runs: C++ programs have no
// lines before they are symbolised.
bool is_line_in_stack(std::string_view file, uint32_t line);

// Does the engine run on the calling thread?
bool is_in_backward();

// Of machine code, where is_recording().
uint32_t native_stack_here(Thread& thread);

}  // namespace tapelens::observe
