// Names of operators in the frames of C++ that PyTorch's dispatcher leaves in a stack.
#pragma once

#include <string>
#include <string_view>

namespace tapelens::snapshot {

// "aten::add" of "at::_ops::add_Tensor::call(at::Tensor const&, ...)"; empty: it is the function of no operator.
std::string operator_of(std::string_view function);

// The type of the node that a function evaluates, as PyTorch names it: "MulBackward0" of
// "torch::autograd::generated::MulBackward0::apply(...)", "torch::autograd::AccumulateGrad". Empty: of no node, or of
// one that a Python class defines, whose name is in no frame.
std::string node_of(std::string_view function);

}  // namespace tapelens::snapshot
