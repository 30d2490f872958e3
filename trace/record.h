// The records of a spool: what a recorded process writes, one after another, into its blocks.
// Written by profiler/record through SpoolWriter, read by the sealer. docs/trace-format.md draws them byte by byte.
//
// Every record is a multiple of 8 bytes, little-endian, and starts with RecordHeader. Times are raw ticks of the
// process's clock; a block's anchor turns them into nanoseconds. Memory and nodes are named by their address: the
// sealer, which sees all threads in the order of time, turns addresses into ids. Interned things (strings, frames,
// stacks, layouts, modules, devices) are written before the first record that names them, on the same lane or
// an earlier one in time, with ids that count from 1 in each process; 0 is none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tapelens::trace {

// The version of the spool: a reader reads its own major with its own minor or an older one. A new kind, field or flag
// raises the minor, whatever an older reader would go wrong with the major. Before 0.2 nodes were shorter.
inline constexpr uint16_t kSpoolMajor = 0, kSpoolMinor = 10, kOldestSpoolMinor = 2;

// What the program says of itself (profiler/inject/mark.h), as names of events: a step of no optimizer, which is a
// border, and then nothing else is; a range of no length, before which nothing is looked at.
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
  mapping = 8,      // an executable file in the address space, to symbolise native stacks with
  information = 9,  // a key and a value about the process: "torch_version", "rank", ...
  loss = 10,
  lane = 11,    // what follows in this block is of another lane, which took it over
  source = 12,  // what a file that frames name held when it ran

  // only in what is kept of a spool's older steps (ring.h)
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
  node_release = 22,  // its saves are gone: the node died, or backward released them
  evaluation_begin = 23,
  evaluation_end = 24,
  backward_begin = 25,
  backward_end = 26,
  role = 27,
  module_begin = 28,
  module_end = 29,
  optimizer_begin = 30,
  optimizer_end = 31,
  range_begin = 32,  // torch.profiler.record_function
  range_end = 33,
  foreign = 34,            // a storage that no watched allocator made
  input_views = 35,        // what the operator begun last on this lane was given of each input
  rewrite = 36,            // a rewrite took a save's bytes, or left them and says why
  checksum = 37,           // of a loss, a gradient or a parameter: what `tapelens verify` compares
  device_allocation = 38,  // a block of an allocator of PyTorch's for a device that is not the CPU
  free_request = 39,       // of such a block, which other streams still use: its free follows
  segment = 40,            // such an allocator gets memory of the device, or gives it back
  out_of_memory = 41,      // and gets none
  value_read = 43,         // values that nobody knows came from a simulated GPU to the program
  outside = 52,            // the driver handed memory out, or took it back: to PyTorch's allocator and to all others
  device_usage = 53,       // how much of a device is in use, whoever uses it
  outside_call = 54,       // a call of CUDA that hands out memory began on this lane
  virtual_memory = 55,     // physical memory that the driver made, mapped, took back (cuMemCreate), whoever asked
  memory_pool = 56,        // what a pool of the driver's (cudaMallocAsync) has, and has handed out
  held = 66,               // the graph, or a checkpoint, keeps a storage that is no save
  variable = 68,           // a variable of the program has a tensor with this storage
};

// 8 bytes. `words` is the size of the whole record in units of 8 bytes, at least 1.
struct RecordHeader {
  RecordKind kind;
  uint8_t flags;
  uint16_t words;
  uint32_t id;
};

// A record of a kind that is known to have this shape.
template <class Record>
const Record& as(const RecordHeader* record) {
  return *reinterpret_cast<const Record*>(record);
}
static_assert(sizeof(RecordHeader) == 8);

// ---- interned -------------------------------------------------------------------------------------------------

struct StringRecord {  // id: string
  RecordHeader header;
  uint32_t bytes;  // text follows, zero-padded to 8 bytes
  uint32_t reserved;
};

// What the function of a frame begins with that runs what Inductor wrote; behind it the kernel that its line is for:
// "inductor::mm". Its file is the generated one; the next frames are the places in the program that the kernel is for.
inline constexpr std::string_view kInductor = "inductor::";

