// The stack, the module and the operator that an operator or an allocation came from. An event without its own inherits
// them from the operator around it or, in a backward, from the operator that made the node under evaluation.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analyzer/model/model.h"
#include "analyzer/model/text.h"

namespace tapelens::model {

// Whether the innermost frame is PyTorch's Python call of the autograd engine.
// A backward on the calling thread has the same stack for every allocation: it ends in that call. stack_of() then
// prefers the stack that made the node, as it does on the engine's own threads. Frames of a custom function's backward
// are kept.
bool is_engine_call(const Text& text, StackId stack);

StackId stack_of(const Process& process, const Text& text, OperatorId op);
StackId stack_of(const Process& process, const Text& text, AllocationId allocation);
StackId stack_of(const Process& process, const Text& text, ValueReadId read);
StackId stack_of(const Process& process, const Text& text, OutOfMemoryId request);
ModuleId module_of(const Process& process, OperatorId op);
ModuleId module_of(const Process& process, AllocationId allocation);
ModuleId module_of(const Process& process, OutOfMemoryId request);

// The outermost module call around an operator; none: no module call.
ModuleCallId outermost_call(const Process& process, OperatorId op);

// Whether a saved-tensor hook of the program made the allocation in a backward: recomputed it or copied it back.
bool is_unpacked(const Process& process, AllocationId allocation);

// The name of the innermost running operator, else of the node under evaluation, else none. Memory that Inductor
// allocates below the dispatcher has the name of its kernel (trace::kInductor).
StringId operator_name_of(const Process& process, const Text& text, AllocationId allocation);
// The name of the operator that the program or the node under evaluation called: "aten::linear", not the "aten::empty"
// inside it.
StringId called_name_of(const Process& process, const Text& text, AllocationId allocation);

// Whether the operator is the engine's evaluation of a node: "autograd::engine::evaluate_function: MulBackward0". Such
// an operator allocates and holds nothing itself; the allocations inside it are gradients.
bool is_engine_operator(const Text& text, StringId name);
// Whether the operator belongs to the engine or to a custom function (named by its class alone). The program calls the
// operators inside it.
bool is_transparent(const Text& text, StringId name);

// The module that owns a parameter, a buffer, a gradient or an optimizer's state. These are made outside of module
// calls, so the name decides: "layer1.conv.weight" belongs to the module "Net.layer1.conv".
class ParameterModules {
 public:
  ParameterModules(const Process& process, const Text& text);

  // None if the allocation has no such role, or if its name fits no module or modules of several models.
  ModuleId of(AllocationId allocation) const;

 private:
  std::unordered_map<uint32_t, ModuleId> module_;  // by allocation
};

}  // namespace tapelens::model
