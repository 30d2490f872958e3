// What the probe does in this process, and what it knows of each of its threads. Everything here is made once and never
// destroyed: LibTorch's threads and static destructors may reach a hook at any time.
#pragma once

#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/inject/inject.h"
#include "profiler/observe/hash.h"

// What the observers (observers.h) keep of a thread and of an operator. Only they look into it.
namespace tapelens::record {
struct ThreadState;
struct OperatorTraits;
}  // namespace tapelens::record
namespace tapelens::rewrite {
struct ThreadState;
struct OperatorTraits;
}  // namespace tapelens::rewrite
namespace tapelens::simulated {
struct ThreadState;
struct OperatorTraits;
}  // namespace tapelens::simulated

namespace tapelens::observe {

// What hooks do at this moment. Read once per hook, relaxed. It goes up from memory to full and then only down.
enum class Mode : uint8_t {
  off = 0,      // nothing: before the start, after the end, in a forked child
  rewrite = 1,  // the graph is followed for the rewrites, a simulated GPU has its values, and nothing of
                // profiler/record is called
  memory = 2,   // outside of --steps A:B: allocations, frees, roles, steps are recorded
  full = 3,
};
extern std::atomic<Mode> g_mode;
inline Mode mode() { return g_mode.load(std::memory_order_relaxed); }
inline bool is_recording() { return mode() >= Mode::memory; }
// Whether this process records at all, and whether it rewrites: settled before the first hook. A process that rewrites
// follows the graph in every mode but off. `g_simulates`: its GPU is simulated, in every mode but off.
extern bool g_records, g_rewrites, g_simulates;
inline bool follows_graph(Mode now) { return now == Mode::full || (g_rewrites && now != Mode::off); }

extern const tapelens_inject_table* g_inject;

// An operator, evaluation, range or backward that is open on this thread. `nodes` and `saves` are where its own begin.
struct Frame {
  uint32_t nodes = 0, saves = 0;
  at::RecordScope scope{};
  bool runs_python = false;               // operators inside may come from Python code of their own
  bool is_traced = false;                 // on fake tensors, or inside such an operator
  bool is_followed = false;               // its nodes are settled at its end
  bool unpacks = false;                   // a hook of the program on a saved tensor
  torch::autograd::Node* node = nullptr;  // scope BACKWARD_FUNCTION: the evaluated one; null: a backward itself
  const char* name = nullptr;             // of the operator
  uint32_t modules = 0;                   // calls that were open when it began
  uint32_t stack = 0;                     // of operators right inside: the engine's own, where backward was called
  uint32_t own_stack = 0;                 // of the operator itself
  bool recorded = false;                  // its begin is in the recording; of one that unpacks: an operator ran in it
  uint32_t rewrite_mark = 0;              // what rewrite::operator_begins() said; 0: it need not know of the end
  uint32_t simulated_mark = 0;            // the same of simulated::operator_begins()
};

struct ModuleFrame {
  const void* frame;  // the interpreter's frame of Module.__call__
  const void* self;   // the module
  uint32_t id;        // modules.h
};

// What is known of an operator by its name, which stays at one place in memory for each overload.
struct OperatorName {
  const char* text = nullptr;
  char copy[48] = {};
  uint32_t written = 0;  // bit i: the operator changes its argument i; bit 31: any from the 32nd on
  bool runs_python = false;
  // Null until the observer has looked at it.
  const record::OperatorTraits* recorded = nullptr;
  const rewrite::OperatorTraits* rewritten = nullptr;
  const simulated::OperatorTraits* values = nullptr;
};
inline constexpr size_t kOperatorNames = 1024;  // in a thread's cache

struct SavedFields;

// What is known of a type of node, by its virtual table.
struct NodeType {
  const void* vtable = nullptr;
  std::string text;                     // "ReluBackward0"; empty where each node has a name of its own: Python's
  const SavedFields* fields = nullptr;  // null: a custom function, whose saves only the constructor sees
  bool is_custom = false, is_python = false, is_accumulate_grad = false;
  mutable std::atomic<uint32_t> recorded_as = 0;  // the recording's number of `text`; 0: it has none yet
};

struct Thread {
  // Inside a hook that may run the program's code or ours: operators and saves are not ours to record.
  bool busy = false;
  // Inside an operator that profiler/simulated calls for its values: neither it nor its memory is the program's.
  bool carries_out = false;
  std::vector<Frame> frames;
  std::vector<torch::autograd::Node*> nodes;  // that are not whole yet
  uint32_t saves = 0;                         // of such nodes, that the recording was told of
  std::vector<ModuleFrame> modules;
  uint32_t settling_stack = 0;                   // of the operator that just ended
  record::ThreadState* recording = nullptr;      // never null where the process records
  rewrite::ThreadState* rewriting = nullptr;     // never null where it rewrites
  simulated::ThreadState* simulating = nullptr;  // never null where its GPU is simulated

  // Direct-mapped caches: a slot holds the last that fell on it.
  struct SeenNode {
    const torch::autograd::Node* node = nullptr;
    uint64_t sequence_nr = 0;
  };
  std::array<OperatorName, kOperatorNames> names;
  std::array<const NodeType*, 512> node_types{};
  std::array<SeenNode, 1024> seen_nodes;
  Thread* next = nullptr;
};

// Is the thread's innermost frame an operator (a torch.autograd.Function is one), not a range or the program itself?
inline bool inside_operator(const Thread& thread) {
  return !thread.frames.empty() && (thread.frames.back().scope == at::RecordScope::FUNCTION ||
                                    thread.frames.back().scope == at::RecordScope::TORCHSCRIPT_FUNCTION);
}

// May Python code be what runs now: the program's own, or that of an operator, range or hook?
inline bool python_is_innermost(const Thread& thread) {
  return thread.frames.empty() || thread.frames.back().runs_python;
}

// Is the engine itself next, not a node's or the program's code?
inline bool inside_engine(const Thread& thread) {
  return !thread.frames.empty() && thread.frames.back().scope == at::RecordScope::BACKWARD_FUNCTION &&
         thread.frames.back().node == nullptr;
}

// Is a node being evaluated on this thread, and the program's code running in it (a hook, a custom function)?
inline bool inside_evaluation(const Thread& thread) {
  if (inside_operator(thread)) return false;
  for (const Frame& frame : thread.frames)
    if (frame.node != nullptr) return true;
  return false;
}

// Is a backward under way on this thread?
inline bool in_backward(const Thread& thread) {
  for (const Frame& frame : thread.frames)
    if (frame.scope == at::RecordScope::BACKWARD_FUNCTION) return true;
  return false;
}

// The calling thread's state, made when first asked for.
Thread& make_thread();
inline Thread& this_thread() {
  void* state = *g_inject->thread_slot();
  return state != nullptr ? *static_cast<Thread*>(state) : make_thread();
}

// Keeps hooks that it causes out.
class Busy {
 public:
  explicit Busy(Thread& thread) : thread_(thread) { thread_.busy = true; }
  ~Busy() { thread_.busy = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Thread& thread_;
};

class CarryingOut {
 public:
  explicit CarryingOut(Thread& thread) : thread_(thread), was_(thread.carries_out) { thread_.carries_out = true; }
  ~CarryingOut() { thread_.carries_out = was_; }
  CarryingOut(const CarryingOut&) = delete;
  CarryingOut& operator=(const CarryingOut&) = delete;

 private:
  Thread& thread_;
  const bool was_;
};

}  // namespace tapelens::observe
