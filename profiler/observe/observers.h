// The observers of a probe: the functions by which observe notifies profiler/record, profiler/rewrite and
// profiler/fake_kernels, and by which these notify the recording.
//
// The functions are declared here, for their callers, and defined in those folders. The folders include this header;
// only the probe that combines them includes the folders. So linking a probe decides its observers, and each call is an
// ordinary function call. The mode decides which calls are made: record's only if is_recording(), rewrite's only if
// g_rewrites, simulated's only if g_simulates. Only they access `thread.recording`, `thread.rewriting` and
// `thread.simulating`.
//
// Callers must catch exceptions (hooks.h). The functions themselves throw only when memory runs out.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "profiler/observe/named_tensors.h"
#include "profiler/observe/thread.h"
#include "profiler/observe/variables.h"

namespace tapelens::observe {

// A frame of a Python stack.
struct FrameText {
  std::string_view file, function;
  uint32_t line;
  bool is_generated = false;  // by Inductor: `function` is the line's kernel
};

// A save of a compiled function (compiled_graphs.h).
struct GraphSave {
  std::string_view field;
  FrameText place;  // without a file: not known
};

// The roles of tensors in a training. Tensors that AccumulateGrad makes are gradients, too (gradient_accumulated()).
enum class Role : uint8_t { parameter, buffer, optimizer_state, gradient };
// The values of a parameter: its own, or its gradient.
enum class ParameterValues : uint8_t { own, gradient };

// An applied rewrite, or one that was skipped for a reason.
struct Rewritten {
  std::string_view rewrite;
  uint8_t level;
  const torch::autograd::Node* node;  // null: a rewrite of an operator, or of the optimizer
  std::string_view field;
  uint32_t index;
  std::string_view reason;  // empty: it was applied
  uint64_t bytes, kept;
};

}  // namespace tapelens::observe

namespace tapelens::record {

using observe::NodeType;
using observe::OpenCall;
using observe::OperatorName;
using observe::Thread;

// ---- in a process that records, in every mode
void thread_begins(Thread& thread);
void thread_ends(Thread& thread);

// ---- only if is_recording()
// An AccumulateGrad has set or added to the gradient of a parameter, and its evaluation ends. Called before
// evaluation_ends().
void gradient_accumulated(Thread& thread, const torch::autograd::Node& node);
void operator_ends(Thread& thread);
void evaluation_ends(Thread& thread);  // a node's evaluation, or the call of an unpack hook
void range_ends(Thread& thread);
void backward_begins(Thread& thread, const std::vector<torch::autograd::Edge>& roots, bool keeps_graph,
                     bool creates_graph);
void backward_ends(Thread& thread);
// The engine returns these gradients to the program instead of accumulating them; `of` are their edges. Only if
// wants_step_values().
void gradients_returned(Thread& thread, const std::vector<torch::autograd::Edge>& of,
                        const std::vector<at::Tensor>& gradients);
// A tensor became an output of a node.
void output_made(const at::Tensor& tensor, const torch::autograd::Node* node);
void node_dies(Thread& thread, const torch::autograd::Node& node);
// A module was seen for the first time and got its number (modules.h); module calls use the number. Calls are
// serialized.
void module_named(Thread& thread, uint32_t id, std::string_view path, std::string_view type);
// `without_gradients`: trace/record.h, ModuleCallFlags.
void module_begins(Thread& thread, uint32_t id, bool without_gradients);
void module_ends(Thread& thread);
// `of`: the parameter of a gradient or of an optimizer state; for a parameter, the wrapper subclass that contains
// `tensor`; or null. A wrapper itself has no memory, so its inner tensors are reported one by one.
void role_told(Thread& thread, observe::Role role, std::string_view name, const c10::TensorImpl& tensor,
               const c10::TensorImpl* of);
// A reported parameter keeps its name when its storage gets other memory, as FSDP does to gather and free parameters.
void follow_resizes(Thread& thread, std::string_view name, const c10::TensorImpl& tensor);
void storage_resized(Thread& thread, c10::StorageImpl& storage);
// An optimizer (or a rewrite in its place) is about to step a parameter, or has stepped it. `part`: one of the inner
// tensors of a parameter that is a wrapper subclass.
void step_values(Thread& thread, observe::ParameterValues of, c10::TensorImpl* parameter);
void step_values(Thread& thread, observe::ParameterValues of, const c10::TensorImpl* parameter, const at::Tensor& part);
void optimizer_begins(Thread& thread, std::string_view name);
void optimizer_ends(Thread& thread);
void step_ended(uint64_t steps);  // the number of ended steps; may change the mode
void information(Thread& thread, std::string_view key, std::string_view value);
// A variable of the program has a storage, or a tensor with it. `name` includes the variable's location.
void variable_told(Thread& thread, std::string_view name, const c10::StorageImpl& storage);
// Whether to search the program's variables at this safe point, and for which reason. If the answer is not `none`, the
// caller searches and then calls search_ends().
enum class Search : uint8_t { none, peak, out_of_memory };
Search search_begins(observe::SafePoint at);
void search_ends();
// A graph was compiled. The first `checked` of its saves go to save_for_backward().
void graph_told(Thread& thread, long number, std::span<const observe::GraphSave> saves, size_t checked);
// A storage that is older than the recording is alive. Returns its bytes if they are recorded from now on; 0 if they
// are known already, or an allocator that is not watched made them.
uint64_t adopted(Thread& thread, c10::StorageImpl& storage);
// The program reads unknown bytes of a simulated GPU, inside the innermost operator of the thread.
void value_read(Thread& thread);
// A hook failed: its event is lost.
void hook_failed();
// Whether step_values() are needed, and the Python code to run after python_hooks.py in the same globals; or null.
bool wants_step_values();
const char* python_part();
// Finds a stack by a hash of its frames; 0 if the recording does not have it. `frames` are innermost first. A stack
// with hash 0 cannot be found again.
uint32_t find_stack(Thread& thread, uint64_t hash);
uint32_t add_stack(Thread& thread, uint64_t hash, std::span<const observe::FrameText> frames);
// `is_cut`: the stack had more frames.
uint32_t native_stack(Thread& thread, std::span<const uint64_t> program_counters, bool is_cut);

// ---- only in Mode::full. Functions for a begin return whether the event is in the recording.
bool operator_begins(Thread& thread, const at::RecordFunction& function, OperatorName& name, uint32_t stack);
bool evaluation_begins(Thread& thread, const torch::autograd::Node& node, bool releases);
bool unpacking_begins(Thread& thread);
void range_begins(Thread& thread, std::string_view name);
// The constructor of a SavedVariable. Its field is reported when its node is complete. `inner`: the inner tensors of a
// wrapper subclass. save_begins() and save_ends() surround it, because a hook of the program may pack it, or throw.
void save_begins(Thread& thread);
void save_ends(Thread& thread);
void save_made(Thread& thread, const at::Tensor& tensor, const std::vector<observe::NamedTensor>& inner,
               bool is_output);
void save_packed(Thread& thread, const at::Tensor& tensor, const std::vector<observe::NamedTensor>& inner,
                 bool is_output, const std::vector<observe::NamedTensor>& packed);
// The tensors on the ctx of a custom function's node, and those that checkpointing keeps of the operator that just
// ended.
void held_on_context(Thread& thread, const torch::autograd::Node& node, const std::vector<observe::NamedTensor>& held);
void held_by_checkpointing(Thread& thread, const std::vector<observe::NamedTensor>& held);
// `open_call`: the call in which the node was made.
void node_is_whole(Thread& thread, const torch::autograd::Node& node, const NodeType& type, const OpenCall& open_call);
// All nodes of the call were reported. Its remaining saves belong to `custom`, the call's last node of a custom
// function, or null. `raised`: its operator raised an exception, and its incomplete nodes are gone.
void saves_are_whole(Thread& thread, const OpenCall& open_call, const torch::autograd::Node* custom, bool raised);
void rewritten(Thread& thread, const observe::Rewritten& what);

}  // namespace tapelens::record

