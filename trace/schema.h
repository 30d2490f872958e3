// The tables and columns of a sealed recording, with their units and encodings. This is their only declaration: it
// determines what the sealer pushes and flushes, what the analyzer decodes and which ids the analyzer checks (table.h).
// docs/trace-format.md has the tables and their comments (scripts/docs).
//
// A column's number is in files and is never reused; a reader skips unknown numbers. Retired are table 40 and, in other
// tables: operators 5 and 6, allocations 4, nodes 3 and 7, node_edges 1, backwards 2.
//
// Rows count from 1, so that an id is a row and 0 means none. All processes share the tables below
// kFirstTableOfProcess; each process has its own copy of the other tables. Ends of operators, allocations, ...
// have their own tables, in time order, because they are known later: this lets a sealer stream. Rows are in time order
// unless noted. A time column with delta encoding never decreases.
#pragma once

#include <cstdint>

#include "trace/record.h"
#include "trace/table.h"
#include "trace/types.h"

namespace tapelens::trace {

enum class Table : uint8_t {
  // shared by all processes
  string_bytes = 1,
  strings = 2,
  frames = 3,
  stacks = 4,
  stack_frames = 5,
  layouts = 6,
  layout_extents = 7,
  modules = 8,
  devices = 9,
  // one per process
  information = 20,
  threads = 21,
  operators = 22,
  operator_inputs = 23,
  operator_ends = 24,
  allocations = 25,
  frees = 26,
  nodes = 27,
  node_edges = 28,
  node_releases = 29,
  saves = 30,
  evaluations = 31,
  evaluation_ends = 32,
  backwards = 33,
  roles = 34,
  module_calls = 35,
  module_call_ends = 36,
  optimizer_steps = 37,
  ranges = 38,
  losses = 39,
  input_views = 41,
  rewrites = 42,
  checksums = 43,
  sources = 44,
  device_blocks = 45,
  free_requests = 46,
  segment_events = 47,
  out_of_memory = 48,
  value_reads = 50,
  outside_events = 60,
  device_usage = 61,
  virtual_memory = 62,
  memory_pools = 63,
  held = 70,
  variables = 72,
  imported_facts = 80,
};
inline constexpr uint8_t kFirstTableOfProcess = 20;

// The id of rows that no column refers to.
using NoId = Id<struct NoIdTag>;

namespace table {

// ---- shared

// The UTF-8 text of all strings, one after another; well-formed.
template <template <class> class Of>
struct StringBytes {
  static constexpr Table kTable = Table::string_bytes;
  static constexpr const char* kName = "string_bytes";
  using Id = NoId;
  Of<Plain<0, "byte", uint8_t>> byte;
};

template <template <class> class Of>
struct Strings {
  static constexpr Table kTable = Table::strings;
  static constexpr const char* kName = "strings";
  using Id = StringId;
  Of<Plain<0, "bytes", uint32_t>> bytes;  // of each string, in the order of string_bytes
};

template <template <class> class Of>
struct Frames {
  static constexpr Table kTable = Table::frames;
  static constexpr const char* kName = "frames";
  using Id = FrameId;
  Of<Plain<0, "file", StringId>> file;
  Of<Plain<1, "function", StringId>> function;
  Of<Plain<2, "line", uint32_t>> line;  // from 1; 0: unknown
};

template <template <class> class Of>
struct Stacks {
  static constexpr Table kTable = Table::stacks;
  static constexpr const char* kName = "stacks";
  using Id = StackId;
  Of<Plain<0, "depth", uint32_t>> depth;  // rows in stack_frames
};

template <template <class> class Of>
struct StackFrames {
  static constexpr Table kTable = Table::stack_frames;
  static constexpr const char* kName = "stack_frames";
  using Id = NoId;
  Of<Plain<0, "frame", FrameId>> frame;  // innermost first
};

template <template <class> class Of>
struct Layouts {
  static constexpr Table kTable = Table::layouts;
  static constexpr const char* kName = "layouts";
  using Id = LayoutId;
  Of<Plain<0, "dtype", StringId>> dtype;
  Of<Plain<1, "element_bytes", uint16_t>> element_bytes;
  Of<Plain<2, "rank", uint16_t>> rank;  // rows in layout_extents
};

template <template <class> class Of>
struct LayoutExtents {
  static constexpr Table kTable = Table::layout_extents;
  static constexpr const char* kName = "layout_extents";
  using Id = NoId;
  Of<Plain<0, "size", uint64_t>> size;      // elements
  Of<Plain<1, "stride", uint64_t>> stride;  // elements, signed
};

template <template <class> class Of>
struct Modules {
  static constexpr Table kTable = Table::modules;
  static constexpr const char* kName = "modules";
  using Id = ModuleId;
  Of<Plain<0, "path", StringId>> path;
  Of<Plain<1, "type", StringId>> type;
};

template <template <class> class Of>
struct Devices {
  static constexpr Table kTable = Table::devices;
  static constexpr const char* kName = "devices";
  using Id = DeviceId;
  Of<Plain<0, "name", StringId>> name;  // at most 255 rows
};

// ---- one per process

template <template <class> class Of>
struct Information {
  static constexpr Table kTable = Table::information;
  static constexpr const char* kName = "information";
  using Id = NoId;
  Of<Plain<0, "key", StringId>> key;
  Of<Plain<1, "value", StringId>> value;
};

template <template <class> class Of>
struct Threads {
  static constexpr Table kTable = Table::threads;
  static constexpr const char* kName = "threads";
  using Id = ThreadId;
  Of<Plain<0, "os_id", uint32_t>> os_id;  // gettid(); one row for each lane, at most 65535
};

template <template <class> class Of>
struct Operators {
  static constexpr Table kTable = Table::operators;
  static constexpr const char* kName = "operators";
  using Id = OperatorId;
  Of<Delta<0, "begin", Time>> begin;
  Of<Plain<1, "name", StringId>> name;
  Of<Plain<2, "thread", ThreadId>> thread;  // 0: past 65535 threads
  Of<Plain<3, "stack", StackId>> stack;     // 0: the stack of the enclosing operator, or of the node under evaluation
  Of<Plain<4, "module_call", ModuleCallId>> module_call;  // the innermost open call
  Of<Plain<7, "input_count", uint16_t>> input_count;      // rows in operator_inputs
  Of<Delta<8, "parent", OperatorId>> parent;              // the enclosing operator
  Of<Delta<9, "evaluation", EvaluationId>> evaluation;    // the enclosing evaluation
  Of<Plain<10, "written", uint32_t>> written;             // a bit for each input, as in operator_begin
};

template <template <class> class Of>
struct OperatorInputs {
  static constexpr Table kTable = Table::operator_inputs;
  static constexpr const char* kName = "operator_inputs";
  using Id = NoId;
  Of<Delta<0, "allocation", AllocationId>> allocation;
};

// Views of the inputs of copies, products, ... (InputViewsRecord): one row per input, in the order of the operators.
template <template <class> class Of>
struct InputViews {
  static constexpr Table kTable = Table::input_views;
  static constexpr const char* kName = "input_views";
  using Id = ViewId;
  Of<Delta<0, "operator", OperatorId>> op;
  Of<Plain<1, "layout", LayoutId>> layout;
  Of<Plain<2, "storage_offset", uint64_t>> offset;  // elements
};

template <template <class> class Of>
struct OperatorEnds {
  static constexpr Table kTable = Table::operator_ends;
  static constexpr const char* kName = "operator_ends";
  using Id = NoId;
  Of<Delta<0, "operator", OperatorId>> of;
  Of<Delta<1, "end", Time>> end;
};

template <template <class> class Of>
struct Allocations {
  static constexpr Table kTable = Table::allocations;
  static constexpr const char* kName = "allocations";
  using Id = AllocationId;
  Of<Delta<0, "time", Time>> time;
  Of<Plain<1, "bytes", Bytes>> bytes;  // requested
  Of<Plain<2, "device", DeviceId>> device;
  Of<Plain<3, "origin", Origin>> origin;
  Of<Delta<5, "operator", OperatorId>> op;                // the innermost open operator
  Of<Delta<6, "evaluation", EvaluationId>> evaluation;    // the innermost open evaluation
  Of<Plain<7, "stack", StackId>> stack;                   // 0: the stack of its operator
  Of<Plain<8, "module_call", ModuleCallId>> module_call;  // the innermost open call
};

template <template <class> class Of>
struct Frees {
  static constexpr Table kTable = Table::frees;
  static constexpr const char* kName = "frees";
  using Id = FreeId;
  Of<Delta<0, "allocation", AllocationId>> of;
  Of<Delta<1, "time", Time>> time;
};

// Additional columns of allocations by a device's own allocator: one row each, in the same order.
template <template <class> class Of>
struct DeviceBlocks {
  static constexpr Table kTable = Table::device_blocks;
  static constexpr const char* kName = "device_blocks";
  using Id = DeviceBlockId;
  Of<Delta<0, "allocation", AllocationId>> allocation;
  Of<Plain<1, "rounded", Bytes>> rounded;  // bytes of the block
  Of<Delta<2, "address", uint64_t>> address;
  Of<Plain<3, "stream", uint64_t>> stream;          // a handle; 0: the default stream
  Of<Plain<4, "graph_pool", uint32_t>> graph_pool;  // PyTorch's number of a captured graph; 0: none
  Of<Plain<5, "user_pool", uint32_t>> user_pool;    // number of a torch.cuda.MemPool; 0: none
};

// The time at which the program freed an allocation that other streams still used. Its row in frees has the time of the
// actual free.
template <template <class> class Of>
struct FreeRequests {
  static constexpr Table kTable = Table::free_requests;
  static constexpr const char* kName = "free_requests";
  using Id = FreeRequestId;
  Of<Delta<0, "allocation", AllocationId>> of;
  Of<Delta<1, "time", Time>> time;
};

// Memory that such an allocator reserves of a device and releases.
template <template <class> class Of>
struct SegmentEvents {
  static constexpr Table kTable = Table::segment_events;
  static constexpr const char* kName = "segment_events";
  using Id = SegmentEventId;
  Of<Delta<0, "time", Time>> time;
  Of<Plain<1, "device", DeviceId>> device;
  Of<Plain<2, "change", SegmentChange>> change;
  Of<Delta<3, "address", uint64_t>> address;
  Of<Plain<4, "bytes", Bytes>> bytes;
  Of<Plain<5, "stream", uint64_t>> stream;          // a handle
  Of<Plain<6, "graph_pool", uint32_t>> graph_pool;  // as in device_blocks
  Of<Plain<7, "user_pool", uint32_t>> user_pool;    // as in device_blocks
};

// Allocations and frees of the driver, for any library. After an `ended` row they are not known.
template <template <class> class Of>
struct OutsideEvents {
  static constexpr Table kTable = Table::outside_events;
  static constexpr const char* kName = "outside_events";
  using Id = OutsideEventId;
  Of<Delta<0, "time", Time>> time;  // when it was reported
  Of<Plain<1, "age", Time>> age;    // ns from the event to its report; no event is before the start of the recording
  Of<Plain<2, "device", DeviceId>> device;
  Of<Plain<3, "change", OutsideChange>> change;
  Of<Plain<4, "memory", OutsideMemory>> memory;
  Of<Delta<5, "address", uint64_t>> address;
  Of<Plain<6, "bytes", Bytes>> bytes;
  Of<Plain<7, "library", StringId>> library;  // that called the driver; 0: not known
  Of<Plain<8, "operator", OperatorId>> op;    // innermost open at the call; 0: none, or not known
};

// Physical memory of the driver, by its handle.
template <template <class> class Of>
struct VirtualMemory {
  static constexpr Table kTable = Table::virtual_memory;
  static constexpr const char* kName = "virtual_memory";
  using Id = VirtualMemoryId;
  Of<Delta<0, "time", Time>> time;  // when it was reported
  Of<Plain<1, "age", Time>> age;    // as in outside_events
  Of<Plain<2, "device", DeviceId>> device;
  Of<Plain<3, "change", VirtualChange>> change;
  Of<Plain<4, "handle", uint64_t>> handle;
  Of<Delta<5, "address", uint64_t>> address;
  Of<Plain<6, "bytes", Bytes>> bytes;
  Of<Plain<7, "library", StringId>> library;  // as in outside_events
  Of<Plain<8, "operator", OperatorId>> op;    // as in outside_events
};

// The sizes of the driver's pools, one row for each report.
template <template <class> class Of>
struct MemoryPools {
  static constexpr Table kTable = Table::memory_pools;
  static constexpr const char* kName = "memory_pools";
  using Id = MemoryPoolId;
  Of<Delta<0, "time", Time>> time;  // when it was reported
  Of<Plain<1, "age", Time>> age;    // ns from the state to its report
  Of<Plain<2, "device", DeviceId>> device;
  Of<Plain<3, "change", PoolChange>> change;
  Of<Plain<4, "address", uint64_t>> address;  // names the pool
  Of<Plain<5, "reserved", Bytes>> reserved;
  Of<Plain<6, "used", Bytes>> used;
};

// How much of a device all processes used.
template <template <class> class Of>
struct DeviceUsage {
  static constexpr Table kTable = Table::device_usage;
  static constexpr const char* kName = "device_usage";
  using Id = DeviceUsageId;
  Of<Delta<0, "time", Time>> time;
  Of<Plain<1, "device", DeviceId>> device;
  Of<Plain<2, "used", Bytes>> used;    // bytes, by all processes
  Of<Plain<3, "total", Bytes>> total;  // bytes of the device
};

template <template <class> class Of>
struct OutOfMemory {
  static constexpr Table kTable = Table::out_of_memory;
  static constexpr const char* kName = "out_of_memory";
  using Id = OutOfMemoryId;
  Of<Delta<0, "time", Time>> time;
  Of<Plain<1, "device", DeviceId>> device;
  Of<Plain<2, "bytes", Bytes>> bytes;                     // size of the block that the allocator could not get
  Of<Plain<3, "allocated", Bytes>> allocated;             // bytes, by the allocator's count
  Of<Plain<4, "reserved", Bytes>> reserved;               // likewise
  Of<Plain<5, "free", uint64_t>> free;                    // on the device; 2^64-1: not known
  Of<Delta<6, "operator", OperatorId>> op;                // the innermost open operator
  Of<Plain<7, "stack", StackId>> stack;                   // 0: the stack of its operator
  Of<Plain<8, "module_call", ModuleCallId>> module_call;  // the innermost open call
};

template <template <class> class Of>
struct Nodes {
  static constexpr Table kTable = Table::nodes;
  static constexpr const char* kName = "nodes";
  using Id = NodeId;
  Of<Delta<0, "time", Time>> time;
  Of<Plain<1, "type", StringId>> type;
  Of<Delta<2, "operator", OperatorId>> op;            // the innermost open operator
  Of<Plain<4, "flags", uint8_t>> flags;               // NodeFlags
  Of<Plain<5, "edge_count", uint16_t>> edge_count;    // rows in node_edges
  Of<Plain<6, "parameter", AllocationId>> parameter;  // set for an AccumulateGrad
  Of<Plain<8, "attributes", StringId>> attributes;    // "training=False"; 0: the probe did not record them
};

template <template <class> class Of>
struct NodeEdges {
  static constexpr Table kTable = Table::node_edges;
  static constexpr const char* kName = "node_edges";
  using Id = NoId;
  // any row: an AccumulateGrad may be recorded later; 0: none, or (flag 4 of its node) not recorded
  Of<Delta<0, "node", NodeId>> node;
};

template <template <class> class Of>
struct NodeReleases {
  static constexpr Table kTable = Table::node_releases;
  static constexpr const char* kName = "node_releases";
  using Id = ReleaseId;
  Of<Delta<0, "node", NodeId>> of;
  Of<Delta<1, "time", Time>> time;
  Of<Plain<2, "flags", uint8_t>> flags;  // NodeReleaseFlags
};

template <template <class> class Of>
struct Saves {
  static constexpr Table kTable = Table::saves;
  static constexpr const char* kName = "saves";
  using Id = SaveId;
  Of<Delta<0, "time", Time>> time;
  Of<Delta<1, "node", NodeId>> node;  // 0: unattributed
  Of<Plain<2, "field", StringId>> field;
  Of<Plain<3, "index", uint32_t>> index;                // place in a field that is a list, else 0
  Of<Delta<4, "allocation", AllocationId>> allocation;  // 0: it holds no bytes
  Of<Plain<5, "storage_offset", uint64_t>> offset;      // elements
  Of<Plain<6, "layout", LayoutId>> layout;
  Of<Plain<7, "flags", uint8_t>> flags;  // SaveFlags
  Of<Plain<8, "stack", StackId>> stack;  // stack of the line that computed it; 0: the stack of its allocation
};

// Storages that are kept for backward by something other than a save.
template <template <class> class Of>
struct Held {
  static constexpr Table kTable = Table::held;
  static constexpr const char* kName = "held";
  using Id = HeldId;
  Of<Delta<0, "time", Time>> time;
  Of<Delta<1, "node", NodeId>> node;      // 0: no node, or not recorded
  Of<Plain<2, "field", StringId>> field;  // the purpose
  Of<Delta<3, "allocation", AllocationId>> allocation;
  Of<Plain<4, "by", HeldBy>> by;
};

// The program's variable that referred to an allocation at the time of a look-up (record --referrers). A new row
// follows when the variable changes.
template <template <class> class Of>
struct Variables {
  static constexpr Table kTable = Table::variables;
  static constexpr const char* kName = "variables";
  using Id = NoId;
  Of<Delta<0, "time", Time>> time;
  Of<Delta<1, "allocation", AllocationId>> allocation;
  Of<Plain<2, "name", StringId>> name;  // with its location: "history[3] in train.py:61"
};

// Facts about an imported allocation: the operators, the node and the phase that its stack showed, its role, and the
// evidence for the role. They also come from C++ frames, which the recorded stack does not have. Allocations without
// known facts have no row.
template <template <class> class Of>
struct ImportedFacts {
  static constexpr Table kTable = Table::imported_facts;
  static constexpr const char* kName = "imported_facts";
  using Id = ImportedFactsId;
  Of<Delta<0, "allocation", AllocationId>> allocation;
  Of<Plain<1, "operator", StringId>> op;    // the innermost; 0: not known
  Of<Plain<2, "called", StringId>> called;  // outermost operator between the allocation and the first Python frame
  Of<Plain<3, "node", StringId>> node;      // type of the node under evaluation; 0: none, or not known
  Of<Plain<4, "phase", ImportedPhase>> phase;
  Of<Plain<5, "role", ImportedRole>> role;
  Of<Plain<6, "evidence", StringId>> evidence;  // the evidence for the role
};

template <template <class> class Of>
struct Evaluations {
  static constexpr Table kTable = Table::evaluations;
  static constexpr const char* kName = "evaluations";
  using Id = EvaluationId;
  Of<Delta<0, "begin", Time>> begin;
  Of<Delta<1, "node", NodeId>> node;
  Of<Plain<2, "thread", ThreadId>> thread;
  Of<Plain<3, "flags", uint8_t>> flags;  // EvaluationFlags
};

template <template <class> class Of>
struct EvaluationEnds {
  static constexpr Table kTable = Table::evaluation_ends;
  static constexpr const char* kName = "evaluation_ends";
  using Id = NoId;
  Of<Delta<0, "evaluation", EvaluationId>> of;
  Of<Delta<1, "end", Time>> end;
};

// Few and long. Rows are written at their end, so they are in the order of their ends.
template <template <class> class Of>
struct Backwards {
  static constexpr Table kTable = Table::backwards;
  static constexpr const char* kName = "backwards";
  using Id = NoId;
  Of<Plain<0, "begin", Time>> begin;
  Of<Plain<1, "end", Time>> end;         // 2^64-1: never
  Of<Plain<3, "flags", uint8_t>> flags;  // BackwardFlags
};

template <template <class> class Of>
struct OptimizerSteps {
  static constexpr Table kTable = Table::optimizer_steps;
  static constexpr const char* kName = "optimizer_steps";
  using Id = NoId;
  Of<Plain<0, "begin", Time>> begin;
  Of<Plain<1, "end", Time>> end;        // 2^64-1: never. Rows are in the order of their ends
  Of<Plain<2, "name", StringId>> name;  // one for each optimizer object
};

template <template <class> class Of>
struct Ranges {
  static constexpr Table kTable = Table::ranges;
  static constexpr const char* kName = "ranges";
  using Id = NoId;
  Of<Plain<0, "begin", Time>> begin;
  Of<Plain<1, "end", Time>> end;  // 2^64-1: never. Rows are in the order of their ends
  Of<Plain<2, "name", StringId>> name;
  Of<Plain<3, "thread", ThreadId>> thread;
};

template <template <class> class Of>
struct Roles {
  static constexpr Table kTable = Table::roles;
  static constexpr const char* kName = "roles";
  using Id = RoleId;
  Of<Delta<0, "time", Time>> time;
  Of<Plain<1, "allocation", AllocationId>> allocation;
  Of<Plain<2, "role", Role>> kind;
  Of<Plain<3, "name", StringId>> name;
  Of<Plain<4, "parameter", AllocationId>> parameter;  // set for a gradient or an optimizer state
};

// Applied rewrites, and skipped rewrites with the reason.
template <template <class> class Of>
struct Rewrites {
  static constexpr Table kTable = Table::rewrites;
  static constexpr const char* kName = "rewrites";
  using Id = RewriteId;
  Of<Delta<0, "time", Time>> time;
  Of<Plain<1, "rewrite", StringId>> rewrite;
  Of<Plain<2, "flags", uint8_t>> flags;  // RewriteFlags
  Of<Delta<3, "node", NodeId>> node;     // 0: a rewrite of an operator
  Of<Plain<4, "field", StringId>> field;
  Of<Plain<5, "index", uint32_t>> index;                   // place in a field that is a list, else 0
  Of<Plain<6, "reason", StringId>> reason;                 // 0: it was applied
  Of<Plain<7, "bytes", Bytes>> bytes;                      // no longer held
  Of<Plain<8, "kept", Bytes>> kept;                        // bytes that the rewrite holds instead
  Of<Delta<9, "operator", OperatorId>> op;                 // the innermost open operator
  Of<Plain<10, "stack", StackId>> stack;                   // 0: the stack of its operator
  Of<Plain<11, "module_call", ModuleCallId>> module_call;  // the innermost open call
};

// Checksums of losses, gradients and parameters: recorded only for `tapelens verify`.
template <template <class> class Of>
struct Checksums {
  static constexpr Table kTable = Table::checksums;
  static constexpr const char* kName = "checksums";
  using Id = ChecksumId;
  Of<Delta<0, "time", Time>> time;
  Of<Delta<1, "step", uint64_t>> step;  // from 0
  Of<Plain<2, "of", uint8_t>> of;       // ChecksumOf
  Of<Plain<3, "name", StringId>> name;
  Of<Plain<4, "value", uint64_t>> value;
  Of<Plain<5, "spent", Time>> spent;  // ns to compute it, up to its time
};

// Sizes and hashes of the files that frames name, at the time they ran.
template <template <class> class Of>
struct Sources {
  static constexpr Table kTable = Table::sources;
  static constexpr const char* kName = "sources";
  using Id = NoId;
  Of<Plain<0, "path", StringId>> path;
  Of<Plain<1, "bytes", uint64_t>> bytes;
  Of<Plain<2, "hash", uint64_t>> hash;  // XXH3_64 of the file
};

// Places where the program read unknown values of a simulated GPU: `.item()`, a copy to the host.
template <template <class> class Of>
struct ValueReads {
  static constexpr Table kTable = Table::value_reads;
  static constexpr const char* kName = "value_reads";
  using Id = ValueReadId;
  Of<Delta<0, "time", Time>> time;
  Of<Plain<1, "name", StringId>> name;                  // name of the operator that the program used to read them
  Of<Delta<2, "operator", OperatorId>> op;              // the innermost open operator
  Of<Delta<3, "evaluation", EvaluationId>> evaluation;  // the enclosing evaluation
  Of<Plain<4, "stack", StackId>> stack;                 // 0: the stack of its operator
};

template <template <class> class Of>
struct ModuleCalls {
  static constexpr Table kTable = Table::module_calls;
  static constexpr const char* kName = "module_calls";
  using Id = ModuleCallId;
  Of<Delta<0, "begin", Time>> begin;
  Of<Plain<1, "module", ModuleId>> module;
  Of<Plain<2, "thread", ThreadId>> thread;
  Of<Delta<3, "parent", ModuleCallId>> parent;  // the enclosing call
  Of<Plain<4, "flags", uint8_t>> flags;         // ModuleCallFlags
};

template <template <class> class Of>
struct ModuleCallEnds {
  static constexpr Table kTable = Table::module_call_ends;
  static constexpr const char* kName = "module_call_ends";
  using Id = NoId;
  Of<Delta<0, "module_call", ModuleCallId>> of;
  Of<Delta<1, "end", Time>> end;
};

template <template <class> class Of>
struct Losses {
  static constexpr Table kTable = Table::losses;
  static constexpr const char* kName = "losses";
  using Id = NoId;
  Of<Plain<0, "kind", Loss>> kind;
  Of<Plain<1, "count", uint64_t>> count;
  Of<Plain<2, "since", Time>> since;  // time of the first
};

}  // namespace table

// ---- the list of tables

template <template <template <class> class> class... T>
struct TableList {
  // Calls visit.template operator()<T>() for each table.
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    (visit.template operator()<T>(), ...);
  }
};

