// The probe's mode in this process, and its state for each thread. Everything here is made once and never destroyed:
// LibTorch's threads and static destructors may reach a hook at any time.
#pragma once

#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler/inject/inject.h"

// The observers' state (observers.h) for a thread and for an operator. Only the observers access it.
namespace tapelens::record {
struct ThreadState;
struct OperatorTraits;
}  // namespace tapelens::record
namespace tapelens::rewrite {
struct ThreadState;
struct OperatorTraits;
}  // namespace tapelens::rewrite
namespace tapelens::fake_kernels {
struct ThreadState;
struct OperatorTraits;
}  // namespace tapelens::fake_kernels

namespace tapelens::observe {

// Hashes for the caches of a thread.
//
// The slot in a direct-mapped cache with `slots` slots, a power of two.
inline size_t slot_of(uint64_t key, size_t slots) { return (key * 0x9e3779b97f4a7c15ULL) >> 40 & (slots - 1); }
inline uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9fb21c651e98df25ULL;
  return hash ^ hash >> 32;
}

// The activity of hooks at this moment. Each hook reads it once, relaxed. It rises from memory to full and then only
// falls.
enum class Mode : uint8_t {
  off = 0,      // inactive: before the start, after the end, in a forked child
  rewrite = 1,  // follows the graph for the rewrites, computes a simulated GPU's values, and does not call
                // profiler/record
  memory = 2,   // outside of --steps A:B: records allocations, frees, roles and steps
  full = 3,
};
extern std::atomic<Mode> g_mode;
inline Mode mode() { return g_mode.load(std::memory_order_relaxed); }
inline bool is_recording() { return mode() >= Mode::memory; }
// Whether this process records, rewrites, or simulates its GPU: set before the first hook. A process that rewrites
// follows the graph in every mode except off. A simulated GPU computes in every mode except off.
extern bool g_records, g_rewrites, g_simulates;
inline bool follows_graph(Mode now) { return now == Mode::full || (g_rewrites && now != Mode::off); }

extern const tapelens_inject_table* g_inject;

// An operator, evaluation, range or backward that is open on this thread. `nodes` and `saves`: the indices at which its
// nodes and saves begin.
struct OpenCall {
  uint32_t nodes = 0, saves = 0;
  at::RecordScope scope{};
  bool runs_python = false;               // it runs Python code, which may call the operators inside
  bool is_traced = false;                 // it runs on fake tensors, or inside such an operator
  bool is_followed = false;               // its nodes are settled at its end
  bool unpacks = false;                   // an unpack hook of the program
  torch::autograd::Node* node = nullptr;  // scope BACKWARD_FUNCTION: the evaluated one; null: a backward itself
  const char* name = nullptr;             // name of the operator
  uint32_t modules = 0;                   // number of open calls when it began
  uint32_t stack = 0;                     // stack for the engine's operators directly inside: the call of backward
  uint32_t own_stack = 0;                 // stack of the operator itself
  bool recorded = false;                  // its begin is in the recording; for one that unpacks: an operator ran in it
  uint32_t rewrite_mark = 0;              // result of rewrite::operator_begins(); 0: it ignores the end
  uint32_t simulated_mark = 0;            // result of fake_kernels::operator_begins(), likewise
};

struct ModuleFrame {
  const void* frame;  // the interpreter's frame of Module.__call__
  const void* self;   // the module
  uint32_t id;        // modules.h
};

// Properties of an operator, by its name. The name has a fixed address for each overload.
struct OperatorName {
  const char* text = nullptr;
  char copy[48] = {};
  uint32_t written = 0;  // bit i: the operator writes its argument i; bit 31: any from the 32nd on
  bool runs_python = false;
  // Null until the observer has looked it up.
  const record::OperatorTraits* recorded = nullptr;
  const rewrite::OperatorTraits* rewritten = nullptr;
  const fake_kernels::OperatorTraits* values = nullptr;
};
inline constexpr size_t kOperatorNames = 1024;  // in a thread's cache

struct SavedFields;