// Only if is_recording(): the allocators of devices. Programs start to use them at some operator.
namespace tapelens::cuda {

extern std::atomic<bool> g_waits;  // operator_begins() must be called
void operator_begins(observe::Thread& thread);

}  // namespace tapelens::cuda

// Only if g_rewrites; in every mode except off.
namespace tapelens::rewrite {

void thread_begins(observe::Thread& thread);
void thread_ends(observe::Thread& thread);
// Whether operators must be observed with inputs and outputs.
bool wants_calls();
// Before any other observer looks at the operator's tensors: those that are without memory get their values.
void give_memory(const at::RecordFunction& function);
// Returns the value for OpenCall::rewrite_mark.
uint32_t operator_begins(observe::Thread& thread, const at::RecordFunction& function, observe::OperatorName& name);
void operator_ends(observe::Thread& thread, const at::RecordFunction& function, uint32_t mark);
// The program itself calls an operator, or evaluates a node: tensors that it released are gone.
void sweep(ThreadState& state);
// `open_call`: the call in which it was made. Not called for nodes that die from an exception.
void node_is_whole(observe::Thread& thread, const torch::autograd::Node& node, const observe::NodeType& type,
                   const observe::OpenCall& open_call);
void backward_begins(ThreadState& state);
void backward_ended(ThreadState& state);
// Called before the program gives a variable the storage of another (`x.data = y`), which is not an operator.
void begin_variable_change(const at::Tensor& variable);
// Whether LibTorch notifies the rewrites of requests for an address. If not, address_leaves() must be called.
bool sees_addresses();
// Called before numpy or DLPack gets the address of the tensor's storage.
void address_leaves(const at::Tensor& tensor);
// Called before and after LibTorch gives a storage other memory, which is not an operator.
void begin_resize(c10::StorageImpl& storage);
void end_resize(c10::StorageImpl& storage);

}  // namespace tapelens::rewrite

// Only if g_simulates; in every mode except off.
namespace tapelens::fake_kernels {

void thread_begins(observe::Thread& thread);
void thread_ends(observe::Thread& thread);
// Returns the value for OpenCall::simulated_mark.
uint32_t operator_begins(observe::Thread& thread, const at::RecordFunction& function, observe::OperatorName& name);
void operator_ends(observe::Thread& thread, const at::RecordFunction& function, uint32_t mark);

}  // namespace tapelens::fake_kernels
