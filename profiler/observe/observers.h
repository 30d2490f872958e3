// The observers of a probe: what observe tells profiler/record, profiler/rewrite and profiler/simulated, and what these
// tell the recording.
//
// The functions are declared here, where they are called, and defined in those folders, which include this and are
// included by nobody but the probe that puts them together. So who observes is settled when a probe is linked, and each
// call is that of an ordinary function. Which calls are made is the mode's: nothing of record is called unless
// is_recording(), nothing of rewrite unless g_rewrites, nothing of simulated unless g_simulates. Nobody but them looks
// into `thread.recording`, `thread.rewriting` and `thread.simulating`.
//
// What throws is the caller's to catch (hooks.h); by themselves these throw only where there is no memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "profiler/observe/named_tensors.h"
#include "profiler/observe/thread.h"

namespace tapelens::observe {

// A frame of a Python stack.
struct FrameText {
  std::string_view file, function;
  uint32_t line;
  bool is_generated = false;  // by Inductor: `function` is the kernel that the line is for
};

// What a compiled function saves (compiled_graphs.h).
struct GraphSave {
  std::string_view field;
  FrameText place;  // without a file: not known
};

// Tensors that have a part of their own in a training. Gradients are what AccumulateGrad makes, too
// (gradient_accumulated()).
enum class Role : uint8_t { parameter, buffer, optimizer_state, gradient };
// Of a parameter.
enum class Values : uint8_t { own, gradient };

// A rewrite was applied, or skipped for a reason.
struct Rewritten {
  std::string_view rewrite;
  uint8_t level;
  const torch::autograd::Node* node;  // null: of an operator, or of the optimizer
  std::string_view field;
  uint32_t index;
  std::string_view reason;  // empty: it was applied
  uint64_t bytes, kept;
};

}  // namespace tapelens::observe

namespace tapelens::record {

using observe::Frame;
using observe::NodeType;
using observe::OperatorName;
using observe::Thread;

// ---- in a process that records, in every mode
void thread_begins(Thread& thread);
void thread_ends(Thread& thread);

// ---- where is_recording()
// The end of an evaluation of an AccumulateGrad has given a parameter its gradient. Before evaluation_ends().
void gradient_accumulated(Thread& thread, const torch::autograd::Node& node);
void operator_ends(Thread& thread);
void evaluation_ends(Thread& thread);  // of a node, or of a hook that unpacks
void range_ends(Thread& thread);
void backward_begins(Thread& thread, const std::vector<torch::autograd::Edge>& roots, bool keeps_graph,
                     bool creates_graph);
void backward_ends(Thread& thread);
// The engine returns them to the program instead of accumulating them: `of` are the edges that they belong to. Where
// wants_step_values().
void gradients_returned(Thread& thread, const std::vector<torch::autograd::Edge>& of,
                        const std::vector<at::Tensor>& gradients);
// A tensor came to be an output of a node.
void output_made(const at::Tensor& tensor, const torch::autograd::Node* node);
void node_dies(Thread& thread, const torch::autograd::Node& node);
// A module was met that is known by this number from now on (modules.h), and calls of it. One at a time.
void module_named(Thread& thread, uint32_t id, std::string_view path, std::string_view type);
// `without_gradients`: trace/record.h, ModuleCallFlags.
void module_begins(Thread& thread, uint32_t id, bool without_gradients);
void module_ends(Thread& thread);
// `of`: of a gradient or an optimizer's state its parameter, of a parameter the wrapper subclass that consists of
// `tensor`; or null. A wrapper itself has no memory: its inner tensors are told of one by one.
void role_told(Thread& thread, observe::Role role, std::string_view name, const c10::TensorImpl& tensor,
               const c10::TensorImpl* of);
// A parameter that was told keeps its name when its storage is given other memory (FSDP gathers and frees it so).
void follow_resizes(Thread& thread, std::string_view name, const c10::TensorImpl& tensor);
void storage_resized(Thread& thread, c10::StorageImpl& storage);
// An optimizer (or a rewrite that does its work) is about to step a parameter, or has stepped it. `part`: of a
// parameter that is a wrapper subclass, the values of one of the tensors that it consists of.
void step_values(Thread& thread, observe::Values of, c10::TensorImpl* parameter);
void step_values(Thread& thread, observe::Values of, const c10::TensorImpl* parameter, const at::Tensor& part);
void optimizer_begins(Thread& thread, std::string_view name);
void optimizer_ends(Thread& thread);
void step_ended(uint64_t steps);  // so many have; may change the mode
void information(Thread& thread, std::string_view key, std::string_view value);
// A variable of the program has a tensor: its name, with its place.
void variable_told(Thread& thread, std::string_view name, const c10::TensorImpl& tensor);
// A graph was compiled: the first `checked` of what it saves are given to save_for_backward().
void graph_told(Thread& thread, long number, std::span<const observe::GraphSave> saves, size_t checked);
// Bytes of a simulated GPU that nobody knows are copied to the program, inside the innermost operator of the thread.
void value_read(Thread& thread);
// What a hook would have told is lost.
void hook_failed();
// Whether step_values() are of any use, and Python that is run after python_hooks.py in the same globals; or null.
bool wants_step_values();
const char* python_part();
// A stack by a hash of its frames: 0 if the recording has none. `frames` innermost first; hash 0: it is not found by
// one.
uint32_t find_stack(Thread& thread, uint64_t hash);
uint32_t add_stack(Thread& thread, uint64_t hash, std::span<const observe::FrameText> frames);
// `is_cut`: there were more.
uint32_t native_stack(Thread& thread, std::span<const uint64_t> program_counters, bool is_cut);

// ---- in Mode::full only. Those that begin something: whether it is in the recording.
bool operator_begins(Thread& thread, const at::RecordFunction& function, OperatorName& name, uint32_t stack);
bool evaluation_begins(Thread& thread, const torch::autograd::Node& node, bool releases);
bool unpacking_begins(Thread& thread);
void range_begins(Thread& thread, std::string_view name);
// The constructor of a SavedVariable. Whose field it is is told when its node is whole. `inner`: of a wrapper subclass.
// save_begins() and save_ends() are told around it, since a hook of the program may pack it, or throw.
void save_begins(Thread& thread);
void save_ends(Thread& thread);
void save_made(Thread& thread, const at::Tensor& tensor, const std::vector<observe::NamedTensor>& inner,
               bool is_output);
void save_packed(Thread& thread, const at::Tensor& tensor, const std::vector<observe::NamedTensor>& inner,
                 bool is_output, const std::vector<observe::NamedTensor>& packed);
// What a custom function's node has on its ctx, and what checkpointing keeps of the operator that just ended.
void held_on_context(Thread& thread, const torch::autograd::Node& node, const std::vector<observe::NamedTensor>& held);
void held_by_checkpointing(Thread& thread, const std::vector<observe::NamedTensor>& held);
// `frame`: that the node was made in.
void node_is_whole(Thread& thread, const torch::autograd::Node& node, const NodeType& type, const Frame& frame);
// All nodes of the frame were told of. What is left of its saves belongs to `custom`, the last of its nodes that is a
// custom function's, if it has one. `raised`: its operator did, and the nodes that it was making are gone.
void saves_are_whole(Thread& thread, const Frame& frame, const torch::autograd::Node* custom, bool raised);
void rewritten(Thread& thread, const observe::Rewritten& what);

}  // namespace tapelens::record

