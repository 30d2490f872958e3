// The hooks of observe in LibTorch, each installed once at the probe's start, and its messages to the user.
#pragma once

#include <string>
#include <string_view>

#include "profiler/observe/thread.h"

namespace tapelens::observe {

void watch_operators();
void watch_graph();
void watch_backward();
void watch_cpp_programs();  // modules and optimizers of torch::nn and torch::optim
void watch_resizes();       // of storages

// For `tapelens attach`. Reports the memory of tensors that are alive already: record::adopted(). Requires the GIL.
void adopt_alive(Thread& thread);
// Removes the hooks of the Python part from PyTorch.
void take_back_python_hooks();

// Follow module calls even without a recording, because a plan of rewrites names modules. Set before the first hook.
extern bool g_follows_modules;

// Prints one line to standard error, unless --quiet.
inline void say(std::string_view what) {
  const std::string line = "tapelens: " + std::string(what) + "\n";
  g_inject->complain(line.data(), line.size());
}

// Reports why this process is not recorded (TAPELENS_SPOOL) or not rewritten (TAPELENS_TALLY). One line serves all
// processes of the run; the command line repeats it only if it is not on standard error.
inline void explain(const char* folder_variable, const std::string& why) {
  g_inject->explain(folder_variable, why.c_str());
}

}  // namespace tapelens::observe
