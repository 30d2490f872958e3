// Facts from the stack of an event, beside its lines: the operator, the phase of the training and the node. Most of
// them come from C++ frames, which Tapelens does not keep.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "trace/types.h"

namespace tapelens::snapshot {

// Role of a frame, from its file and function name.
enum class FrameSign : uint8_t {
  other,
  op,              // the dispatcher calls an operator
  node,            // a node is evaluated
  workspace,       // workspace of cuBLAS, which lives as long as the process
  engine,          // autograd's engine evaluates a node
  python,          // any other function of a Python library
  own,             // any other function of the program
  own_step,        // a function of the program that is called step
  optimizer_step,  // torch.optim
  optimizer_state,
  step_wrapper,  // wrapper of torch.optim around the step of each optimizer, also of the program's classes
  zero_grad,
  module_call,   // torch.nn.Module
  module_moved,  // moves parameters and buffers
  module_made,
};
bool is_python(FrameSign sign);
FrameSign sign_of(std::string_view file, std::string_view function);

struct StackFacts {
  trace::StringId op, called, node;  // as in trace::table::ImportedFacts
  trace::ImportedPhase phase{};
  bool is_known = false;      // the event has a stack
  bool runs_python = false;   // in a backward: a node or a hook runs Python
  bool accumulates = false;   // an AccumulateGrad allocates
  bool makes_state = false;   // an optimizer creates state of a parameter
  bool makes_module = false;  // a module creates or moves parameters or buffers
  bool is_workspace = false;  // workspace of cuBLAS
  bool zeroes = false;        // zero_grad() runs
  friend auto operator<=>(const StackFacts&, const StackFacts&) = default;
};

// Reads the frames of a stack, from the innermost on.
class StackReader {
 public:
  // `name`: name of an operator or a node.
  void add(FrameSign sign, trace::StringId name, bool accumulates);
  const StackFacts& facts() const { return facts_; }

 private:
  void add_python(FrameSign sign);

  StackFacts facts_;
  uint32_t python_ = 0, own_ = 0;  // frames so far
  bool last_is_own_step_ = false;
  bool accumulates_ = false;
};

// ---- C++ frames of stacks (stacks="all"): library frames, and the operators and nodes that PyTorch's dispatcher and
// autograd leave in a stack

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
