// The rewrites of this process: which there are, whether they may touch a save, and when. What observe tells them is in
// observers.h.
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

namespace tapelens::rewrite {

// Nothing below throws: what goes wrong in a rewrite is left as it is, said once and counted (attempt.h).

// What is known of an operator by its name.
struct OperatorTraits {
  const CheapOperator* cheap = nullptr;
  recompute::Product product = recompute::Product::none;
  bool is_collective = false;
  bool changes_variable = false;  // gives its first argument another storage, or no history
  bool shares_memory = false;     // makes copy-on-write storages
};

// What each thread of the program has.
struct ThreadState {
  std::vector<StorageVersionPtr> waiting;  // with hooks, to be released when the program has released them
  std::vector<Call> calls;                 // of cheap operators, under way
  std::vector<StorageVersionPtr> written;  // by the operators that are under way
  uint32_t sweeps = 0;
  std::array<OperatorTraits, observe::kOperatorNames> operators;  // as Thread::names
};

// Reads the settings and loads the rewrites: Tapelens' own, which the caller knows, and those of shared libraries.
// False: nothing was asked for, and nothing here may be called.
bool start(std::span<const RewriteEntry> builtin);
// Those that may be applied anywhere.
std::span<const Rewrite* const> wanted_rewrites();
// In whose name something is recomputed: by operators, or as a copy of what is there.
const RewriteInfo& recomputation(bool by_operator);
// Whether the plan names modules: which are called has to be known without a recording, too.
bool names_modules();
// Whether the program is in the module and at the line that a site of the plan names.
bool is_here(const Site& planned);
// The rewrites that may match this field; the caller remembers the answer by its number for it. Never destroyed.
using Candidates = std::vector<const Rewrite*>;
const Candidates* candidates(std::string_view type, std::string_view field);

// A save of a whole node that nobody else has seen. `save.tensor` is its raw data.
void offer(ThreadState& state, torch::autograd::SavedVariable& saved, const Save& save, const Candidates& candidates);
// A cheap operator begins, and ends.
Call begin(const CheapOperator& op, const at::RecordFunction& function);
void end(Call call, const at::RecordFunction& function, bool is_outermost);
// A product begins: the budget is a share of these.
void product(recompute::Product product, const at::RecordFunction& function);
// An operator is about to write the tensors of this argument: its schema says so, whatever the operator is called.
// Until end_writes() operators that it calls read the versions that were there before.
void begin_write(ThreadState& state, const c10::IValue& argument);
// The address of what an operator made is nobody's yet: from now on it is noticed when somebody asks for it.
void watch_outputs(c10::ArrayRef<c10::IValue> outputs);
// An operator is about to make copy-on-write storages of them.
void begin_sharing(const c10::IValue& argument);
// A collective is about to read or write them, perhaps on another thread and later.
void begin_collective(const c10::IValue& argument);
// An operator begins, or ends, at a moment that is not ordinary, with this argument or output.
void touch(streams::Moment moment, const c10::IValue& argument, bool is_output);
// Whether what operators do is followed, so that it can be done again.
bool follows_calls();
// The operator ends that began when so many were written.
void end_writes(ThreadState& state, size_t since);

// Keeps the program's hooks, grad mode and ours out of operators that a rewrite runs.
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
