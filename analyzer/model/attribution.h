// Where an operator or an allocation came from, in the program's terms. What was not recorded on the event itself is
// inherited: from the operator around it, or, in a backward, from the operator that made the node under evaluation.
#pragma once

#include "analyzer/model/model.h"
#include "analyzer/model/text.h"

namespace tapelens::model {

// In a backward that runs on the thread that called it, the stack ends in PyTorch's call of the engine: that says only
// "in backward", and the same for every allocation, so the stack of what made the node is preferred, as it is on the
// engine's own threads. A custom function's backward has frames of its own, and keeps them.
// Whether the innermost frame is PyTorch's Python call of the autograd engine.
bool is_engine_call(const Text& text, StackId stack);

StackId stack_of(const Process& process, const Text& text, OperatorId op);
StackId stack_of(const Process& process, const Text& text, AllocationId allocation);
StackId stack_of(const Process& process, const Text& text, ValueReadId read);
StackId stack_of(const Process& process, const Text& text, OutOfMemoryId request);
ModuleId module_of(const Process& process, OperatorId op);
ModuleId module_of(const Process& process, AllocationId allocation);
ModuleId module_of(const Process& process, OutOfMemoryId request);

// Made by a hook of the program on a saved tensor, in a backward: computed again, or copied back.
bool is_unpacked(const Process& process, AllocationId allocation);

// The name of the operator that was running, the innermost; that of the node under evaluation if none was; none if
// neither. Of what Inductor allocates below the dispatcher its kernel, trace::kInductor.
StringId operator_name_of(const Process& process, const Text& text, AllocationId allocation);
// The same of the operator that the program, or the node under evaluation, called: "aten::linear", not the
// "aten::empty" inside of it.
StringId called_name_of(const Process& process, const Text& text, AllocationId allocation);

// The engine calls the evaluation of a node an operator, too: "autograd::engine::evaluate_function: MulBackward0". It
// is around the evaluation, allocates nothing of its own and holds nothing: what is made in it are gradients.
bool is_engine_operator(const Text& text, StringId name);
// That, or a custom function, which has the name of its class alone: what it calls was called by the program.
bool is_transparent(const Text& text, StringId name);

}  // namespace tapelens::model
