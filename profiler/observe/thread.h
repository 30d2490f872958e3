// The state of the recording in this process, and of each of its threads. Everything here is made once and never
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
#include "profiler/rewrite/host.h"
#include "trace/spool_writer.h"

namespace tapelens::capture {

// What hooks write at this moment. Read once per hook, relaxed.
enum class Mode : uint8_t {
  off = 0,      // nothing: before the start, after the end, in a forked child
  rewrite = 1,  // nothing is written, but the graph is followed: rewrites without a recording, or after its end
  memory = 2,   // outside of --steps A:B: allocations, frees, roles, steps
  full = 3,
};
extern std::atomic<Mode> g_mode;
inline Mode mode() { return g_mode.load(std::memory_order_relaxed); }
inline bool is_recording() { return mode() >= Mode::memory; }
// Whether this process rewrites, settled before the first hook. Then the graph is followed in every mode but off.
extern bool g_rewrites;
inline bool follows_graph(Mode now) { return now == Mode::full || (g_rewrites && now != Mode::off); }

extern trace::SpoolWriter g_spool;
extern const tapelens_inject_table* g_inject;

// A save as the constructor of SavedVariable saw it. Whose field it became is known when its operator ends.
struct PendingSave {
  const void* place;  // the SavedVariable under construction: a temporary, or the element of a list
  uint64_t ticks;
  uint64_t storage, storage_bytes, storage_offset;
  uint32_t layout;
  uint8_t flags;  // trace::SaveFlags
  bool claimed;
};

// An operator, evaluation, range or backward that is open on this thread. `nodes` and `saves` are where its own begin.
struct Frame {
  uint32_t nodes = 0, saves = 0;
  at::RecordScope scope{};
  bool recorded = false;
  bool runs_python = false;               // operators inside may come from Python code of their own
  torch::autograd::Node* node = nullptr;  // scope BACKWARD_FUNCTION: the evaluated one; null: a backward itself
  uint32_t stack = 0;                     // of operators right inside: the engine's own, where backward was called
  uint32_t own_stack = 0;                 // of the operator itself
  const char* name = nullptr;             // of the operator
  bool is_followed = false;               // its nodes are settled at its end
  bool is_call = false;                   // of a cheap operator: thread.rewrites.calls has it
  bool is_watched = false;                // what it writes is in thread.rewrites.written, from `written` on
  uint32_t written = 0;
  uint32_t modules = 0;  // calls that were open when it began
  bool unpacks = false;  // a hook of the program on a saved tensor; recorded: an operator ran in it
};

struct ModuleFrame {
  const void* frame;  // the interpreter's frame of Module.__call__
  const void* self;   // the module
  uint32_t id;        // trace module
};

// What is known of a type of node, by its virtual table.
struct NodeType {
  const void* vtable = nullptr;
  std::string text;                            // "ReluBackward0", where saves may be rewritten
  const struct SavedFields* fields = nullptr;  // null: a custom function, whose saves only the constructor sees
  uint32_t name = 0;                           // string
  bool is_custom = false, is_accumulate_grad = false, name_varies = false;
};

struct Thread {
  trace::Lane lane;
  bool busy =
      false;  // inside a hook that may run the program's code or ours: operators and saves are not ours to record
  std::vector<Frame> frames;
  std::vector<torch::autograd::Node*> nodes;
  std::vector<PendingSave> saves;
  std::vector<ModuleFrame> modules;
  rewrite::ThreadState rewrites;
  uint32_t settling_stack = 0;  // of the operator that just ended

  // Direct-mapped caches: a slot holds the last that fell on it.
  struct Name {
    const char* text = nullptr;
    char copy[48] = {};
    uint32_t id = 0;
    uint32_t written = 0;  // bit i: the operator changes its argument i; bit 31: any from the 32nd on
    bool runs_python = false;
    const rewrite::CheapOperator* cheap = nullptr;
    bool has_views = false;  // what it was given of each input is recorded
    bool is_cheap_in_place = false;
    recompute::Product product = recompute::Product::none;
    bool is_collective = false;  // it passes tensors to other processes or has them written, on another thread perhaps
  };
  struct Stack {
    uint64_t hash = 0;
    uint32_t id = 0;
  };
  struct Layout {
    uint64_t hash = 0;
    uint32_t id = 0;
  };
  struct Foreign {
    uint64_t address = 0, bytes = 0;
  };
  struct Attributes {
    std::array<char, 96> copy{};  // zeros behind the text; a longer one is not kept
    uint32_t id = 0;
  };
  struct Recorded {
    const torch::autograd::Node* node = nullptr;
    uint64_t sequence_nr = 0, storage = 0;
    uint32_t generation = 0;
  };
  std::array<Name, 1024> names;
  std::array<Stack, 1024> stacks;
  std::array<Layout, 1024> layouts;
  std::array<Foreign, 64> foreigns;
  std::array<NodeType, 512> node_types;
  std::array<Attributes, 64> attributes;
  std::array<Recorded, 1024> recorded;
  Thread* next = nullptr;
};

// Is the thread's innermost frame an operator (a torch.autograd.Function is one), not a range or the program itself?
inline bool inside_operator(const Thread& thread) {
  return !thread.frames.empty() && (thread.frames.back().scope == at::RecordScope::FUNCTION ||
                                    thread.frames.back().scope == at::RecordScope::TORCHSCRIPT_FUNCTION);
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

// The calling thread's state, made when first asked for. Never null while recording.
Thread& make_thread();
inline Thread& this_thread() {
  void* state = *g_inject->thread_slot();
  return state != nullptr ? *static_cast<Thread*>(state) : make_thread();
}

inline size_t slot_of(uint64_t key, size_t slots) { return (key * 0x9e3779b97f4a7c15ULL) >> 40 & (slots - 1); }
inline uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// True while the hook may go on; keeps hooks that it causes out.
class Busy {
 public:
  explicit Busy(Thread& thread) : thread_(thread) { thread_.busy = true; }
  ~Busy() { thread_.busy = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Thread& thread_;
};

// A record with a tail of 8-byte words: header and fields first. Null when nothing can be written any more.
template <class Record>
Record* reserve(Thread& thread, trace::RecordKind kind, uint8_t flags, uint32_t id, size_t tail_words, size_t& bytes) {
  bytes = sizeof(Record) + 8 * tail_words;
  void* place = thread.lane.reserve(bytes);
  if (place == nullptr) return nullptr;
  auto* record = static_cast<Record*>(place);
  record->header = {kind, flags, static_cast<uint16_t>(bytes / 8), id};
  return record;
}

template <class Record>
trace::RecordHeader header(trace::RecordKind kind, uint8_t flags = 0, uint32_t id = 0) {
  return {kind, flags, static_cast<uint16_t>(sizeof(Record) / 8), id};
}

// The end of something, or a moment.
inline void write_event(Thread& thread, trace::RecordKind kind, uint32_t id = 0, uint8_t flags = 0) {
  thread.lane.write(trace::NamedEventRecord{header<trace::NamedEventRecord>(kind, flags, id), trace::ticks_now()});
}

}  // namespace tapelens::capture
