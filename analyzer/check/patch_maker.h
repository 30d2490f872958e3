// Makes patches of the program's own source for statements of an exact known form. No rewrite can change these
// statements, but one edited line fixes them. In doubt each function returns no edit, and the finding keeps only the
// check's sentence.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/check/patch.h"
#include "analyzer/check/python_source.h"

namespace tapelens::check {

// The statement of a recorded frame, in a file of the repository that has not changed since the recording.
struct RecordedStatement {
  std::string path;  // below the root of the repository
  PythonSource source;
  size_t statement = 0;
  FrameId frame{};

  const Statement& here() const { return source.statements()[statement]; }
};

// None: the file does not exist or has changed, or the line has several statements.
std::optional<RecordedStatement> recorded_statement_at(const Context& context, FrameId frame);

// Finds the calls that torch.no_grad() may cover: those whose graphs no backward needs.
class FreeCalls {
 public:
  // Whether the program needs no gradient of a node.
  using IsFree = std::function<bool(NodeId)>;
  FreeCalls(const Context& context, IsFree is_free);

  // The call to put under torch.no_grad(): the innermost of the user's own frames that is outside all modules and whose
  // modules have only free nodes. If the stack has no module: the innermost frame whose callee has needed nodes
  // elsewhere (a function that training shares), else the outermost frame.
  FrameId call(StackId stack) const;
  // Whether the stack contains a call of a module.
  bool is_in_module(StackId stack) const;
  bool is_free(NodeId node) const { return is_free_(node); }
  // By frame: whether an operator below the frame has a node that is not free.
  const std::vector<uint8_t>& needed() const { return needed_; }

 private:
  const Context& context_;
  IsFree is_free_;
  std::vector<uint8_t> needed_;
  std::vector<uint8_t> needs_module_;  // by frame outside all modules: whether such a node is in a module below it
};

class PatchMaker {
 public:
  explicit PatchMaker(const Context& context) : context_(context) {}

  // total += loss, total = total + loss: detaches the summand. `is_number`: the summand has one element.
  FileEdits detach_summand(StackId stack, bool is_number) const;
  // loss = ...; losses.append(loss). `owns_more`: the storage is larger than the tensor, so the patch adds clone().
  FileEdits detach_collected(StackId stack, bool is_number, bool owns_more) const;
  // state = f(state, ...): detaches after the statement. `op`: the operator that made the state, "aten::lstm".
  FileEdits detach_carried(StackId stack, std::string_view op) const;
  // The frame of the statement state = f(state, ...); none: unknown.
  FrameId carrying_frame(StackId stack) const;
  // Puts the function, loop or statement around the innermost frame under torch.no_grad(), if all its nodes are free.
  FileEdits no_grad(StackId stack, const FreeCalls& calls) const;
  // judge(make(z)), where all nodes of the inner call are free and no node of the outer call is. Moves the inner call
  // under torch.no_grad() before the statement.
  FileEdits no_grad_argument(StackId stack, const FreeCalls& calls) const;
  // optimizer.zero_grad(set_to_none=False)
  FileEdits set_to_none(StackId stack) const;

 private:
  struct Carrying {
    RecordedStatement spot;
    std::vector<std::string> names;  // names on both sides of the assignment
  };
  std::optional<Carrying> carrying(StackId stack) const;
  std::optional<RecordedStatement> spot(FrameId frame) const { return recorded_statement_at(context_, frame); }
  std::optional<RecordedStatement> spot(StackId stack) const;  // at the frame that reports show
  static FileEdits edits(const RecordedStatement& spot, std::vector<Edit> edits);

  bool is_needed(const RecordedStatement& spot, size_t first, size_t end, const std::vector<uint8_t>& needed) const;
  bool is_function_needed(FrameId frame, const std::vector<uint8_t>& needed) const;
  // Whether the outermost module calls at a frame alternate: one with only free nodes, then one without free nodes.
  bool takes_turns(FrameId frame, const FreeCalls& calls) const;
  FileEdits decorated(const RecordedStatement& spot) const;
  FileEdits wrapped(const RecordedStatement& spot, const std::vector<uint8_t>& needed) const;

  const Context& context_;
};

// Whether an operator returns a tensor of one element: 4 bytes, in a recording without tensors of 2-byte elements.
bool makes_number(const Context& context, OperatorId op);

}  // namespace tapelens::check
