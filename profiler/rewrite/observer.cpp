// Passes the events of observe to the rewrites (observers.h), and finds the program's place in a plan's terms.
#include <algorithm>
#include <atomic>
#include <iterator>
#include <string>
#include <vector>

#include "profiler/observe/cuda_allocator.h"
#include "profiler/observe/graph.h"
#include "profiler/observe/modules.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/raw_data.h"
#include "profiler/observe/stack.h"
#include "profiler/rewrite/autocast_copies.h"
#include "profiler/rewrite/host.h"

namespace tapelens::rewrite {
namespace {

using observe::Thread;
using torch::autograd::Node;
using torch::autograd::SavedVariable;

// Operators that send tensors to other processes, or receive into tensors, perhaps on another thread.
constexpr std::string_view kCollectives[] = {
    "c10d::", "_c10d_functional::", "_c10d_functional_autograd::", "fsdp::", "symm_mem::"};
// Another stream does the same, which the program announces by this operator.
constexpr std::string_view kRecordStream = "aten::record_stream";

const OperatorTraits& facts_of(Thread& thread, const at::RecordFunction& function, observe::OperatorName& name) {
  if (name.rewritten != nullptr) return *name.rewritten;
  OperatorTraits& facts = thread.rewriting->operators[static_cast<size_t>(&name - thread.names.data())];
  const std::string_view text = name.text;
  facts.repeatable = repeatable_operator(function);
  facts.product = recompute::product(text);
  facts.is_collective = text == kRecordStream || std::ranges::any_of(kCollectives, [&](std::string_view prefix) {
                          return text.starts_with(prefix);
                        });
  facts.changes_variable = text == "aten::detach_" || text == "aten::set_";
  facts.shares_memory = text == "aten::_lazy_clone";
  name.rewritten = &facts;
  return facts;
}

// OpenCall::rewrite_mark: bit 0 is always set; bit 1: ThreadState::calls has the operator; bit 2: kBeganUnderAutocast;
// above: its start in ThreadState::written.
constexpr uint32_t kMark = 1, kIsCall = 2;
constexpr int kWrittenShift = 3;
static_assert(autocast_copies::kBeganUnderAutocast == 1 << (kWrittenShift - 1));

// Passes each save of a node to the host.
class RewriteVisitor final : public observe::FieldVisitor {
 public:
  RewriteVisitor(Thread& thread, const Node& node, const observe::NodeType& type, const observe::OpenCall& open_call)
      : thread_(thread), node_(node), type_(type), open_call_(open_call) {}

  void one(uint32_t field, uint32_t index, const SavedVariable& saved) override {
    static auto* known = new std::vector<std::atomic<const Candidates*>>(observe::kFields);
    const Candidates* those = (*known)[field].load(std::memory_order_acquire);
    if (those == nullptr) {
      those = candidates(type_.text, observe::kFieldNames[field]);
      (*known)[field].store(those, std::memory_order_release);
    }
    if (saved.has_hooks()) return;
    const auto data = observe::raw_data(saved);
    if (!data || !data->defined()) return;
    if (!those->empty() && !is_described_) describe_node();
    const std::string_view inner = open_call_.name != nullptr ? open_call_.name : "";
    offer(*thread_.rewriting, const_cast<SavedVariable&>(saved),
          {node_, type_.text, observe::kFieldNames[field], index, inner, outer_operator(inner), attributes_.text(),
           wanted_, *data},
          *those);
  }

 private:
  void describe_node() {
    is_described_ = true;
    if (type_.fields->attributes != nullptr) type_.fields->attributes(node_, attributes_);
    const size_t edges = std::min<size_t>(node_.num_outputs(), 64);
    for (size_t i = 0; i < edges; ++i) wanted_ |= uint64_t{node_.next_edge(i).is_valid()} << i;
  }
  // The operator that the program called: the outermost enclosing operator.
  std::string_view outer_operator(std::string_view inner) const {
    std::string_view outer = inner;
    for (auto outer_call = thread_.open_calls.rbegin(); outer_call != thread_.open_calls.rend(); ++outer_call) {
      if (outer_call->name == nullptr || outer_call->runs_python) break;
      outer = outer_call->name;
    }
    return outer;
  }

