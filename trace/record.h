// The records of a spool, in the order in which a recorded process writes them into its blocks. Written by
// profiler/record through SpoolWriter, read by the sealer.
//
// Every record is a multiple of 8 bytes, little-endian, and starts with RecordHeader. Times are raw ticks of the
// process's clock; a block's anchor converts them to nanoseconds. Records name memory and nodes by address. The sealer
// sees all threads in time order and resolves addresses to ids. Interned records (strings, frames, stacks, layouts,
// modules, devices) precede the first record that names them, on the same lane or earlier in time. Their ids count from
// 1 in each process; 0 means none.
//
// docs/trace-format.md has the comments of kinds, structs, fields and enumerations (scripts/docs). For a kind or a
// struct, "id: ...; flags: ..." explains these fields of the header, and the rest explains the data after the struct.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tapelens::trace {

// The version of the spool. A reader accepts its own major version with its own or an older minor version. A new kind,
// field or flag raises the minor version; a change that an older reader would misread raises the major. Before 0.2
// nodes were shorter.
inline constexpr uint16_t kSpoolMajor = 0, kSpoolMinor = 11, kOldestSpoolMinor = 2;

// Events that the program itself marks (profiler/inject/mark.h). kProgramStep is an optimizer step without an
// optimizer: it is a step border, and from then on the only kind of border. kProgramStart is a range of length 0:
// analysis starts there.
inline constexpr std::string_view kProgramStep = "tapelens.step()", kProgramStart = "tapelens.start()";

enum class RecordKind : uint8_t {
  // interned: `id` of the header is the new id
  string = 1,
  frame = 2,
  stack = 3,         // frames of the interpreter, innermost first
  native_stack = 4,  // program counters, innermost first; shares the ids of `stack`
  layout = 5,
  module = 6,
  device = 7,
  mapping = 8,      // an executable file in the address space, to symbolize native stacks
  information = 9,  // a key and a value about the process: "torch_version", "rank", ...
  loss = 10,
  lane = 11,    // the rest of this block belongs to another lane, which took it over
  source = 12,  // size and hash of a file that frames name, when it ran

  // only in the file of a spool's older steps (ring.h)
  older_steps = 13,
  older_lane = 14,
  older_peak = 15,

  // events
  operator_begin = 16,
  operator_end = 17,
  allocation = 18,
  free = 19,
  node = 20,
  save = 21,
  node_release = 22,  // the node's saves are released: the node died, or backward released them
  evaluation_begin = 23,
  evaluation_end = 24,
  backward_begin = 25,  // flags: BackwardFlags
  backward_end = 26,
  role = 27,
  module_begin = 28,  // id: module; flags: ModuleCallFlags
  module_end = 29,
  optimizer_begin = 30,  // id: string, its name
  optimizer_end = 31,
  range_begin = 32,  // id: string, its name; torch.profiler.record_function
  range_end = 33,
  foreign = 34,            // a storage that no watched allocator made
  input_views = 35,        // the views that the last begun operator on this lane got as inputs
  rewrite = 36,            // a rewrite replaced a save's bytes, or skipped it and gives the reason
  checksum = 37,           // a checksum of a loss, a gradient or a parameter: `tapelens verify` compares them
  device_allocation = 38,  // a block of a PyTorch allocator for a device other than the CPU
  free_request = 39,       // the program freed such a block while other streams still use it: its free follows
  segment = 40,            // such an allocator reserves memory of the device, or releases it
  out_of_memory = 41,      // such an allocator fails to reserve memory
  value_read = 43,         // the program read unknown values of a simulated GPU
  outside = 52,            // the driver allocated or freed memory, for PyTorch's allocator or any other caller
  device_usage = 53,       // how much of a device all processes use
  outside_call = 54,       // a CUDA call that allocates memory began on this lane
  virtual_memory = 55,     // the driver made, mapped or released physical memory (cuMemCreate), for any caller
  memory_pool = 56,        // bytes that a driver's pool (cudaMallocAsync) has, and has allocated
  held = 66,               // the graph, or a checkpoint, keeps a storage other than a save
  variable = 68,           // a variable of the program has a tensor with this storage
};

// 8 bytes. `words` is the size of the whole record in units of 8 bytes, at least 1.
struct RecordHeader {
  RecordKind kind;
  uint8_t flags;
  uint16_t words;
  uint32_t id;
};

