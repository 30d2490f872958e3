// A memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot) as rows: its segments and blocks, and the history of
// each device before it. The reader depends on the keys that the file has, not on a version.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/allocator/caching_allocator.h"
#include "analyzer/snapshot/stack_facts.h"
#include "trace/result.h"
#include "trace/shared_tables.h"
#include "trace/types.h"

namespace tapelens::snapshot {

using allocator::PoolId;
using trace::StackId;
using trace::StringId;

enum class Action : uint8_t {
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  snapshot,
  oom,
  annotate,
  unknown,
};

// A stack as Tapelens keeps it, and the facts from all of its frames. Many stacks that differ in their C++ frames have
// the same Python frames.
struct Call {
  StackId stack;
  StackFacts facts;
  friend auto operator<=>(const Call&, const Call&) = default;
};

// A snapshot has millions of events. So calls, streams, pools and notes are indices into lists of the Snapshot.
struct Event {
  uint64_t address = 0;  // oom: free bytes of the device
  uint64_t bytes = 0;    // requested bytes; segments: size
  int64_t time_us = 0;   // since 1970; 0: unknown, from older versions of PyTorch
  uint32_t call = 0;
  uint32_t stream = 0;
  uint32_t note = 0;
  static constexpr uint32_t kMostPools = (1U << 28) - 1;
  uint32_t pool : 28 = 0;  // 0: none or unknown
  Action action : 4 = Action::unknown;
};
static_assert(sizeof(Event) == 40);

struct Block {
  uint64_t address = 0;
  uint64_t bytes = 0;       // size of the block
  uint64_t requested = 0;   // requested bytes, of `bytes`
  uint32_t call = 0;        // in Snapshot::calls
  bool is_active = false;   // otherwise it is cached
  bool is_pending = false;  // the program has freed it, but streams still use it
};

struct IndexRange {
  uint64_t first = 0, count = 0;
};

struct Segment {
  uint64_t address = 0, bytes = 0;
  uint64_t stream = 0;
  int64_t device = 0;  // -1: the host
  PoolId pool;
  IndexRange blocks;  // in Snapshot::blocks
  bool is_expandable = false;
};

// torch.profiler.record_function and similar annotations.
struct Annotation {
  StringId name;
  int64_t device = 0, time_us = 0;
  enum class Stage : uint8_t { begin, end, neither } stage = Stage::neither;
};

// Metadata of the program and of the compiler at an event.
struct Note {
  StringId compile_context, user_metadata;
  friend auto operator<=>(const Note&, const Note&) = default;
};

struct Snapshot {
  std::vector<Segment> segments;
  IndexRange device_segments, host_segments;  // in `segments`
  std::vector<Block> blocks;
  // In pieces, so that it grows without a copy.
  class Events {
   public:
    void push(const Event& event) {
      if (count_ % kPiece == 0) pieces_.emplace_back().reserve(kPiece);
      pieces_.back().push_back(event);
      ++count_;
    }
    uint64_t size() const { return count_; }
    const Event& operator[](uint64_t i) const { return pieces_[i / kPiece][i % kPiece]; }

   private:
    static constexpr uint64_t kPiece = uint64_t{1} << 16;
    std::vector<std::vector<Event>> pieces_;
    uint64_t count_ = 0;
  } events;
  std::vector<IndexRange> traces;  // by device: its events
  IndexRange host_trace;           // events of pinned memory
  std::vector<Annotation> annotations;
  std::vector<Call> calls{Call{}};
  std::vector<uint64_t> streams{0};
  std::vector<PoolId> pools{PoolId{}};
  std::vector<Note> notes{Note{}};
  std::string settings;       // PYTORCH_CUDA_ALLOC_CONF
  uint64_t cut_stacks = 0;    // stacks with more frames than Tapelens keeps
  bool has_segments = false;  // otherwise the memory at the end is not known
};

// Frames and texts go to `shared`. An error names the place in the file and the problem.
trace::Result<Snapshot> read_snapshot(const std::string& path, trace::SharedTables& shared,
                                      const std::function<void(double)>& progress);

}  // namespace tapelens::snapshot
