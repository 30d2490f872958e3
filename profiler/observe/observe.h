// What observe hooks into LibTorch, each part once by the probe's start, and what it says to the user.
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

// Module calls are followed where nothing is recorded, too: a plan of rewrites names modules. Set before the first
// hook.
extern bool g_follows_modules;

// One line on standard error, unless --quiet.
void say(std::string_view what);

// Why this process is not recorded (TAPELENS_SPOOL) or not rewritten (TAPELENS_TALLY): one line for all processes of
// the run, which the command line repeats only where standard error does not have it.
void explain(const char* folder_variable, const std::string& why);

}  // namespace tapelens::observe
