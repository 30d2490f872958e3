// What the stack of an event says beyond its lines: which operator ran, in which phase of the training, for which node.
// Its frames in C++ say most of it, and are not kept.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "trace/types.h"

namespace tapelens::snapshot {

// What a frame is, as far as its name says.
enum class FrameSign : uint8_t {
  other,
  op,              // the dispatcher calls an operator
  node,            // a node is evaluated
  workspace,       // of cuBLAS, kept for as long as the process lives
  engine,          // autograd's engine evaluates one
  python,          // any other of Python: of a library,
  own,             // of the program,
  own_step,        // or of the program, called step
  optimizer_step,  // torch.optim
  optimizer_state,
  step_wrapper,  // what torch.optim puts around each optimizer's step, a program's too
  zero_grad,
  module_call,   // torch.nn.Module
  module_moved,  // its parameters and buffers are
  module_made,
};
bool is_python(FrameSign sign);
FrameSign sign_of(std::string_view file, std::string_view function);

struct StackFacts {
  trace::StringId op, called, node;  // as in trace::table::ImportedFacts
  trace::ImportedPhase phase{};
  bool is_known = false;      // there is a stack
  bool runs_python = false;   // in a backward: Python that a node or a hook runs
  bool accumulates = false;   // an AccumulateGrad allocates
  bool makes_state = false;   // an optimizer makes what it keeps for a parameter
  bool makes_module = false;  // parameters or buffers of a module are made or moved
  bool is_workspace = false;  // of cuBLAS
  bool zeroes = false;        // zero_grad()
  friend auto operator<=>(const StackFacts&, const StackFacts&) = default;
};

// Told each frame of a stack, from the innermost on.
class StackReader {
 public:
  // `name`: of an operator or a node.
  void add(FrameSign sign, trace::StringId name, bool accumulates);
  const StackFacts& facts() const { return facts_; }

 private:
  void add_python(FrameSign sign);

  StackFacts facts_;
  uint32_t python_ = 0, own_ = 0;  // frames so far
  bool last_is_own_step_ = false;
  bool accumulates_ = false;
};

}  // namespace tapelens::snapshot