// Properties of a node type, by its virtual table.
struct NodeType {
  const void* vtable = nullptr;
  std::string text;                     // "ReluBackward0"; empty if each node has its own name (Python)
  const SavedFields* fields = nullptr;  // null: a custom function, whose saves only the constructor sees
  bool is_custom = false, is_python = false, is_accumulate_grad = false;
  mutable std::atomic<uint32_t> recorded_as = 0;  // the recording's number of `text`; 0: it has no number yet
};

struct Thread {
  // Inside a hook that may run code of the program or of the probe: its operators and saves are not recorded.
  bool busy = false;
  // Inside an operator that profiler/fake_kernels calls to compute values: neither it nor its memory belongs to the
  // program.
  bool executes_on_cpu = false;
  std::vector<OpenCall> open_calls;
  std::vector<torch::autograd::Node*> nodes;  // incomplete nodes
  uint32_t saves = 0;                         // number of reported saves of these nodes
  std::vector<ModuleFrame> modules;
  uint32_t settling_stack = 0;                      // stack of the operator that just ended
  record::ThreadState* recording = nullptr;         // not null if the process records
  rewrite::ThreadState* rewriting = nullptr;        // not null if it rewrites
  fake_kernels::ThreadState* simulating = nullptr;  // not null if its GPU is simulated

  // Direct-mapped caches: a slot keeps its last entry.
  struct SeenNode {
    const torch::autograd::Node* node = nullptr;
    uint64_t sequence_nr = 0;
  };
  std::array<OperatorName, kOperatorNames> names;
  std::array<const NodeType*, 512> node_types{};
  std::array<SeenNode, 1024> seen_nodes;
  Thread* next = nullptr;
};

// Whether the thread's innermost open call is an operator (including a torch.autograd.Function), not a range or the
// program.
inline bool inside_operator(const Thread& thread) {
  return !thread.open_calls.empty() && (thread.open_calls.back().scope == at::RecordScope::FUNCTION ||
                                        thread.open_calls.back().scope == at::RecordScope::TORCHSCRIPT_FUNCTION);
}

// Whether Python code may be running now: the program's, or that of an operator, range or hook.
inline bool python_is_innermost(const Thread& thread) {
  return thread.open_calls.empty() || thread.open_calls.back().runs_python;
}

// Whether the engine itself runs, not code of a node or of the program.
inline bool inside_engine(const Thread& thread) {
  return !thread.open_calls.empty() && thread.open_calls.back().scope == at::RecordScope::BACKWARD_FUNCTION &&
         thread.open_calls.back().node == nullptr;
}

// Whether this thread evaluates a node and runs code of the program in it (a hook, a custom function).
inline bool inside_evaluation(const Thread& thread) {
  if (inside_operator(thread)) return false;
  for (const OpenCall& open_call : thread.open_calls)
    if (open_call.node != nullptr) return true;
  return false;
}

// Whether a backward runs on this thread.
inline bool in_backward(const Thread& thread) {
  for (const OpenCall& open_call : thread.open_calls)
    if (open_call.scope == at::RecordScope::BACKWARD_FUNCTION) return true;
  return false;
}

// The calling thread's state, made on first use.
Thread& make_thread();
inline Thread& this_thread() {
  void* state = *g_inject->thread_slot();
  return state != nullptr ? *static_cast<Thread*>(state) : make_thread();
}

// Suppresses hooks that its scope causes.
class Busy {
 public:
  explicit Busy(Thread& thread) : thread_(thread) { thread_.busy = true; }
  ~Busy() { thread_.busy = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Thread& thread_;
};

class ExecutingOnCpu {
 public:
  explicit ExecutingOnCpu(Thread& thread) : thread_(thread), was_(thread.executes_on_cpu) {
    thread_.executes_on_cpu = true;
  }
  ~ExecutingOnCpu() { thread_.executes_on_cpu = was_; }
  ExecutingOnCpu(const ExecutingOnCpu&) = delete;
  ExecutingOnCpu& operator=(const ExecutingOnCpu&) = delete;

 private:
  Thread& thread_;
  const bool was_;
};

}  // namespace tapelens::observe
