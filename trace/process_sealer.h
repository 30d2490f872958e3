// Processes the events of one process in time order and writes its tables. It resolves addresses to ids, pairs begins
// with ends, and records the operator, module call and evaluation that were running.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "trace/address_book.h"
#include "trace/local_ids.h"
#include "trace/record.h"
#include "trace/seal.h"
#include "trace/spool_reader.h"
#include "trace/table_sink.h"
#include "trace/types.h"

namespace tapelens::trace {

class ProcessSealer {
 public:
  // `thread_of_lane`: rows of the threads table.
  ProcessSealer(ProcessSinks& tables, const Interned& ids, const std::vector<ThreadId>& thread_of_lane);

  void event(const RecordHeader* record, size_t lane, Time time);
  // Records of a lane are missing: its open intervals are unknown from here on.
  void gap(size_t lane);
  // After the last event.
  void finish();

  Time last() const { return last_; }
  // Events lost for one reason, and the time of the first loss. count 0: none.
  struct Lost {
    uint64_t count = 0;
    Time since;
  };
  const Lost& unmatched_events() const { return unmatched_; }
  const Lost& unattributed_saves() const { return unattributed_; }
  struct Peak {
    DeviceId device;
    Bytes bytes;
  };
  std::vector<Peak> peaks() const;  // of each device that served an allocation
  uint64_t out_of_memory() const { return out_of_memory_; }

 private:
  using Book = AddressBook<ProcessSealer, AllocationId, NodeId>;
  friend Book;
  struct OpenEvaluation {
    EvaluationId id;
    NodeId node;
    uint8_t flags;
  };
  struct OpenBackward {
    Time begin;
    uint8_t flags;
  };
  struct OpenInterval {
    Time begin;
    StringId name;
  };
  struct Lane {
    ThreadId thread;
    std::vector<OperatorId> operators;
    std::vector<ModuleCallId> module_calls;
    size_t inputs = 0;   // inputs so far of the last operator that began
    bool began = false;  // the last event was an operator's begin: its input views may follow
    std::vector<OpenEvaluation> evaluations;
    std::vector<OpenBackward> backwards;
    std::vector<OpenInterval> optimizers, ranges;

    OperatorId op() const { return operators.empty() ? OperatorId{} : operators.back(); }
    EvaluationId evaluation() const { return evaluations.empty() ? EvaluationId{} : evaluations.back().id; }
    ModuleCallId module_call() const { return module_calls.empty() ? ModuleCallId{} : module_calls.back(); }
  };

  void operator_begin(const OperatorRecord& record, Lane& lane, Time time);
  void input_views(const InputViewsRecord& record, const Lane& lane);
  void allocation(const AllocationRecord& record, const Lane& lane);
  void device_allocation(const DeviceAllocationRecord& record, const Lane& lane);
  void segment(const SegmentRecord& record, Time time);
  void outside(const OutsideRecord& record, Time time);
  void device_usage(const DeviceUsageRecord& record, Time time);
  void virtual_memory(const VirtualMemoryRecord& record, Time time);
  void memory_pool(const MemoryPoolRecord& record, Time time);
  OperatorId take_call(uint32_t call);  // the operator that made the CUDA call; one call allocates one piece of memory
  void full(const OutOfMemoryRecord& record, const Lane& lane, Time time);
  void foreign(const ForeignRecord& record, const Lane& lane);
  void node(const NodeRecord& record, const Lane& lane, uint32_t lane_number, Time time);
  void save(const SaveRecord& record, Time time);
  void held(const HeldRecord& record, Time time);
  void variable(const VariableRecord& record, Time time);
  void role(const RoleRecord& record, Time time);
  void rewrite(const RewriteRecord& record, const Lane& lane, Time time);
  void evaluation_end(Lane& lane, Time time);
  // Ends an interval whose row was written at its begin, by a row that names it.
  template <template <template <class> class> class Ends, class Id>
  void end(std::vector<Id>& open, Time time) {
    if (open.empty()) return count_lost(unmatched_, time);
    tables_.push<Ends>({.of = open.back(), .end = time});
    open.pop_back();
  }
  void leave_open(Lane& lane);

  AllocationId add_allocation(uint64_t bytes, DeviceId device, Origin origin, const Lane& lane, StackId stack);
  // The live allocation at an address. If the address is unknown and the size is known, adds a foreign allocation.
  AllocationId storage_at(uint64_t address, uint64_t bytes);
  uint8_t device_of(const RecordHeader& header) const { return static_cast<uint8_t>(ids_.devices[header.flags].value); }

  // The book's follower.
  void unmatched() { count_lost(unmatched_, last_); }
  void freed(AllocationId id) { tables_.push<table::Frees>({.of = id, .time = last_}); }
  void freed_unseen(AllocationId id, uint64_t, uint8_t) { freed(id); }
  void died_unseen(NodeId id, uint64_t) {
    tables_.push<table::NodeReleases>({.of = id, .time = last_, .flags = kNodeDied});
  }
  void peaked(uint8_t, uint64_t) {}
  static void count_lost(Lost& lost, Time time) {
    if (lost.count++ == 0) lost.since = time;
  }

  ProcessSinks& tables_;
  const Interned& ids_;
  std::vector<Lane> lanes_;
  uint64_t out_of_memory_ = 0;  // requests
  Book book_{*this};
  std::unordered_map<uint32_t, OperatorId> calls_;  // CUDA calls that have not allocated memory yet
  Lost unmatched_, unattributed_;
  Time last_;
};

}  // namespace tapelens::trace