struct FrameRecord {  // id: frame
  RecordHeader header;
  uint32_t file;      // string
  uint32_t function;  // string
  uint32_t line;      // from 1
  uint32_t reserved;
};

struct StackRecord {  // id: stack; uint32_t frame[count] follows, zero-padded
  RecordHeader header;
  uint32_t count;
  uint32_t reserved;
};

struct NativeStackRecord {  // id: stack; uint64_t program_counter[count] follows
  RecordHeader header;
  uint32_t count;
  uint32_t reserved;
};

struct LayoutRecord {  // id: layout; int64_t size[rank], stride[rank] follow, in elements
  RecordHeader header;
  uint32_t dtype;  // string, PyTorch's name: "float32"
  uint16_t element_bytes;
  uint16_t rank;
};

struct ModuleRecord {  // id: module
  RecordHeader header;
  uint32_t path;  // string: "ResNet.layer1.0.conv1"
  uint32_t type;  // string: "Conv2d"
};

struct DeviceRecord {  // id: device, at most 255
  RecordHeader header;
  uint32_t name;  // string: "cpu", "cuda:0"
  uint32_t reserved;
};

struct MappingRecord {
  RecordHeader header;  // id: string, the path
  uint64_t begin, end;  // addresses
  uint64_t bias;        // address minus address in the file
};

