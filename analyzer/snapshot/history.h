// The allocations at the begin and the end of a device's history. The snapshot does not contain them. Allocations from
// before the oldest entry follow from the blocks at the end, and from frees without an allocation in the history.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/snapshot/pieces.h"
#include "analyzer/snapshot/snapshot.h"

namespace tapelens::snapshot {

struct HeldBlock {
  uint64_t address = 0, requested = 0;
  uint64_t bytes = 0;  // size of the block; 0: not known
  uint64_t stream = 0;
  PoolId pool;
  uint32_t call = 0;  // in Snapshot::calls
  bool is_pending = false;
};

struct KnownBlock {
  uint64_t event = 0;  // its allocation, in Snapshot::events
  uint64_t bytes = 0;  // size of the block
};

struct DeviceHistory {
  std::string device;  // "cuda:0"
  IndexRange events;
  bool has_history = false;          // it has entries; otherwise the snapshot shows only one moment
  std::vector<HeldBlock> before;     // allocations that are alive when the history begins, by address
  std::vector<Piece> pieces_before;  // memory that the allocator has when the history begins
  std::vector<KnownBlock> known;     // blocks at the end that the history allocated, in its order
  // The changes between the end of the history and the snapshot; empty if the history reaches the snapshot. Freed
  // allocations, by address, and freed memory:
  std::vector<uint64_t> gone;
  std::vector<Piece> pieces_gone;
  // New allocations, and new memory:
  std::vector<HeldBlock> later;
  std::vector<Piece> pieces_later;

  // Allocations of `before` whose entry PyTorch dropped from the history.
  uint64_t dropped = 0;
  uint64_t unmatched = 0;  // entries that contradict earlier entries
};

// One history for each device that has a history or memory, by device; the host is last.
trace::Result<std::vector<DeviceHistory>> histories(const Snapshot& snapshot);

}  // namespace tapelens::snapshot
