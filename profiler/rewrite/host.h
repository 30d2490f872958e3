// The rewrites of this process: which exist, whether they may touch a save, and when. observers.h has the functions by
// which observe notifies them.
#pragma once

#include <ATen/record_function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "profiler/observe/observers.h"
#include "profiler/rewrite/rematerialization.h"
#include "profiler/rewrite/rewrite.h"
#include "profiler/rewrite/settings.h"
#include "profiler/rewrite/tally.h"
#include "profiler/versions/departures.h"

namespace tapelens::rewrite {

// No function below throws: a failed rewrite has no effect, and is reported once and counted (attempt.h).

// Properties of an operator, by its name.
struct OperatorTraits {
  const RepeatableOperator* repeatable = nullptr;
  recompute::Product product = recompute::Product::none;
  bool is_collective = false;
  bool changes_variable = false;  // gives its first argument another storage, or removes its history
  bool shares_memory = false;     // makes copy-on-write storages
};

// The state of each thread of the program.
struct ThreadState {
  versions::Departures<StorageVersion> leaving;  // for the host's memory
  std::vector<StorageVersionPtr> waiting;        // with hooks, to be released when the program has released them
  std::vector<Call> calls;                       // of repeatable operators, in progress
  std::vector<StorageVersionPtr> written;        // by operators in progress
  uint32_t sweeps = 0;
  std::array<OperatorTraits, observe::kOperatorNames> operators;  // as Thread::names
};

// Reads the settings and loads the rewrites: the built-in ones, which the caller passes, and those of shared libraries.
// False: no rewrite was requested, and no other function here may be called.
bool start(std::span<const RewriteEntry> builtin);
// The rewrites that may be applied anywhere.
std::span<const Rewrite* const> wanted_rewrites();
// The rewrite that a recomputation belongs to: by operators, or as a copy of existing values.
const RewriteInfo& recomputation(bool by_operator);
// Whether the plan names modules: module calls must then be followed even without a recording.
bool names_modules();
// Whether the program is in the module and at the line of a site in the plan.
bool is_here(const Site& planned);
// The rewrites that may match this field; the caller caches the result by its number for the field. Never destroyed.
using Candidates = std::vector<const Rewrite*>;
const Candidates* candidates(std::string_view type, std::string_view field);

// A save of a complete node that no other code has seen. `save.tensor` is its raw data.
void offer(ThreadState& state, torch::autograd::SavedVariable& saved, const Save& save, const Candidates& candidates);
// A repeatable operator begins, and ends.
Call begin(const RepeatableOperator& op, const at::RecordFunction& function);
void end(Call call, const at::RecordFunction& function, bool is_outermost);
// A product begins: the budget is a share of the products' cost.
void product(recompute::Product product, const at::RecordFunction& function);
// An operator is about to write the tensors of this argument, by its schema. Until end_writes(), operators that it
// calls read the versions from before the write.
void begin_write(ThreadState& state, const c10::IValue& argument);
// No caller has the address of an operator's outputs yet: from now on requests for it are noticed.
void watch_outputs(c10::ArrayRef<c10::IValue> outputs);
// An operator is about to make copy-on-write storages of these tensors.
void begin_sharing(const c10::IValue& argument);
// A collective is about to read or write these tensors, perhaps on another thread and later.
void begin_collective(const c10::IValue& argument);
// An operator begins, or ends, under a use of streams that is not ordinary, with this argument or output.
void touch(streams::StreamUse use, const c10::IValue& argument, bool is_output);
// Whether operator calls are followed, so that they can be repeated.
bool follows_calls();
// Ends an operator that began when `since` versions were in `written`.
void end_writes(ThreadState& state, size_t since);

// Keeps the program's hooks, the grad mode and our hooks out of operators that a rewrite runs.
class Quiet {
 public:
  Quiet() : busy_(observe::this_thread().busy), was_(busy_) { busy_ = true; }
  ~Quiet() { busy_ = was_; }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  bool& busy_;
  bool was_;
};

}  // namespace tapelens::rewrite