struct LaneRecord {  // id: the lane
  RecordHeader header;
  uint32_t os_thread;  // gettid()
  uint32_t number;     // of this piece among the lane's, as of a block
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

// Written for a file that has not changed since the process began, so that it is the one that the program was read
// from.
struct SourceRecord {
  RecordHeader header;  // id: string, the path as frames name it
  uint64_t bytes;
  uint64_t hash;  // XXH3_64 of them
};

// Steps whose events were left out, but for those that what was alive at their end is named by.
struct OlderStepsRecord {
  RecordHeader header;  // id: string, the optimizer whose steps are borders
  uint64_t until;       // ticks of the last of their events
  uint64_t steps;       // how many
};

// How far a lane's events are among the older ones: pieces before `piece`, and of that one so many bytes.
struct OlderLaneRecord {
  RecordHeader header;  // id: the lane
  uint32_t piece;
  uint32_t bytes;
};

// The most that was alive in the older steps.
struct OlderPeakRecord {
  RecordHeader header;  // flags: device id
  uint64_t ticks;
  uint64_t bytes;
  uint64_t step;  // from 0
};

// ---- events ---------------------------------------------------------------------------------------------------

struct EventRecord {  // operator_end, evaluation_end, backward_end, module_end, optimizer_end, range_end
  RecordHeader header;
  uint64_t ticks;
};

struct NamedEventRecord {  // module_begin (id: module, flags: ModuleCallFlags), optimizer_begin (id: string),
                           // range_begin (id: string),
  RecordHeader header;     // backward_begin (flags: BackwardFlags)
  uint64_t ticks;
};

// Gradients were disabled when its first operator began, which is when a call is seen, and no operator was around it.
enum ModuleCallFlags : uint8_t { kModuleCallWithoutGradients = 1 };

struct OperatorRecord {  // id: string, "aten::addmm"; flags: OperatorFlags
  RecordHeader header;   // uint64_t address[] of its inputs' storages follow, to the end of the record
  uint64_t ticks;
  uint64_t sequence_nr;  // of the node it may make; UINT64_MAX if none
  uint32_t stack;        // 0: that of the operator around it, or of the node under evaluation
  uint32_t written;      // bit i: it changes the content of input i; bit 31: of any from the 32nd on
};
enum OperatorFlags : uint8_t { kOperatorIsPythonFunction = 1 };  // a torch.autograd.Function

// Only of operators that copy (whether copies have the same content depends on it), of products (their cost does) and
// of cheap ones in place that write a part of a storage (the rest is not theirs).
struct InputViewsRecord {  // InputView[] follow, as many as the operator has inputs
  RecordHeader header;
  uint64_t ticks;
};
struct InputView {
  uint32_t layout;
  uint32_t reserved;
  uint64_t storage_offset;  // in elements
};

// From now on the save holds `kept` bytes of the rewrite's own instead of its storage; a skipped one holds on. A
// rewrite of an operator (another forward pass) has no node: 0.
struct RewriteRecord {  // id: string, the rewrite: "unneeded-save"; flags: RewriteFlags
  RecordHeader header;
  uint64_t ticks;
  uint64_t node;    // address
  uint32_t field;   // string
  uint32_t index;   // place in a field that is a list, else 0
  uint32_t reason;  // string: why it was skipped; 0 if it was applied
  uint32_t stack;   // of an operator that was rewritten; 0: that of the node's
  uint64_t bytes;   // of the storage that this save need not hold any more
  uint64_t kept;    // bytes held in its stead: a mask, 0 of what is never read or computed again
};
// The low bits are the level: 0 never read, 1 encoded, 2 recomputed, 3 equivalent, 4 shared forward.
enum RewriteFlags : uint8_t { kRewriteLevel = 7, kRewriteSkipped = 8 };

// Taken only when TAPELENS_CHECKSUMS is set. Of a step of the optimizer whose steps are borders.
// id: string, the name of the parameter, or its number ("#3"); of a returned gradient of another tensor "input 2", its
// place in the call; flags: ChecksumOf
struct ChecksumRecord {
  RecordHeader header;
  uint64_t ticks;
  uint64_t step;  // from 0
  // XXH3 of the bytes in the order of the elements; of a loss the bits of its value as a double; 0 of a returned
  // gradient that is undefined.
  uint64_t value;
  uint64_t spent;  // nanoseconds that taking it took, up to `ticks`: no part of the step's time
};
enum class ChecksumOf : uint8_t {
  loss = 1,
  gradient = 2,
  parameter = 3,
  gradient_left_out = 4,  // of a kind that no checksum is taken of; no value
  parameter_left_out = 5,
  returned_gradient = 6,  // by torch.autograd.grad, in the order of its inputs
};
// The key of an information record: the checksums of this process come from several threads.
inline constexpr std::string_view kChecksumsOfThreads = "checksums_of_threads";

struct AllocationRecord {  // id: stack, 0 as for an operator; flags: device id
  RecordHeader header;
  uint64_t ticks;
  uint64_t address;
  uint64_t bytes;
};

struct FreeRecord {  // also a free_request; flags: device id
  RecordHeader header;
  uint64_t ticks;
  uint64_t address;
};

// Which private pool of the allocator: of a graph that was captured, of a torch.cuda.MemPool; 0, 0: none. As PyTorch
// numbers them.
struct PoolNumbers {
  uint32_t graph, user;
};

struct DeviceAllocationRecord {  // id: stack, 0 as for an operator; flags: device id
  RecordHeader header;
  uint64_t ticks;
  uint64_t address;
  uint64_t bytes;    // that were asked for
  uint64_t rounded;  // of the block; equal where the allocator tells no more
  uint64_t stream;   // a handle
  PoolNumbers pool;
  uint32_t flags;  // DeviceAllocationFlags
  uint32_t reserved;
};
// It was there before the allocator was watched: no operator is known to have made it.
enum DeviceAllocationFlags : uint32_t { kDeviceAllocationIsOlder = 1 };

// `ended`: nothing more is told from then on, since another tool of the program wanted CUPTI.
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
  uint64_t bytes;      // of the block that there was no room for
  uint64_t allocated;  // by the allocator's own count
  uint64_t reserved;   // likewise
  uint64_t free;       // on the device, as its driver says; UINT64_MAX: not known
};

struct OutsideRecord {  // id: string, the path of the library that asked, 0: not known; flags: device id
  RecordHeader header;
  uint64_t ticks;  // when it was told
  uint64_t age;    // ns: how long before it happened
  uint64_t address;
  uint64_t bytes;
  OutsideChange change;
  OutsideMemory memory;
  uint8_t reserved[2];
  uint32_t call;  // of CUDA by which it happened: an OutsideCallRecord's, before this one; 0: not known
};

