// C++ frames of stacks (stacks="all"): library frames, and the operators and nodes that PyTorch's dispatcher and
// autograd leave in a stack.
#pragma once

#include <string>
#include <string_view>

namespace tapelens::snapshot {

// Whether a frame's line is a source line. For a library file it is an address in the library.
bool has_line(std::string_view file);
// Whether a C++ frame belongs to PyTorch, the interpreter or a library that they use.
bool is_native_library_frame(std::string_view file, std::string_view function);

// "aten::add" for "at::_ops::add_Tensor::call(at::Tensor const&, ...)". Empty: not the function of an operator.
std::string operator_of(std::string_view function);

// The type of the node that a function evaluates, as PyTorch names it: "MulBackward0" for
// "torch::autograd::generated::MulBackward0::apply(...)", "torch::autograd::AccumulateGrad". Empty: not the function of
// a node, or the node's class is in Python, so that no frame has its name.
std::string node_of(std::string_view function);

}  // namespace tapelens::snapshot