// Bit 7 of a kind: the short form of that event (short_form.h).
inline constexpr uint8_t kShortKind = 0x80;
constexpr bool is_short(RecordKind kind) { return (static_cast<uint8_t>(kind) & kShortKind) != 0; }
constexpr RecordKind short_kind(RecordKind kind) { return RecordKind(static_cast<uint8_t>(kind) | kShortKind); }
constexpr RecordKind full_kind(RecordKind kind) { return RecordKind(static_cast<uint8_t>(kind) & ~kShortKind); }

// Casts to the record type of a known kind.
template <class Record>
const Record& as(const RecordHeader* record) {
  return *reinterpret_cast<const Record*>(record);
}
static_assert(sizeof(RecordHeader) == 8);

// ---- interned -------------------------------------------------------------------------------------------------

struct StringRecord {  // id: new; the text follows, zero-padded to 8 bytes
  RecordHeader header;
  uint32_t bytes;
  uint32_t reserved;
};

// The prefix of the function name of a frame that runs Inductor's generated code. The name of the line's kernel follows
// it: "inductor::mm". The frame's file is the generated one. The next frames are the program's lines that the kernel
// implements.
inline constexpr std::string_view kInductor = "inductor::";

struct FrameRecord {  // id: new
  RecordHeader header;
  uint32_t file;      // string
  uint32_t function;  // string
  uint32_t line;      // from 1
  uint32_t reserved;
};

struct StackRecord {  // id: new; uint32_t frame[count] follows, zero-padded
  RecordHeader header;
  uint32_t count;
  uint32_t reserved;
};

struct NativeStackRecord {  // id: new, shared with stack; uint64_t program_counter[count] follows
  RecordHeader header;
  uint32_t count;
  uint32_t reserved;
};

struct LayoutRecord {  // id: new; int64_t size[rank], stride[rank] follow, in elements
  RecordHeader header;
  uint32_t dtype;  // string, PyTorch's name: "float32"
  uint16_t element_bytes;
  uint16_t rank;
};

struct ModuleRecord {  // id: new
  RecordHeader header;
  uint32_t path;  // string: "ResNet.layer1.0.conv1"
  uint32_t type;  // string: "Conv2d"
};

struct DeviceRecord {  // id: new, at most 255
  RecordHeader header;
  uint32_t name;  // string: "cpu", "cuda:0"
  uint32_t reserved;
};

struct MappingRecord {
  RecordHeader header;  // id: string, the path
  uint64_t begin, end;
  uint64_t bias;  // address minus address in the file
};

struct LaneRecord {  // id: the lane that takes the rest of the block
  RecordHeader header;
  uint32_t os_thread;  // gettid()
  uint32_t number;     // of this block among the lane's blocks
};

struct InformationRecord {
  RecordHeader header;  // id: string, the key
  uint32_t value;       // string
  uint32_t reserved;
};

struct LossRecord {
  RecordHeader header;  // flags: Loss
  uint64_t count;
  uint64_t ticks;  // when it was first lost
};

// Written only if the file has not changed since the process began, so that the program was read from these bytes.
struct SourceRecord {
  RecordHeader header;  // id: string, the path as frames name it
  uint64_t bytes;
  uint64_t hash;  // XXH3_64 of the file
};

// Steps whose events were removed. Events that name memory or nodes alive at their end remain.
struct OlderStepsRecord {
  RecordHeader header;  // id: string, the optimizer whose steps separate training steps
  uint64_t until;       // ticks of the last of their events
  uint64_t steps;       // how many
};

// The end of a lane's older events: all pieces before `piece`, and the first `bytes` of `piece`.
struct OlderLaneRecord {
  RecordHeader header;  // id: the lane
  uint32_t piece;
  uint32_t bytes;
};

// The peak of live bytes in the older steps.
struct OlderPeakRecord {
  RecordHeader header;  // flags: device id
  uint64_t ticks;
  uint64_t bytes;
  uint64_t step;  // from 0
};

// ---- events ---------------------------------------------------------------------------------------------------

struct EventRecord {
  RecordHeader header;
  uint64_t ticks;
};

struct NamedEventRecord {
  RecordHeader header;
  uint64_t ticks;
};

// Gradients were disabled when the call's first operator began, and no operator contained it. The probe notices a call
// at its first operator.
enum ModuleCallFlags : uint8_t { kModuleCallWithoutGradients = 1 };

