// Which backward a moment is in, and where the program called it.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/check/graphs.h"

namespace tapelens::check {

inline constexpr uint32_t kNoBackward = UINT32_MAX;
// The place in Process::backwards of the innermost one around a moment; kNoBackward: there is none.
uint32_t backward_at(const Process& process, Time when);

// The program's call of the backward that a moment is in; none: it is not known.
StackId stack_of_backward(const Context& context, Time when);

// By node: whether a backward with create_graph=True made it, called at a line whose graphs of gradients no backward
// ever evaluates a node of. That one came near (the inputs= of another) says nothing.
std::vector<bool> created_for_nothing(const Context& context, const Graphs& graphs);

// Whether a backward began with an allocation and was given no gradient: then it is that of a single element.
bool begins_backward(const Context& context, AllocationId allocation);

}  // namespace tapelens::check
