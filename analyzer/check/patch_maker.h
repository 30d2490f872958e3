// Patches of the program's own source, where a statement has exactly a form that is known: what a check cannot
// rewrite, but a person would fix with one line. Everything here answers without an edit if it has any doubt: then the
// check's sentence has to do.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/check/check.h"
#include "analyzer/check/patch.h"
#include "analyzer/check/python_source.h"

namespace tapelens::check {

class PatchMaker {
 public:
  explicit PatchMaker(const Context& context) : context_(context) {}

  // total += loss, total = total + loss: the value without its graph. `is_number`: it has one element.
  FileEdits detach_summand(StackId stack, bool is_number) const;
  // loss = ...; losses.append(loss)
  FileEdits detach_collected(StackId stack, bool is_number) const;
  // state = f(state, ...): detached behind the statement. `op`: the operator that made the state, "aten::lstm".
  FileEdits detach_carried(StackId stack, std::string_view op) const;
  // A function, a loop or a statement around the innermost frame, all of whose nodes are free: under torch.no_grad().
  // `is_free`: whether no gradient is wanted of a node.
  using IsFree = std::function<bool(NodeId)>;
  FileEdits no_grad(StackId stack, const IsFree& is_free) const;
  // The call to put under torch.no_grad(): the innermost frame of the user's own all of whose nodes are free, and that
  // calls what is not free elsewhere (a forward that training shares); if it calls nothing such, the outermost one.
  FrameId free_call(StackId stack, const IsFree& is_free) const;
  // judge(make(z)) -> judge(make(z).detach()), where all nodes of the inner call are free and none of the outer one.
  FileEdits detach_argument(StackId stack, const IsFree& is_free) const;
  // joined = torch.cat([joined, part]) in a loop: a list, and one cat behind the loop.
  FileEdits join_once(StackId stack) const;
  // optimizer.zero_grad(set_to_none=False)
  FileEdits set_to_none(StackId stack) const;

 private:
  // A statement of a file of the repository.
  struct Spot {
    std::string path;
    PythonSource source;
    size_t statement = 0;
    FrameId frame{};

    const Statement& here() const { return source.statements()[statement]; }
  };
  std::optional<Spot> spot(FrameId frame) const;
  std::optional<Spot> spot(StackId stack) const;  // of the frame that is shown
  static FileEdits edits(const Spot& spot, std::vector<Edit> edits);

  // Frames of operators whose nodes are not free.
  std::vector<uint8_t> needed_frames(const IsFree& is_free) const;
  bool is_needed(const Spot& spot, size_t first, size_t end, const std::vector<uint8_t>& needed) const;
  bool is_function_needed(FrameId frame, const std::vector<uint8_t>& needed) const;
  FileEdits decorated(const Spot& spot) const;
  FileEdits wrapped(const Spot& spot, const std::vector<uint8_t>& needed) const;

  const Context& context_;
};

// Whether an operator gives a tensor of one element: of 4 bytes, where no tensor of the recording has elements of 2.
bool makes_number(const Context& context, OperatorId op);

}  // namespace tapelens::check