struct OperatorRecord {  // id: string, "aten::addmm"; flags: OperatorFlags
  RecordHeader header;   // uint64_t address[] of its inputs' storages follow, to the end of the record
  uint64_t ticks;
  uint64_t sequence_nr;  // sequence number of the node that the operator may create; UINT64_MAX if none
  uint32_t stack;        // 0: the stack of the enclosing operator, or of the node under evaluation
  uint32_t written;      // bit i: the operator writes input i; bit 31: any input from the 32nd on
};
enum OperatorFlags : uint8_t { kOperatorIsPythonFunction = 1 };  // a torch.autograd.Function

// Written only for copies (whether two have the same content), matrix products (their cost), log-softmax (the bytes of
// a row), and cheap in-place operators that write a part of a storage (the rest keeps its content).
struct InputViewsRecord {  // InputView[] follow, as many as the operator has inputs
  RecordHeader header;
  uint64_t ticks;
};
struct InputView {
  uint32_t layout;
  uint32_t reserved;
  uint64_t storage_offset;  // in elements
};

// From this event on the save holds `kept` bytes of the rewrite instead of its storage; a skipped save keeps its
// storage. `node` is 0 for a rewrite of an operator (another forward pass).
struct RewriteRecord {  // id: string, the rewrite: "unneeded-save"; flags: RewriteFlags
  RecordHeader header;
  uint64_t ticks;
  uint64_t node;    // address
  uint32_t field;   // string
  uint32_t index;   // place in a field that is a list, else 0
  uint32_t reason;  // string: why it was skipped; 0 if it was applied
  uint32_t stack;   // stack of a rewritten operator; 0: the node's stack
  uint64_t bytes;   // size of the storage that this save no longer needs to hold
  uint64_t kept;    // bytes held instead: a mask; 0 if never read or recomputed
};
// The low bits are the level: 0 never read, 1 encoded, 2 recomputed, 3 equivalent, 4 shared forward.
enum RewriteFlags : uint8_t { kRewriteLevel = 7, kRewriteSkipped = 8 };

// Written only if TAPELENS_CHECKSUMS is set. Steps are those of the optimizer whose steps separate training steps.
struct ChecksumRecord {
  // id: string, the parameter's name or number ("#3"), for a returned gradient of another tensor its place in the call
  // ("input 2"); flags: ChecksumOf
  RecordHeader header;
  uint64_t ticks;
  uint64_t step;  // from 0
  // XXH3 of the bytes in element order. For a loss: the bits of its value as a double. 0 for a returned gradient that
  // is undefined.
  uint64_t value;
  uint64_t spent;  // nanoseconds that the checksum took, up to `ticks`: not part of the step's time
};
enum class ChecksumOf : uint8_t {
  loss = 1,
  gradient = 2,
  parameter = 3,
  gradient_left_out = 4,  // a tensor without a checksum; `value` is unused
  parameter_left_out = 5,
  returned_gradient = 6,  // by torch.autograd.grad, in the order of its inputs
};
// The key of an information record: several threads of this process write checksums.
inline constexpr std::string_view kChecksumsOfThreads = "checksums_of_threads";

struct AllocationRecord {  // id: stack, 0 as for an operator; flags: device id
  RecordHeader header;
  uint64_t ticks;
  uint64_t address;
  uint64_t bytes;
};

struct FreeRecord {  // flags: device id
  RecordHeader header;
  uint64_t ticks;
  uint64_t address;
};

// The private pool of the allocator, numbered as in PyTorch. A captured graph or a torch.cuda.MemPool has one. 0, 0:
// none.
struct PoolNumbers {
  uint32_t graph, user;
};

struct DeviceAllocationRecord {  // id: stack, 0 as for an operator; flags: device id
  RecordHeader header;
  uint64_t ticks;
  uint64_t address;
  uint64_t bytes;    // requested
  uint64_t rounded;  // size of the block; equal to `bytes` if the allocator does not report it
  uint64_t stream;   // a handle
  PoolNumbers pool;
  uint32_t flags;  // DeviceAllocationFlags
  uint32_t reserved;
};
// The block is older than the recorder's observation of the allocator: the operator that made it is unknown.
enum DeviceAllocationFlags : uint32_t { kDeviceAllocationIsOlder = 1 };

// `ended`: no more events follow, because another tool in the program took CUPTI.
enum class OutsideChange : uint8_t { allocated = 0, freed = 1, ended = 2 };
enum class OutsideMemory : uint8_t { unknown = 0, device = 1, managed = 2, host = 3 };

struct SegmentRecord {  // id: SegmentChange; flags: device id
  RecordHeader header;
  uint64_t ticks;
  uint64_t address;
  uint64_t bytes;
  uint64_t stream;
  PoolNumbers pool;
};
// An expandable segment is mapped and unmapped piece by piece.
enum class SegmentChange : uint8_t { allocated = 0, freed = 1, mapped = 2, unmapped = 3 };