// Where is_recording(): the allocators of devices, which programs begin to use at some operator.
namespace tapelens::cuda {

extern std::atomic<bool> g_waits;  // operator_begins() is to be called
void operator_begins(observe::Thread& thread);

}  // namespace tapelens::cuda

// Where g_rewrites; in every mode but off.
namespace tapelens::rewrite {

void thread_begins(observe::Thread& thread);
void thread_ends(observe::Thread& thread);
// Whether operators are to be observed with inputs and outputs.
bool wants_calls();
// For Frame::rewrite_mark.
uint32_t operator_begins(observe::Thread& thread, const at::RecordFunction& function, observe::OperatorName& name);
void operator_ends(observe::Thread& thread, const at::RecordFunction& function, uint32_t mark);
// The program itself calls an operator, or evaluates a node: what it released is gone.
void sweep(ThreadState& state);
// `frame`: that it was made in. Not called for what died of an exception.
void node_is_whole(observe::Thread& thread, const torch::autograd::Node& node, const observe::NodeType& type,
                   const observe::Frame& frame);
void backward_begins(ThreadState& state);
void backward_ended(ThreadState& state);
// Before the program gives a variable the storage of another (`x.data = y`), which is no operator.
void begin_variable_change(const at::Tensor& variable);
// Whether LibTorch tells the rewrites that somebody asks for an address; if not, address_leaves() is to.
bool sees_addresses();
// Before numpy or DLPack have the address of its storage.
void address_leaves(const at::Tensor& tensor);
// Before LibTorch gives a storage other memory, which is no operator, and after.
void begin_resize(c10::StorageImpl& storage);
void end_resize(c10::StorageImpl& storage);

}  // namespace tapelens::rewrite

// Where g_simulates; in every mode but off.
namespace tapelens::simulated {

void thread_begins(observe::Thread& thread);
void thread_ends(observe::Thread& thread);
// For Frame::simulated_mark.
uint32_t operator_begins(observe::Thread& thread, const at::RecordFunction& function, observe::OperatorName& name);
void operator_ends(observe::Thread& thread, const at::RecordFunction& function, uint32_t mark);

}  // namespace tapelens::simulated