struct OutsideCallRecord {  // on the lane of the thread that called
  RecordHeader header;
  uint64_t ticks;
  uint32_t call;  // CUPTI's correlation id, not 0
  uint32_t reserved;
};

// Physical memory lives as long as somebody refers to it: by its handle (`created` and each `retained`, until as many
// are `released`) or by a mapping.
enum class VirtualChange : uint8_t { created = 0, retained = 1, released = 2, mapped = 3, unmapped = 4 };

struct VirtualMemoryRecord {  // id: of `created`: string, the path of the library that asked, 0: not known;
                              // flags: of `created`: device id
  RecordHeader header;
  uint64_t ticks;    // when it was told
  uint64_t age;      // ns: how long before it happened
  uint64_t handle;   // the driver's; 0 of `unmapped`
  uint64_t address;  // of `mapped` and `unmapped`: where
  uint64_t bytes;    // of `created`; of `unmapped`: all mappings that begin there
  uint32_t call;     // of `created`, as OutsideRecord has it
  VirtualChange change;
  uint8_t reserved[3];
};

enum class PoolChange : uint8_t { now = 0, destroyed = 1 };

struct MemoryPoolRecord {  // flags: device id
  RecordHeader header;
  uint64_t ticks;     // when it was told
  uint64_t age;       // ns: how long before it was so
  uint64_t address;   // by which CUPTI names the pool
  uint64_t reserved;  // bytes that the pool has of the device
  uint64_t used;      // of them: bytes that are handed out
  PoolChange change;
  uint8_t padding[7];
};

struct DeviceUsageRecord {  // flags: device id
  RecordHeader header;
  uint64_t ticks;
  uint64_t used;   // bytes of the device, by all processes
  uint64_t total;  // that it has
};

struct NodeRecord {  // id: string, "ConvolutionBackward0"; flags: NodeFlags; NodeEdge[] follow to the end
  RecordHeader header;
  uint64_t ticks;
  uint64_t address;
  uint64_t sequence_nr;  // per thread; UINT64_MAX for AccumulateGrad
  uint64_t storage;      // AccumulateGrad: address of the parameter's storage, else 0
  uint32_t attributes;   // string: "training=False", "a=1,b=None", sorted by name; 0 where the probe asks for none
  uint32_t reserved;
};
enum NodeFlags : uint8_t {
  kNodeIsAccumulateGrad = 1,
  kNodeIsCustom = 2,
  kNodeHasUnseenEdges = 4,  // set by the sealer: an edge leads to a node that was not recorded, and reads 0
};
struct NodeEdge {
  uint64_t address;  // of the next node, 0 if that input needs no gradient
  uint64_t input_nr;
};

struct SaveRecord {  // id: string, the field: "input"; flags: SaveFlags
  RecordHeader header;
  uint64_t ticks;
  uint64_t node;     // address, 0 if it is not known (an unattributed save)
  uint64_t storage;  // address, 0 if it has none or holds no bytes
  uint64_t storage_bytes;
  uint64_t storage_offset;  // in elements, as PyTorch counts
  uint32_t layout;
  uint32_t index;  // place in a field that is a list, else 0
};
// Of a function that torch.compile made, where its graph is known: longer than others.
struct PlacedSaveRecord {
  SaveRecord save;
  uint32_t stack;  // of the line that what is saved was computed for; 0: not known
  uint32_t reserved;
};
enum SaveFlags : uint8_t {
  kSaveIsOutput = 1,
  kSaveIsWrappedNumber = 2,  // a Python scalar: invisible to torch.autograd.graph.saved_tensors_hooks
  kSaveIsPacked = 4,         // the program's own hooks took it: this node holds no storage
  kSaveIsOfContext = 8,      // kept on the node's `ctx`: until the node dies, whatever backward releases
};

