// Strong types shared by everything that writes or reads a recording.
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

// What a storage is to the training run, as far as the program says so.
enum class Role : uint8_t { none = 0, parameter = 1, buffer = 2, gradient = 3, optimizer_state = 4 };

// What the stack of an imported allocation shows: the program was in a backward, in an optimizer's step, or in a call
// of a module outside of both. Numbers are in files.
enum class ImportedPhase : uint8_t { unknown = 0, forward = 1, backward = 2, optimizer = 3 };
// What an imported allocation is, where its life and its stacks show it. saved: for a backward.
enum class ImportedRole : uint8_t { unknown = 0, parameter = 1, gradient = 2, optimizer_state = 3, saved = 4 };

// Where an allocation came from. `foreign` memory was never asked of a LibTorch allocator (from_blob,
// mmap, made before the recording began): it can be held, but is in no device's sum.
enum class Origin : uint8_t { allocator = 0, foreign = 1 };

// Data that the recording should hold and does not. Never reused numbers: they are in files.
enum class Loss : uint8_t {
  disk_full = 1,          // events that found no room on the disk
  size_limit = 2,         // events past --max-size
  forked_child = 3,       // processes forked after LibTorch was loaded: counted, not recorded
  torn_block = 4,         // blocks of a spool whose checksum or structure is wrong
  unattributed_save = 5,  // saves whose node or field is not known
  truncated_text = 6,     // strings or stacks longer than a block holds, or than an import keeps
  unmatched_event = 7,    // ends without a begin, frees of memory that was never seen
  unwritable = 8,         // processes whose spool could not be made
  truncated_spool = 9,    // processes that ended without saying so (killed): what they had not committed
  no_memory = 10,         // events for whose block the process had no address space left (ulimit -v)
  unreachable = 11,       // events whose spool could not be reached by its path any more: moved, removed, chroot
  no_descriptor = 12,     // events whose spool could not be opened: every descriptor was in use (ulimit -n)
  disk_reserve = 13,      // events for which the disk had no more than the reserve that is left to the program
  file_size_limit = 14,   // events past the program's own limit of file sizes (ulimit -f)
  unknown_record = 15,    // records of a kind that the sealer did not know
  dropped_activity = 24,  // records of memory outside of PyTorch's allocator that CUPTI had no room for
  dropped_history = 30,   // of an imported snapshot: allocations whose entry its history held no more
  unknown_action = 31,    // entries of such a history that say what the importer did not know
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
