// What the history of a device begins and ends with, which is nowhere said: what was there before its oldest entry
// follows from what is there at the end, and what is given back without having been allocated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/snapshot/pieces.h"
#include "analyzer/snapshot/snapshot.h"

namespace tapelens::snapshot {

struct Held {
  uint64_t address = 0, requested = 0;
  uint64_t bytes = 0;  // of the block; 0: not known
  uint64_t stream = 0;
  PoolId pool;
  uint32_t call = 0;  // in Snapshot::calls
  bool is_pending = false;
};

struct KnownBlock {
  uint64_t event = 0;  // in Snapshot::events: of its allocation
  uint64_t bytes = 0;  // of the block
};

struct DeviceHistory {
  std::string device;  // "cuda:0"
  Range events;
  bool has_history = false;          // something happened in it: else the snapshot is of one moment
  std::vector<Held> before;          // what was allocated when the history begins, by address
  std::vector<Piece> pieces_before;  // and the memory that the allocator had then
  std::vector<KnownBlock> known;     // what is there at the end and was allocated in the history, in its order
  // Where the history ends before the snapshot was taken, else nothing: what came in between. It was given back,
  std::vector<uint64_t> gone;  // by address,
  std::vector<Piece> pieces_gone;
  // or allocated.
  std::vector<Held> later;
  std::vector<Piece> pieces_later;

  // Allocations of `before` that were allocated while PyTorch kept a history, and whose entry is not in it any more.
  uint64_t dropped = 0;
  uint64_t unmatched = 0;  // entries that contradict what was before them
};

// Of each device that has a history or memory, in their order; that of the host last.
trace::Result<std::vector<DeviceHistory>> histories(const Snapshot& snapshot);

}  // namespace tapelens::snapshot