// What is kept for a backward outside of saves.
struct HeldRecord {  // id: string, what for: the field ("input"), the attribute ("mask"); 0: not known; flags: HeldBy
  RecordHeader header;
  uint64_t ticks;
  uint64_t node;     // address; 0: of none
  uint64_t storage;  // address
  uint64_t storage_bytes;
};
enum class HeldBy : uint8_t {
  packed = 1,         // a hook of the program returned it for a save of the node's, until that is released
  context = 2,        // an attribute of the node's own, until it dies
  checkpointing = 3,  // selective checkpointing keeps it instead of computing it again, until it is freed
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
enum NodeReleaseFlags : uint8_t { kNodeDied = 1 };  // else backward released its saves and the node lives on

struct EvaluationRecord {  // flags: EvaluationFlags
  RecordHeader header;
  uint64_t ticks;
  uint64_t node;  // address
};
enum EvaluationFlags : uint8_t {
  kEvaluationReleases = 1,  // the node's saves are released when it ends
  kEvaluationUnpacks = 2,   // within an evaluation a hook of the program gives back what it packed; of no node
};

enum BackwardFlags : uint8_t { kBackwardKeepsGraph = 1, kBackwardCreatesGraph = 2 };

struct RoleRecord {  // id: string, the name: "layer1.0.conv1.weight", "exp_avg"; flags: Role
  RecordHeader header;
  uint64_t ticks;
  uint64_t storage;  // address
  uint64_t storage_bytes;
  uint64_t parameter;  // gradient, optimizer state: storage of the parameter it belongs to, else 0
};

struct ValueReadRecord {  // id: string, the operator that the program called for it
  RecordHeader header;
  uint64_t ticks;
  uint32_t stack;  // 0: that of the operator around it, or of the node under evaluation
  uint32_t reserved;
};

struct ForeignRecord {  // flags: device id
  RecordHeader header;
  uint64_t ticks;
  uint64_t address;
  uint64_t bytes;
};

// ---- all of them ----------------------------------------------------------------------------------------------

// What a record of a kind must have room for.
struct RecordShape {
  RecordKind kind{};
  // Of the fixed part. What is behind it in a record without a tail are fields of a newer writer.
  size_t bytes = 0;
  size_t element = 0;                        // of the tail, if it has one: as many as `count` says,
  uint64_t (*count)(const void*) = nullptr;  // or, without, up to the end of the record
};

namespace detail {
template <class Record>
constexpr RecordShape fixed(RecordKind kind) {
  return {kind, sizeof(Record)};
}
template <class Record, class Element>
constexpr RecordShape with_tail(RecordKind kind) {
  return {kind, sizeof(Record), sizeof(Element)};
}
template <class Record, auto field>
constexpr RecordShape with_count(RecordKind kind, size_t element) {
  return {kind, sizeof(Record), element,
          [](const void* record) { return uint64_t{static_cast<const Record*>(record)->*field}; }};
}
}  // namespace detail

inline constexpr RecordShape kRecordShapes[] = {
    detail::with_count<StringRecord, &StringRecord::bytes>(RecordKind::string, 1),
    detail::fixed<FrameRecord>(RecordKind::frame),
    detail::with_count<StackRecord, &StackRecord::count>(RecordKind::stack, sizeof(uint32_t)),
    detail::with_count<NativeStackRecord, &NativeStackRecord::count>(RecordKind::native_stack, sizeof(uint64_t)),
    detail::with_count<LayoutRecord, &LayoutRecord::rank>(RecordKind::layout, 2 * sizeof(int64_t)),
    detail::fixed<ModuleRecord>(RecordKind::module),
    detail::fixed<DeviceRecord>(RecordKind::device),
    detail::fixed<MappingRecord>(RecordKind::mapping),
    detail::fixed<InformationRecord>(RecordKind::information),
    detail::fixed<LossRecord>(RecordKind::loss),
    detail::fixed<LaneRecord>(RecordKind::lane),
    detail::fixed<SourceRecord>(RecordKind::source),
    detail::fixed<OlderStepsRecord>(RecordKind::older_steps),
    detail::fixed<OlderLaneRecord>(RecordKind::older_lane),
    detail::fixed<OlderPeakRecord>(RecordKind::older_peak),
    detail::with_tail<OperatorRecord, uint64_t>(RecordKind::operator_begin),
    detail::fixed<EventRecord>(RecordKind::operator_end),
    detail::fixed<AllocationRecord>(RecordKind::allocation),
    detail::fixed<FreeRecord>(RecordKind::free),
    detail::with_tail<NodeRecord, NodeEdge>(RecordKind::node),
    detail::fixed<SaveRecord>(RecordKind::save),
    detail::fixed<NodeReleaseRecord>(RecordKind::node_release),
    detail::fixed<EvaluationRecord>(RecordKind::evaluation_begin),
    detail::fixed<EventRecord>(RecordKind::evaluation_end),
    detail::fixed<NamedEventRecord>(RecordKind::backward_begin),
    detail::fixed<EventRecord>(RecordKind::backward_end),
    detail::fixed<RoleRecord>(RecordKind::role),
    detail::fixed<NamedEventRecord>(RecordKind::module_begin),
    detail::fixed<EventRecord>(RecordKind::module_end),
    detail::fixed<NamedEventRecord>(RecordKind::optimizer_begin),
    detail::fixed<EventRecord>(RecordKind::optimizer_end),
    detail::fixed<NamedEventRecord>(RecordKind::range_begin),
    detail::fixed<EventRecord>(RecordKind::range_end),
    detail::fixed<ForeignRecord>(RecordKind::foreign),
    detail::with_tail<InputViewsRecord, InputView>(RecordKind::input_views),
    detail::fixed<RewriteRecord>(RecordKind::rewrite),
    detail::fixed<ChecksumRecord>(RecordKind::checksum),
    detail::fixed<DeviceAllocationRecord>(RecordKind::device_allocation),
    detail::fixed<FreeRecord>(RecordKind::free_request),
    detail::fixed<SegmentRecord>(RecordKind::segment),
    detail::fixed<OutOfMemoryRecord>(RecordKind::out_of_memory),
    detail::fixed<DeviceAllocationRecord>(RecordKind::device_allocation),
    detail::fixed<FreeRecord>(RecordKind::free_request),
    detail::fixed<SegmentRecord>(RecordKind::segment),
    detail::fixed<OutOfMemoryRecord>(RecordKind::out_of_memory),
    detail::fixed<ValueReadRecord>(RecordKind::value_read),
    detail::fixed<OutsideRecord>(RecordKind::outside),
    detail::fixed<DeviceUsageRecord>(RecordKind::device_usage),
    detail::fixed<OutsideCallRecord>(RecordKind::outside_call),
    detail::fixed<VirtualMemoryRecord>(RecordKind::virtual_memory),
    detail::fixed<MemoryPoolRecord>(RecordKind::memory_pool),
    detail::fixed<HeldRecord>(RecordKind::held),
    detail::fixed<VariableRecord>(RecordKind::variable),
};

// By kind; of one that is not known `bytes` is 0.
inline constexpr auto kShapeOfKind = [] {
  std::array<RecordShape, 256> shapes{};
  for (const RecordShape& shape : kRecordShapes) shapes[static_cast<size_t>(shape.kind)] = shape;
  return shapes;
}();

constexpr const RecordShape& shape_of(RecordKind kind) { return kShapeOfKind[static_cast<size_t>(kind)]; }
constexpr bool is_known(RecordKind kind) { return shape_of(kind).bytes != 0; }
constexpr bool is_event(RecordKind kind) { return kind >= RecordKind::operator_begin && is_known(kind); }
// The ticks of a record for which is_event holds: all of them have them in the same place.
inline uint64_t ticks_of(const RecordHeader* record) { return reinterpret_cast<const EventRecord*>(record)->ticks; }

}  // namespace tapelens::trace