  Thread& thread_;
  const Node& node_;
  const observe::NodeType& type_;
  const observe::OpenCall& open_call_;
  bool is_described_ = false;
  observe::AttributeText attributes_;
  uint64_t wanted_ = 0;
};

}  // namespace

bool names_modules() {
  return std::ranges::any_of(settings().sites, [](const Site& planned) { return !planned.module.empty(); });
}

bool is_here(const Site& planned) {
  if (!planned.module.empty() && !policy::is_module(observe::module_now(observe::this_thread()), planned.module)) {
    return false;
  }
  return planned.file.empty() || observe::is_line_in_stack(planned.file, planned.line);
}

void thread_begins(Thread& thread) {
  if (thread.rewriting == nullptr) thread.rewriting = new ThreadState;
}

void thread_ends(Thread& thread) {
  ThreadState& state = *thread.rewriting;
  state.waiting.clear();
  state.leaving.clear();
  state.calls.clear();
  state.written.clear();
  state.sweeps = 0;
}

void give_memory(const at::RecordFunction& function) { autocast_copies::give_memory(function); }

uint32_t operator_begins(Thread& thread, const at::RecordFunction& function, observe::OperatorName& name) {
  if (!wants_calls()) return kSeesAddresses ? kMark : 0;
  ThreadState& state = *thread.rewriting;
  uint32_t mark = kMark | static_cast<uint32_t>(state.written.size()) << kWrittenShift;
  if (const auto use = streams::stream_use(); use != streams::StreamUse::ordinary) {
    for (const c10::IValue& input : function.inputs()) touch(use, input, false);
  }
  if (follows_calls() && autocast_copies::is_autocast_on()) mark |= autocast_copies::kBeganUnderAutocast;
  const OperatorTraits& facts = facts_of(thread, function, name);
  if (facts.repeatable != nullptr && follows_calls()) {
    state.calls.push_back(begin(*facts.repeatable, function));
    mark |= kIsCall;
  }
  if (facts.is_collective) {  // its schema may not declare its writes
    for (const c10::IValue& input : function.inputs()) begin_collective(input);
    return mark;
  }
  if (facts.changes_variable && !function.inputs().empty() && function.inputs()[0].isTensor())
    begin_variable_change(function.inputs()[0].toTensor());
  if (facts.shares_memory) {
    for (const c10::IValue& input : function.inputs()) begin_sharing(input);
  }
  if (!follows_calls()) return mark;
  if (facts.product != recompute::Product::none) product(facts.product, function);
  if (name.written == 0) return mark;
  size_t argument = 0;
  for (const c10::IValue& input : function.inputs()) {
    if ((name.written >> std::min<size_t>(argument++, 31) & 1) != 0) begin_write(state, input);
  }
  return mark;
}

void operator_ends(Thread& thread, const at::RecordFunction& function, uint32_t mark) {
  ThreadState& state = *thread.rewriting;
  if (observe::uses_cuda()) {
    streams::outputs_made(function.outputs());
    if (const auto use = streams::stream_use(); use != streams::StreamUse::ordinary) {
      for (const c10::IValue& output : function.outputs()) touch(use, output, true);
    }
  }
  end_writes(state, mark >> kWrittenShift);
  watch_outputs(function.outputs());
  if (!observe::inside_operator(thread)) watch_again();
  if ((mark & kIsCall) == 0 || state.calls.empty()) return;
  Call call = std::move(state.calls.back());
  state.calls.pop_back();
  end(std::move(call), function, state.calls.empty());
}

void node_is_whole(Thread& thread, const Node& node, const observe::NodeType& type,
                   const observe::OpenCall& open_call) {
  RewriteVisitor visitor(thread, node, type, open_call);
  type.fields->visit(node, visitor);
}

}  // namespace tapelens::rewrite
