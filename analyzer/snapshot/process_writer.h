// Writes the memory events of a snapshot's devices into the tables of a recording, in the order of time.
#pragma once

#include <memory>
#include <vector>

#include "analyzer/snapshot/block_sizes.h"
#include "analyzer/snapshot/history.h"
#include "analyzer/snapshot/ranges.h"
#include "analyzer/snapshot/roles.h"
#include "trace/address_map.h"
#include "trace/process_sealer.h"
#include "trace/shared_tables.h"
#include "trace/table_sink.h"

namespace tapelens::snapshot {

class ProcessWriter {
 public:
  ProcessWriter(const Snapshot& snapshot, const std::vector<DeviceHistory>& histories, trace::ProcessSinks& tables,
                trace::SharedTables& shared);

  void run(const std::function<void(double)>& progress);

  trace::Time last() const { return last_; }
  // Later events have no entry in the history, so their order is not known.
  trace::Time ordered_until() const { return ordered_until_; }
  int64_t begin_us() const { return begin_us_; }
  std::vector<trace::DeviceSeal> peaks() const;
  uint64_t out_of_memory() const { return out_of_memory_; }
  uint64_t annotations_of_tensors() const { return annotations_of_tensors_; }
  uint64_t unknown_actions() const { return unknown_actions_; }

 private:
  struct Live {
    trace::AllocationId id;
    uint64_t requested = 0, bytes = 0;  // `bytes`: size of the block
    bool is_waiting = false;            // the program has freed it
  };
  struct Device {
    Device(const DeviceHistory& of, const allocator::AllocatorSettings& settings) : history(of), sizes(settings) {}
    const DeviceHistory& history;
    trace::DeviceId id;
    bool has_segments = true;  // false for pinned memory
    uint64_t next = 0;         // index of its next event
    size_t next_known = 0;
    trace::AddressMap<Live> live;
    Pieces pieces;
    BlockSizes sizes;
    uint64_t requested = 0, allocated = 0, reserved = 0, peak = 0;
  };

  void begin(Device& device);
  void end(Device& device);
  void event(Device& device, size_t number);
  void allocate(Device& device, const HeldBlock& held);
  // `call`: the stack of the free, in Snapshot::calls.
  void request_free(Device& device, uint64_t address, uint32_t call);
  void free(Device& device, uint64_t address, uint32_t call);
  void change(Device& device, trace::SegmentChange change, const Piece& piece);
  void full(Device& device, const Event& event);
  HeldBlock held_of(Device& device, const Event& event, uint64_t number);
  Device* earliest();
  void annotate_until(int64_t time_us);
  void advance(int64_t time_us);

  const Snapshot& s_;
  trace::ProcessSinks& tables_;
  std::vector<std::unique_ptr<Device>> devices_;
  Ranges ranges_;
  RoleFinder roles_;
  trace::SharedTables& shared_;
  size_t next_annotation_ = 0;
  int64_t begin_us_ = 0;
  trace::Time last_, ordered_until_;
  uint64_t out_of_memory_ = 0, annotations_of_tensors_ = 0, unknown_actions_ = 0;
};

}  // namespace tapelens::snapshot