struct OutOfMemoryRecord {  // id: stack, 0 as for an operator; flags: device id
  RecordHeader header;
  uint64_t ticks;
  uint64_t bytes;      // size of the request that failed
  uint64_t allocated;  // by the allocator's own count
  uint64_t reserved;   // likewise
  uint64_t free;       // on the device, as its driver reports; UINT64_MAX: not known
};

struct OutsideRecord {  // id: string, the path of the calling library, 0: not known; flags: device id
  RecordHeader header;
  uint64_t ticks;  // when it was reported
  uint64_t age;    // ns from the event to its report
  uint64_t address;
  uint64_t bytes;
  OutsideChange change;
  OutsideMemory memory;
  uint8_t reserved[2];
  uint32_t call;  // the CUDA call that caused it: an earlier OutsideCallRecord's; 0: not known
};

struct OutsideCallRecord {  // on the lane of the thread that called
  RecordHeader header;
  uint64_t ticks;
  uint32_t call;  // CUPTI's correlation id, not 0
  uint32_t reserved;
};

// Physical memory lives as long as a handle or a mapping refers to it. `created` and each `retained` add a reference by
// handle, and each `released` removes one.
enum class VirtualChange : uint8_t { created = 0, retained = 1, released = 2, mapped = 3, unmapped = 4 };

struct VirtualMemoryRecord {  // id: of `created`: string, the path of the calling library, 0: not known;
                              // flags: of `created`: device id
  RecordHeader header;
  uint64_t ticks;    // when it was reported
  uint64_t age;      // ns from the event to its report
  uint64_t handle;   // the driver's; 0 for `unmapped`
  uint64_t address;  // of `mapped` and `unmapped`: the mapped address
  uint64_t bytes;    // of `created`; of `unmapped`: all mappings that start there
  uint32_t call;     // of `created`, as in OutsideRecord
  VirtualChange change;
  uint8_t reserved[3];
};

enum class PoolChange : uint8_t { now = 0, destroyed = 1 };

struct MemoryPoolRecord {  // flags: device id
  RecordHeader header;
  uint64_t ticks;     // when it was reported
  uint64_t age;       // ns from the state to its report
  uint64_t address;   // CUPTI's name of the pool
  uint64_t reserved;  // bytes that the pool has reserved of the device
  uint64_t used;      // bytes of `reserved` that are allocated
  PoolChange change;
  uint8_t padding[7];
};

struct DeviceUsageRecord {  // flags: device id
  RecordHeader header;
  uint64_t ticks;
  uint64_t used;   // bytes of the device that all processes use
  uint64_t total;  // bytes of the device
};

struct NodeRecord {  // id: string, "ConvolutionBackward0"; flags: NodeFlags; NodeEdge[] follow to the end
  RecordHeader header;
  uint64_t ticks;
  uint64_t address;
  uint64_t sequence_nr;  // per thread; UINT64_MAX for AccumulateGrad
  uint64_t storage;      // AccumulateGrad: address of the parameter's storage, else 0
  uint32_t attributes;   // string: "training=False", "a=1,b=None", sorted by name; 0: the probe needs none
  uint32_t reserved;
};
enum NodeFlags : uint8_t {
  kNodeIsAccumulateGrad = 1,
  kNodeIsCustom = 2,
  kNodeHasUnseenEdges = 4,  // set by the sealer: an edge leads to a node that was not recorded, and reads 0
};
struct NodeEdge {
  uint64_t address;  // address of the next node, 0 if that input needs no gradient
  uint64_t input_nr;
};

// A save of a function that torch.compile compiled and whose graph is known is longer.
struct SaveRecord {  // id: string, the field: "input"; flags: SaveFlags; PlacedSaveRecord goes on with uint32_t stack,
                     // uint32_t 0
  RecordHeader header;
  uint64_t ticks;
  uint64_t node;     // address, 0 if not known (an unattributed save)
  uint64_t storage;  // address, 0 if it has no storage or the storage has no bytes
  uint64_t storage_bytes;
  uint64_t storage_offset;  // in elements, as PyTorch counts
  uint32_t layout;
  uint32_t index;  // place in a field that is a list, else 0
};
struct PlacedSaveRecord {
  SaveRecord save;
  uint32_t stack;  // stack of the line that computed the saved tensor; 0: not known
  uint32_t reserved;
};
enum SaveFlags : uint8_t {
  kSaveIsOutput = 1,
  kSaveIsWrappedNumber = 2,  // a Python scalar: invisible to torch.autograd.graph.saved_tensors_hooks
  kSaveIsPacked = 4,         // the program's own hooks packed it: this node holds no storage
  kSaveIsOfContext = 8,      // kept on the node's `ctx` until the node dies, even if backward releases the saves
};

