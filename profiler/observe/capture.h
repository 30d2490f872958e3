// The parts of the probe, each started once by probe.cpp.
#pragma once

#include <string_view>

#include "profiler/observe/thread.h"

namespace tapelens::capture {

inline constexpr uint8_t kCpuDevice = 1;

void watch_allocations(Thread& thread);
void watch_operators();
void watch_graph();
void watch_backward();
void watch_cpp_programs();  // modules and optimizers of torch::nn and torch::optim

// One line on standard error, unless --quiet.
void say(std::string_view what);

// A step's border: the end of a step of an optimizer. Follows --steps.
void optimizer_begins(Thread& thread, std::string_view name);
void optimizer_ends(Thread& thread, std::string_view name);

// Nothing is written after this; the spool is whole. Rewrites go on.
void stop_recording();
// The process ends.
void finish_recording();

void watch_resizes();  // of storages, for the rewrites
// What rewrites ask of the probe.
rewrite::Surroundings rewrite_surroundings();
extern bool g_names_places;  // a plan names modules: which are called has to be known without a recording, too

}  // namespace tapelens::capture
