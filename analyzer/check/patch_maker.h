// Makes patches of the program's own source for statements of an exact known form. A check cannot rewrite these
// statements, but a person fixes them with one line. In doubt each function returns no edit; then the finding has only
// the check's sentence.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/check/patch.h"
#include "analyzer/check/spot.h"

namespace tapelens::check {

// Finds the calls that torch.no_grad() may cover: those whose graphs no backward needs.
class FreeCalls {
 public:
  // Whether no gradient is wanted of a node.
  using IsFree = std::function<bool(NodeId)>;
  FreeCalls(const Context& context, IsFree is_free);

  // The call to put under it: the innermost of the user's own frames all of whose nodes are free and that is in no
  // module. If no module is called, the innermost one that calls what is not free elsewhere (a function that training
  // shares), else the outermost one.
  FrameId call(StackId stack) const;
  // Whether a module is called on the way.
  bool is_in_module(StackId stack) const;
  bool is_free(NodeId node) const { return is_free_(node); }
  // By frame: whether an operator below it has a node that is not free.
  const std::vector<uint8_t>& needed() const { return needed_; }

 private:
  const Context& context_;
  IsFree is_free_;
  std::vector<uint8_t> needed_;
};

class PatchMaker {
 public:
  explicit PatchMaker(const Context& context) : context_(context) {}

  // total += loss, total = total + loss: the value without its graph. `is_number`: it has one element.
  FileEdits detach_summand(StackId stack, bool is_number) const;
  // loss = ...; losses.append(loss). `owns_more`: than its own elements, so that a view of it keeps all of that.
  FileEdits detach_collected(StackId stack, bool is_number, bool owns_more) const;
  // state = f(state, ...): detached behind the statement. `op`: the operator that made the state, "aten::lstm".
  FileEdits detach_carried(StackId stack, std::string_view op) const;
  // The frame of that statement: state = f(state, ...). None: it is not known.
  FrameId carrying_frame(StackId stack) const;
  // A function, a loop or a statement around the innermost frame, all of whose nodes are free: under torch.no_grad().
  FileEdits no_grad(StackId stack, const FreeCalls& calls) const;
  // judge(make(z)), where all nodes of the inner call are free and no node of the outer call is. Moves the inner call
  // under torch.no_grad() before the statement.
  FileEdits no_grad_argument(StackId stack, const FreeCalls& calls) const;
  // optimizer.zero_grad(set_to_none=False)
  FileEdits set_to_none(StackId stack) const;

 private:
  struct Carrying {
    Spot spot;
    std::vector<std::string> names;  // that are on both sides
  };
  std::optional<Carrying> carrying(StackId stack) const;
  std::optional<Spot> spot(FrameId frame) const { return spot_of(context_, frame); }
  std::optional<Spot> spot(StackId stack) const;  // that of the frame that reports show
  static FileEdits edits(const Spot& spot, std::vector<Edit> edits);

  bool is_needed(const Spot& spot, size_t first, size_t end, const std::vector<uint8_t>& needed) const;
  bool is_function_needed(FrameId frame, const std::vector<uint8_t>& needed) const;
  // Whether at a frame one call of a module of which all is free, and one of which nothing is, take turns.
  bool takes_turns(FrameId frame, const FreeCalls& calls) const;
  FileEdits decorated(const Spot& spot) const;
  FileEdits wrapped(const Spot& spot, const std::vector<uint8_t>& needed) const;

  const Context& context_;
};

// Whether an operator gives a tensor of one element: of 4 bytes, where no tensor of the recording has elements of 2.
bool makes_number(const Context& context, OperatorId op);

}  // namespace tapelens::check
