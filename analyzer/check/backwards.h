// Finds the backward that runs at a moment, and the place where the program called it.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/check/graphs.h"

namespace tapelens::check {

inline constexpr uint32_t kNoBackward = UINT32_MAX;
// The index in Process::backwards of the innermost backward that runs at a moment; kNoBackward: no backward runs.
uint32_t backward_at(const Process& process, Time when);

// The program's call of that backward; none: unknown.
StackId stack_of_backward(const Context& context, Time when);

// By node: whether a backward with create_graph=True made the node, and no backward evaluates any node of the gradient
// graphs from that line. A backward that only reaches such a graph (another call's inputs=) does not count.
std::vector<bool> created_for_nothing(const Context& context, const Graphs& graphs);

// Whether the program called a backward from this allocation without an initial gradient. PyTorch then requires a
// tensor with a single element.
bool begins_backward(const Context& context, AllocationId allocation);

}  // namespace tapelens::check