using SharedTableList = TableList<table::StringBytes, table::Strings, table::Frames, table::Stacks, table::StackFrames,
                                  table::Layouts, table::LayoutExtents, table::Modules, table::Devices>;
using ProcessTableList =
    TableList<table::Information, table::Threads, table::Operators, table::OperatorInputs, table::OperatorEnds,
              table::Allocations, table::Frees, table::Nodes, table::NodeEdges, table::NodeReleases, table::Saves,
              table::Evaluations, table::EvaluationEnds, table::Backwards, table::Roles, table::ModuleCalls,
              table::ModuleCallEnds, table::OptimizerSteps, table::Ranges, table::Losses, table::InputViews,
              table::Rewrites, table::Checksums, table::Sources, table::DeviceBlocks, table::FreeRequests,
              table::SegmentEvents, table::OutOfMemory, table::ValueReads, table::OutsideEvents, table::DeviceUsage,
              table::VirtualMemory, table::MemoryPools, table::Held, table::Variables, table::ImportedFacts>;

template <class Visit>
constexpr void for_each_table(Visit&& visit) {
  SharedTableList::each(visit);
  ProcessTableList::each(visit);
}

// Calls visit(key) for each column of each table.
template <class Visit>
constexpr void for_each_key(Visit&& visit) {
  for_each_table([&]<template <template <class> class> class T>() {
    for_each_column<T>([&](auto& key) { visit(key); }, column<T>);
  });
}

// The table whose rows an id refers to.
template <class Id>
consteval Table table_of() {
  Table found{};
  for_each_table([&]<template <template <class> class> class T>() {
    if constexpr (std::is_same_v<typename Row<T>::Id, Id>) found = Row<T>::kTable;
  });
  return found;
}

}  // namespace tapelens::trace