// A storage that is kept for backward by something other than a save.
struct HeldRecord {  // id: string, the purpose: the field ("input"), the attribute ("mask"), 0: not known; flags:
                     // HeldBy
  RecordHeader header;
  uint64_t ticks;
  uint64_t node;     // address; 0: no node
  uint64_t storage;  // address
  uint64_t storage_bytes;
};
enum class HeldBy : uint8_t {
  packed = 1,         // a hook of the program returned it for a save of the node, until the save is released
  context = 2,        // an attribute of the node, until the node dies
  checkpointing = 3,  // selective checkpointing keeps it instead of recomputing it, until it is freed
};

struct VariableRecord {  // id: string, its name and place: "history[3] in train.py:61"
  RecordHeader header;
  uint64_t ticks;
  uint64_t storage;  // address
  uint64_t storage_bytes;
};

struct NodeReleaseRecord {  // flags: NodeReleaseFlags
  RecordHeader header;
  uint64_t ticks;
  uint64_t node;  // address
};
enum NodeReleaseFlags : uint8_t { kNodeDied = 1 };  // else backward released its saves and the node is still alive

struct EvaluationRecord {  // flags: EvaluationFlags
  RecordHeader header;
  uint64_t ticks;
  uint64_t node;  // address
};
enum EvaluationFlags : uint8_t {
  kEvaluationReleases = 1,  // the node's saves are released when the evaluation ends
  kEvaluationUnpacks = 2,   // a nested evaluation in which a hook of the program unpacks a save; it has no node
};

enum BackwardFlags : uint8_t { kBackwardKeepsGraph = 1, kBackwardCreatesGraph = 2 };

struct RoleRecord {  // id: string, the name: "layer1.0.conv1.weight", "exp_avg"; flags: Role
  RecordHeader header;
  uint64_t ticks;
  uint64_t storage;  // address
  uint64_t storage_bytes;
  uint64_t parameter;  // gradient, optimizer state: storage of its parameter, else 0
};

struct ValueReadRecord {  // id: string, the operator by which the program read the values
  RecordHeader header;
  uint64_t ticks;
  uint32_t stack;  // 0: the stack of the enclosing operator, or of the node under evaluation
  uint32_t reserved;
};

struct ForeignRecord {  // flags: device id
  RecordHeader header;
  uint64_t ticks;
  uint64_t address;
  uint64_t bytes;
};

// ---- all of them ----------------------------------------------------------------------------------------------

// The minimum layout of a record of a kind.
struct RecordShape {
  // Size of the fixed part. In a record without a tail, further bytes are fields of a newer writer.
  size_t bytes = 0;
  size_t element = 0;                        // size of a tail element, if it has a tail; `count` gives their number
  uint64_t (*count)(const void*) = nullptr;  // null: the tail extends to the end of the record
};

