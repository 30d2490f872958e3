// Strong types for code that writes or reads a recording.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tapelens::trace {

// An index into one table. 0 is "none"; the rows of a table count from 1.
template <class Tag>
struct Id {
  uint32_t value = 0;

  constexpr explicit operator bool() const { return value != 0; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using StringId = Id<struct StringTag>;
using FrameId = Id<struct FrameTag>;
using StackId = Id<struct StackTag>;    // frames, innermost first
using LayoutId = Id<struct LayoutTag>;  // dtype, sizes and strides of a view
using ModuleId = Id<struct ModuleTag>;
using DeviceId = Id<struct DeviceTag>;  // at most 255
using ThreadId = Id<struct ThreadTag>;  // at most 65535
using OperatorId = Id<struct OperatorTag>;
using ViewId = Id<struct ViewTag>;
using AllocationId = Id<struct AllocationTag>;
using FreeId = Id<struct FreeTag>;
using NodeId = Id<struct NodeTag>;
using ReleaseId = Id<struct ReleaseTag>;
using SaveId = Id<struct SaveTag>;
using HeldId = Id<struct HeldTag>;
using EvaluationId = Id<struct EvaluationTag>;
using RoleId = Id<struct RoleTag>;
using RewriteId = Id<struct RewriteTag>;
using ChecksumId = Id<struct ChecksumTag>;
using ValueReadId = Id<struct ValueReadTag>;
using ModuleCallId = Id<struct ModuleCallTag>;
using DeviceBlockId = Id<struct DeviceBlockTag>;
using ImportedFactsId = Id<struct ImportedFactsTag>;
using FreeRequestId = Id<struct FreeRequestTag>;
using SegmentEventId = Id<struct SegmentEventTag>;
using OutsideEventId = Id<struct OutsideEventTag>;
using DeviceUsageId = Id<struct DeviceUsageTag>;
using VirtualMemoryId = Id<struct VirtualMemoryTag>;
using MemoryPoolId = Id<struct MemoryPoolTag>;
using OutOfMemoryId = Id<struct OutOfMemoryTag>;

// Nanoseconds since the recording began.
struct Time {
  int64_t ns = 0;
  friend constexpr auto operator<=>(Time, Time) = default;
};
inline constexpr Time kNever{INT64_MAX};

// Requested bytes, unless a name says `rounded` or `reserved`.
struct Bytes {
  int64_t value = 0;
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  constexpr Bytes& operator+=(Bytes o) {
    value += o.value;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes o) {
    value -= o.value;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
};

// The role of a storage in the training run, as far as the program declares one.
enum class Role : uint8_t { none = 0, parameter = 1, buffer = 2, gradient = 3, optimizer_state = 4 };

// The phase that the stack of an imported allocation shows: a backward, an optimizer's step, or a module's call outside
// of both. The numbers are in files.
enum class ImportedPhase : uint8_t { unknown = 0, forward = 1, backward = 2, optimizer = 3 };
// The role of an imported allocation, as its lifetime and its stacks prove it. saved: for a backward.
enum class ImportedRole : uint8_t { unknown = 0, parameter = 1, gradient = 2, optimizer_state = 3, saved = 4 };

// The source of an allocation. No watched allocator allocated `foreign` memory (from_blob, mmap, memory older than the
// recording). It can be held, but no device's sum includes it.
enum class Origin : uint8_t { allocator = 0, foreign = 1 };

// Data that is missing from the recording. The numbers are in files: never reuse one.
enum class Loss : uint8_t {
  disk_full = 1,          // events that found no room on the disk
  size_limit = 2,         // events past --max-size
  forked_child = 3,       // processes forked after LibTorch was loaded: counted, not recorded
  torn_block = 4,         // blocks of a spool whose checksum or structure is wrong
  unattributed_save = 5,  // saves of an unknown node or field
  truncated_text = 6,     // strings or stacks longer than a block holds, or than an import keeps
  unmatched_event = 7,    // ends without a begin, frees of unknown memory
  unwritable = 8,         // processes that failed to create their spool
  truncated_spool = 9,    // processes that were killed: the events that they had not committed
  no_memory = 10,         // events for whose block the process had no address space left (ulimit -v)
  unreachable = 11,       // events whose spool was moved, removed or hidden by chroot
  no_descriptor = 12,     // events whose spool could not be opened: every descriptor was in use (ulimit -n)
  disk_reserve = 13,      // events past the reserve of disk space that is kept for the program
  file_size_limit = 14,   // events past the program's own limit of file sizes (ulimit -f)
  unknown_record = 15,    // records of a kind unknown to the sealer
  dropped_activity = 24,  // records of external memory that CUPTI dropped for lack of room
  dropped_history = 30,   // allocations whose entry the history of an imported snapshot dropped
  unknown_action = 31,    // entries of such a history with an action unknown to the importer
};

struct ProcessIndex {
  uint32_t value = 0;
  friend constexpr auto operator<=>(ProcessIndex, ProcessIndex) = default;
};

}  // namespace tapelens::trace

template <class Tag>
struct std::hash<tapelens::trace::Id<Tag>> {
  size_t operator()(tapelens::trace::Id<Tag> id) const noexcept { return id.value; }
};
