// Follows the events of one process in the order of time and writes its tables: addresses become ids, begins and ends
// are brought together, what was running when is noted. Used by the sealer.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "trace/address_map.h"
#include "trace/local_ids.h"
#include "trace/process_columns.h"
#include "trace/record.h"
#include "trace/seal.h"
#include "trace/spool_reader.h"
#include "trace/types.h"

namespace tapelens::trace {

class ProcessSealer {
 public:
  // `thread_of_lane`: rows of the threads table.
  ProcessSealer(ProcessColumns& columns, const Interned& ids, std::vector<uint16_t> thread_of_lane);

  void event(const RecordHeader* record, size_t lane, uint64_t ns);
  // Records of a lane are missing: what was open on it is not known any more.
  void gap(size_t lane);
  // After the last event.
  void finish();

  uint64_t last_ns() const { return last_ns_; }
  // Since the first event that was lost in this way; count 0: none.
  struct Lost {
    uint64_t count = 0, since_ns = 0;
  };
  const Lost& unmatched() const { return unmatched_; }
  const Lost& unattributed() const { return unattributed_; }
  struct Peak {
    uint8_t device;
    int64_t bytes;
  };
  std::vector<Peak> peaks() const;  // of each device that was asked for memory

 private:
  struct Live {  // an allocation
    uint32_t id;
    uint8_t device;
    Origin origin;
    uint64_t bytes;
  };
  struct LiveNode {
    uint32_t id;
    uint32_t lane;
    uint64_t sequence_nr, storage;
    bool is_accumulate_grad;
  };
  struct OpenEvaluation {
    uint32_t id, node;
    uint8_t flags;
  };
  struct Open {
    uint64_t begin;
    uint32_t value;  // flags or a name
  };
  struct Lane {
    uint16_t thread;
    std::vector<uint32_t> operators, module_calls;
    size_t inputs = 0;   // of the operator begun last
    bool began = false;  // the event before was the begin of an operator: what it was given may follow
    std::vector<OpenEvaluation> evaluations;
    std::vector<Open> backwards, optimizers, ranges;

    uint32_t operator_id() const { return operators.empty() ? 0 : operators.back(); }
    uint32_t evaluation_id() const { return evaluations.empty() ? 0 : evaluations.back().id; }
    uint32_t module_call_id() const { return module_calls.empty() ? 0 : module_calls.back(); }
  };
  struct Device {
    int64_t live = 0, peak = 0;
    uint64_t changes = 0;
    uint64_t bucket_begin = 0;
    int64_t least = 0, most = 0;
  };

  void operator_begin(const OperatorRecord& record, Lane& lane, uint64_t ns);
  void input_views(const InputViewsRecord& record, const Lane& lane);
  void allocation(const AllocationRecord& record, Lane& lane, uint64_t ns);
  void foreign(const ForeignRecord& record, Lane& lane, uint64_t ns);
  void free(const FreeRecord& record, uint64_t ns);
  void node(const NodeRecord& record, Lane& lane, uint32_t lane_number, uint64_t ns);
  void save(const SaveRecord& record, Lane& lane, uint64_t ns);
  void node_release(const NodeReleaseRecord& record, uint64_t ns);
  void role(const RoleRecord& record, Lane& lane, uint64_t ns);
  void rewrite(const RewriteRecord& record, const Lane& lane, uint64_t ns);
  void evaluation_end(Lane& lane, uint64_t ns);
  void leave_open(Lane& lane);

  // The allocation that is alive at an address, 0 if none.
  uint32_t allocation_at(uint64_t address);
  // The same, made of origin foreign if there is none and its size is known.
  uint32_t storage_at(uint64_t address, uint64_t bytes, const Lane& lane, uint64_t ns);
  uint32_t node_at(uint64_t address);
  void end_allocation(const Live& live, uint64_t ns);
  void change(uint8_t device, uint64_t more, uint64_t ns);  // modulo 2^64: 0 - bytes is less
  static void lose(Lost& lost, uint64_t ns) {
    if (lost.count++ == 0) lost.since_ns = ns;
  }

  ProcessColumns& columns_;
  const Interned& ids_;
  std::vector<Lane> lanes_;
  AddressMap<Live> live_;
  AddressMap<LiveNode> nodes_;
  std::array<Device, 256> devices_{};
  Lost unmatched_, unattributed_;
  uint64_t last_ns_ = 0;
};

}  // namespace tapelens::trace