namespace detail {
template <class Record>
constexpr RecordShape fixed() {
  return {sizeof(Record)};
}
template <class Record, class Element>
constexpr RecordShape with_tail() {
  return {sizeof(Record), sizeof(Element)};
}
template <class Record, auto field>
constexpr RecordShape with_count(size_t element) {
  return {sizeof(Record), element,
          [](const void* record) { return uint64_t{static_cast<const Record*>(record)->*field}; }};
}

// Without `default`, so that the compiler names a kind that has no shape.
constexpr RecordShape declared_shape(RecordKind kind) {
  switch (kind) {
    case RecordKind::string:
      return with_count<StringRecord, &StringRecord::bytes>(1);
    case RecordKind::frame:
      return fixed<FrameRecord>();
    case RecordKind::stack:
      return with_count<StackRecord, &StackRecord::count>(sizeof(uint32_t));
    case RecordKind::native_stack:
      return with_count<NativeStackRecord, &NativeStackRecord::count>(sizeof(uint64_t));
    case RecordKind::layout:
      return with_count<LayoutRecord, &LayoutRecord::rank>(2 * sizeof(int64_t));
    case RecordKind::module:
      return fixed<ModuleRecord>();
    case RecordKind::device:
      return fixed<DeviceRecord>();
    case RecordKind::mapping:
      return fixed<MappingRecord>();
    case RecordKind::information:
      return fixed<InformationRecord>();
    case RecordKind::loss:
      return fixed<LossRecord>();
    case RecordKind::lane:
      return fixed<LaneRecord>();
    case RecordKind::source:
      return fixed<SourceRecord>();
    case RecordKind::older_steps:
      return fixed<OlderStepsRecord>();
    case RecordKind::older_lane:
      return fixed<OlderLaneRecord>();
    case RecordKind::older_peak:
      return fixed<OlderPeakRecord>();
    case RecordKind::operator_begin:
      return with_tail<OperatorRecord, uint64_t>();
    case RecordKind::operator_end:
    case RecordKind::evaluation_end:
    case RecordKind::backward_end:
    case RecordKind::module_end:
    case RecordKind::optimizer_end:
    case RecordKind::range_end:
      return fixed<EventRecord>();
    case RecordKind::allocation:
      return fixed<AllocationRecord>();
    case RecordKind::free:
    case RecordKind::free_request:
      return fixed<FreeRecord>();
    case RecordKind::node:
      return with_tail<NodeRecord, NodeEdge>();
    case RecordKind::save:
      return fixed<SaveRecord>();
    case RecordKind::node_release:
      return fixed<NodeReleaseRecord>();
    case RecordKind::evaluation_begin:
      return fixed<EvaluationRecord>();
    case RecordKind::backward_begin:
    case RecordKind::module_begin:
    case RecordKind::optimizer_begin:
    case RecordKind::range_begin:
      return fixed<NamedEventRecord>();
    case RecordKind::role:
      return fixed<RoleRecord>();
    case RecordKind::foreign:
      return fixed<ForeignRecord>();
    case RecordKind::input_views:
      return with_tail<InputViewsRecord, InputView>();
    case RecordKind::rewrite:
      return fixed<RewriteRecord>();
    case RecordKind::checksum:
      return fixed<ChecksumRecord>();
    case RecordKind::device_allocation:
      return fixed<DeviceAllocationRecord>();
    case RecordKind::segment:
      return fixed<SegmentRecord>();
    case RecordKind::out_of_memory:
      return fixed<OutOfMemoryRecord>();
    case RecordKind::value_read:
      return fixed<ValueReadRecord>();
    case RecordKind::outside:
      return fixed<OutsideRecord>();
    case RecordKind::device_usage:
      return fixed<DeviceUsageRecord>();
    case RecordKind::outside_call:
      return fixed<OutsideCallRecord>();
    case RecordKind::virtual_memory:
      return fixed<VirtualMemoryRecord>();
    case RecordKind::memory_pool:
      return fixed<MemoryPoolRecord>();
    case RecordKind::held:
      return fixed<HeldRecord>();
    case RecordKind::variable:
      return fixed<VariableRecord>();
  }
  return {};
}

// The shape of the short form of a kind. Its size is 0 for a kind that has only the full form.
constexpr RecordShape declared_short_shape(RecordKind kind) {
  if (kind == RecordKind::operator_begin) return {16, sizeof(uint64_t)};
  if (kind == RecordKind::allocation) return {24};
  if (kind == RecordKind::input_views) return {8, 8};
  for (const RecordKind with_address :
       {RecordKind::free, RecordKind::free_request, RecordKind::node_release, RecordKind::evaluation_begin})
    if (kind == with_address) return {16};
  for (const RecordKind end : {RecordKind::operator_end, RecordKind::evaluation_end, RecordKind::backward_end,
                               RecordKind::module_end, RecordKind::optimizer_end, RecordKind::range_end})
    if (kind == end) return {8};
  return {};
}
}  // namespace detail

// By kind. `bytes` is 0 for an unknown kind.
inline constexpr auto kShapeOfKind = [] {
  std::array<RecordShape, 256> shapes{};
  for (size_t kind = 0; kind < shapes.size(); ++kind)
    shapes[kind] = is_short(RecordKind(kind)) ? detail::declared_short_shape(full_kind(RecordKind(kind)))
                                              : detail::declared_shape(RecordKind(kind));
  return shapes;
}();

constexpr const RecordShape& shape_of(RecordKind kind) { return kShapeOfKind[static_cast<size_t>(kind)]; }
constexpr bool is_known(RecordKind kind) { return shape_of(kind).bytes != 0; }
constexpr bool is_event(RecordKind kind) { return kind >= RecordKind::operator_begin && is_known(kind); }
}  // namespace tapelens::trace
