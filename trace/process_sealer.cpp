// See process_sealer.h.
#include "trace/process_sealer.h"

#include <algorithm>
#include <utility>

namespace tapelens::trace {
namespace {

constexpr Time kNoEnd{-1};  // 2^64-1 in the file

// The elements from the end of a record's fixed part to its end.
template <class Element, class Record>
std::span<const Element> tail_of(const Record& record) {
  const size_t bytes = size_t{record.header.words} * 8 - sizeof(Record);
  return {reinterpret_cast<const Element*>(&record + 1), bytes / sizeof(Element)};
}

// The sizes in an untrusted spool may have any value: modulo 2^64.
Bytes bytes_of(uint64_t bytes) { return {static_cast<int64_t>(bytes)}; }

// No event is older than the recording: clamp the age.
Time age_of(uint64_t age, Time told) {
  return {static_cast<int64_t>(std::min(age, static_cast<uint64_t>(std::max<int64_t>(0, told.ns))))};
}

}  // namespace

ProcessSealer::ProcessSealer(ProcessSinks& tables, const Interned& ids, const std::vector<ThreadId>& thread_of_lane)
    : tables_(tables), ids_(ids), lanes_(thread_of_lane.size()) {
  for (size_t i = 0; i < lanes_.size(); ++i) lanes_[i].thread = thread_of_lane[i];
}

void ProcessSealer::event(const RecordHeader* record, size_t lane_number, Time time) {
  time = last_ = std::max(time, last_);
  Lane& lane = lanes_[lane_number];
  const bool began = std::exchange(lane.began, record->kind == RecordKind::operator_begin);
  switch (record->kind) {
    case RecordKind::operator_begin:
      return operator_begin(as<OperatorRecord>(record), lane, time);
    case RecordKind::input_views:
      if (began) input_views(as<InputViewsRecord>(record), lane);
      return;
    case RecordKind::operator_end:
      return end<table::OperatorEnds>(lane.operators, time);
    case RecordKind::allocation:
      return allocation(as<AllocationRecord>(record), lane);
    case RecordKind::device_allocation:
      return device_allocation(as<DeviceAllocationRecord>(record), lane);
    case RecordKind::free_request:
      return book_.free_request(as<FreeRecord>(record),
                                [&](AllocationId of) { tables_.push<table::FreeRequests>({.of = of, .time = time}); });
    case RecordKind::segment:
      return segment(as<SegmentRecord>(record), time);
    case RecordKind::outside:
      return outside(as<OutsideRecord>(record), time);
    case RecordKind::device_usage:
      return device_usage(as<DeviceUsageRecord>(record), time);
    case RecordKind::outside_call:
      if (lane.op()) calls_[as<OutsideCallRecord>(record).call] = lane.op();
      return;
    case RecordKind::virtual_memory:
      return virtual_memory(as<VirtualMemoryRecord>(record), time);
    case RecordKind::memory_pool:
      return memory_pool(as<MemoryPoolRecord>(record), time);
    case RecordKind::out_of_memory:
      return full(as<OutOfMemoryRecord>(record), lane, time);
    case RecordKind::free:
      return book_.free(as<FreeRecord>(record));
    case RecordKind::node:
      return node(as<NodeRecord>(record), lane, static_cast<uint32_t>(lane_number), time);
    case RecordKind::save:
      return save(as<SaveRecord>(record), time);
    case RecordKind::held:
      return held(as<HeldRecord>(record), time);
    case RecordKind::variable:
      return variable(as<VariableRecord>(record), time);
    case RecordKind::node_release:
      return book_.node_release(as<NodeReleaseRecord>(record), [&](NodeId of) {
        tables_.push<table::NodeReleases>({.of = of, .time = time, .flags = record->flags});
      });
    case RecordKind::evaluation_begin: {
      const NodeId of = book_.node_at(as<EvaluationRecord>(record).node);
      const EvaluationId id =
          tables_.push<table::Evaluations>({.begin = time, .node = of, .thread = lane.thread, .flags = record->flags});
      lane.evaluations.push_back({id, of, record->flags});
      return;
    }
    case RecordKind::evaluation_end:
      return evaluation_end(lane, time);
    case RecordKind::backward_begin:
      return lane.backwards.push_back({time, record->flags});
    case RecordKind::backward_end: {
      if (lane.backwards.empty()) return count_lost(unmatched_, time);
      const OpenBackward& open = lane.backwards.back();
      tables_.push<table::Backwards>({.begin = open.begin, .end = time, .flags = open.flags});
      return lane.backwards.pop_back();
    }
    case RecordKind::role:
      return role(as<RoleRecord>(record), time);
    case RecordKind::module_begin:
      return lane.module_calls.push_back(tables_.push<table::ModuleCalls>({.begin = time,
                                                                           .module = ids_.modules[record->id],
                                                                           .thread = lane.thread,
                                                                           .parent = lane.module_call(),
                                                                           .flags = record->flags}));
    case RecordKind::module_end:
      return end<table::ModuleCallEnds>(lane.module_calls, time);
    case RecordKind::optimizer_begin:
      return lane.optimizers.push_back({time, ids_.strings[record->id]});
    case RecordKind::optimizer_end: {
      if (lane.optimizers.empty()) return count_lost(unmatched_, time);
      const OpenInterval& open = lane.optimizers.back();
      tables_.push<table::OptimizerSteps>({.begin = open.begin, .end = time, .name = open.name});
      return lane.optimizers.pop_back();
    }
    case RecordKind::range_begin:
      return lane.ranges.push_back({time, ids_.strings[record->id]});
    case RecordKind::range_end: {
      if (lane.ranges.empty()) return count_lost(unmatched_, time);
      const OpenInterval& open = lane.ranges.back();
      tables_.push<table::Ranges>({.begin = open.begin, .end = time, .name = open.name, .thread = lane.thread});
      return lane.ranges.pop_back();
    }
    case RecordKind::foreign:
      return foreign(as<ForeignRecord>(record), lane);
    case RecordKind::rewrite:
      return rewrite(as<RewriteRecord>(record), lane, time);
    case RecordKind::checksum: {
      const auto& checksum = as<ChecksumRecord>(record);
      tables_.push<table::Checksums>({.time = time,
                                      .step = checksum.step,
                                      .of = record->flags,
                                      .name = ids_.strings[record->id],
                                      .value = checksum.value,
                                      .spent = {static_cast<int64_t>(checksum.spent)}});
      return;
    }
    case RecordKind::value_read: {
      tables_.push<table::ValueReads>({.time = time,
                                       .name = ids_.strings[record->id],
                                       .op = lane.op(),
                                       .evaluation = lane.evaluation(),
                                       .stack = ids_.stacks[as<ValueReadRecord>(record).stack]});
      return;
    }
    case RecordKind::string:
    case RecordKind::frame:
    case RecordKind::stack:
    case RecordKind::native_stack:
    case RecordKind::layout:
    case RecordKind::module:
    case RecordKind::device:
    case RecordKind::mapping:
    case RecordKind::information:
    case RecordKind::loss:
    case RecordKind::lane:
    case RecordKind::source:
    case RecordKind::older_steps:
    case RecordKind::older_lane:
    case RecordKind::older_peak:
      return;  // not an event
  }
}

// ---- operators and evaluations --------------------------------------------------------------------------------

void ProcessSealer::operator_begin(const OperatorRecord& record, Lane& lane, Time time) {
  const auto inputs = tail_of<uint64_t>(record);
  const OperatorId id = tables_.push<table::Operators>({.begin = time,
                                                        .name = ids_.strings[record.header.id],
                                                        .thread = lane.thread,
                                                        .stack = ids_.stacks[record.stack],
                                                        .module_call = lane.module_call(),
                                                        .input_count = static_cast<uint16_t>(inputs.size()),
                                                        .parent = lane.op(),
                                                        .evaluation = lane.evaluation(),
                                                        .written = record.written});
  for (const uint64_t address : inputs)
    tables_.push<table::OperatorInputs>({.allocation = book_.allocation_at(address)});
  lane.operators.push_back(id);
  lane.inputs = inputs.size();
}

// Called right after the operator's begin, so that rows are in the order of the operators, independent of other
// threads. A record that is separated from its operator's begin would count for another operator: it is dropped.
void ProcessSealer::input_views(const InputViewsRecord& record, const Lane& lane) {
  const auto views = tail_of<InputView>(record);
  if (views.size() != lane.inputs) return;
  for (const InputView& view : views) {
    tables_.push<table::InputViews>(
        {.op = lane.op(), .layout = ids_.layouts[view.layout], .offset = view.storage_offset});
  }
}

void ProcessSealer::evaluation_end(Lane& lane, Time time) {
  if (lane.evaluations.empty()) return count_lost(unmatched_, time);
  const OpenEvaluation evaluation = lane.evaluations.back();
  lane.evaluations.pop_back();
  tables_.push<table::EvaluationEnds>({.of = evaluation.id, .end = time});
  if ((evaluation.flags & kEvaluationReleases) != 0 && evaluation.node)
    tables_.push<table::NodeReleases>({.of = evaluation.node, .time = time, .flags = 0});
}

// ---- memory ---------------------------------------------------------------------------------------------------

AllocationId ProcessSealer::add_allocation(uint64_t bytes, DeviceId device, Origin origin, const Lane& lane,
                                           StackId stack) {
  return tables_.push<table::Allocations>({.time = last_,
                                           .bytes = bytes_of(bytes),
                                           .device = device,
                                           .origin = origin,
                                           .op = lane.op(),
                                           .evaluation = lane.evaluation(),
                                           .stack = stack,
                                           .module_call = lane.module_call()});
}

AllocationId ProcessSealer::storage_at(uint64_t address, uint64_t bytes) {
  return book_.storage_at(address, bytes, [&] { return add_allocation(bytes, {}, Origin::foreign, Lane{}, {}); });
}

void ProcessSealer::allocation(const AllocationRecord& record, const Lane& lane) {
  const DeviceId device = ids_.devices[record.header.flags];
  book_.allocation(record.address, record.bytes, device_of(record.header), [&] {
    return add_allocation(record.bytes, device, Origin::allocator, lane, ids_.stacks[record.header.id]);
  });
}

void ProcessSealer::device_allocation(const DeviceAllocationRecord& record, const Lane& lane) {
  const DeviceId device = ids_.devices[record.header.flags];
  book_.device_allocation(record, device_of(record.header), [&](bool is_older) {
    const AllocationId id = add_allocation(record.bytes, device, Origin::allocator, is_older ? Lane{} : lane,
                                           ids_.stacks[record.header.id]);
    tables_.push<table::DeviceBlocks>({.allocation = id,
                                       .rounded = bytes_of(record.rounded),
                                       .address = record.address,
                                       .stream = record.stream,
                                       .graph_pool = record.pool.graph,
                                       .user_pool = record.pool.user});
    return id;
  });
}

void ProcessSealer::segment(const SegmentRecord& record, Time time) {
  tables_.push<table::SegmentEvents>({.time = time,
                                      .device = ids_.devices[record.header.flags],
                                      .change = static_cast<SegmentChange>(record.header.id),
                                      .address = record.address,
                                      .bytes = bytes_of(record.bytes),
                                      .stream = record.stream,
                                      .graph_pool = record.pool.graph,
                                      .user_pool = record.pool.user});
}

OperatorId ProcessSealer::take_call(uint32_t call) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return {};
  const OperatorId op = found->second;
  calls_.erase(found);
  return op;
}

void ProcessSealer::outside(const OutsideRecord& record, Time time) {
  tables_.push<table::OutsideEvents>({.time = time,
                                      .age = age_of(record.age, time),
                                      .device = ids_.devices[record.header.flags],
                                      .change = record.change,
                                      .memory = record.memory,
                                      .address = record.address,
                                      .bytes = bytes_of(record.bytes),
                                      .library = ids_.strings[record.header.id],
                                      .op = take_call(record.call)});
}

void ProcessSealer::virtual_memory(const VirtualMemoryRecord& record, Time time) {
  tables_.push<table::VirtualMemory>({.time = time,
                                      .age = age_of(record.age, time),
                                      .device = ids_.devices[record.header.flags],
                                      .change = record.change,
                                      .handle = record.handle,
                                      .address = record.address,
                                      .bytes = bytes_of(record.bytes),
                                      .library = ids_.strings[record.header.id],
                                      .op = take_call(record.call)});
}

void ProcessSealer::memory_pool(const MemoryPoolRecord& record, Time time) {
  tables_.push<table::MemoryPools>({.time = time,
                                    .age = age_of(record.age, time),
                                    .device = ids_.devices[record.header.flags],
                                    .change = record.change,
                                    .address = record.address,
                                    .reserved = bytes_of(record.reserved),
                                    .used = bytes_of(record.used)});
}

void ProcessSealer::device_usage(const DeviceUsageRecord& record, Time time) {
  tables_.push<table::DeviceUsage>({.time = time,
                                    .device = ids_.devices[record.header.flags],
                                    .used = bytes_of(record.used),
                                    .total = bytes_of(record.total)});
}

void ProcessSealer::full(const OutOfMemoryRecord& record, const Lane& lane, Time time) {
  ++out_of_memory_;
  tables_.push<table::OutOfMemory>({.time = time,
                                    .device = ids_.devices[record.header.flags],
                                    .bytes = bytes_of(record.bytes),
                                    .allocated = bytes_of(record.allocated),
                                    .reserved = bytes_of(record.reserved),
                                    .free = record.free,
                                    .op = lane.op(),
                                    .stack = ids_.stacks[record.header.id],
                                    .module_call = lane.module_call()});
}

void ProcessSealer::foreign(const ForeignRecord& record, const Lane& lane) {
  book_.foreign(record, device_of(record.header), [&] {
    return add_allocation(record.bytes, ids_.devices[record.header.flags], Origin::foreign, lane, {});
  });
}

void ProcessSealer::role(const RoleRecord& record, Time time) {
  const AllocationId allocation = storage_at(record.storage, record.storage_bytes);
  tables_.push<table::Roles>({.time = time,
                              .allocation = allocation,
                              .kind = Role{record.header.flags},
                              .name = ids_.strings[record.header.id],
                              .parameter = book_.allocation_at(record.parameter)});
}

// ---- nodes ----------------------------------------------------------------------------------------------------

void ProcessSealer::node(const NodeRecord& record, const Lane& lane, uint32_t lane_number, Time time) {
  book_.node(record, lane_number, [&](AllocationId parameter) {
    const auto edges = tail_of<NodeEdge>(record);
    auto flags = static_cast<uint8_t>(record.header.flags & ~kNodeHasUnseenEdges);
    for (const NodeEdge& edge : edges) {
      const NodeId to = book_.node_at(edge.address);
      // Without the flag, the edge would look like an input that requires no gradient.
      if (!to && edge.address != 0) flags |= kNodeHasUnseenEdges;
      tables_.push<table::NodeEdges>({.node = to});
    }
    return tables_.push<table::Nodes>({.time = time,
                                       .type = ids_.strings[record.header.id],
                                       .op = lane.op(),
                                       .flags = flags,
                                       .edge_count = static_cast<uint16_t>(edges.size()),
                                       .parameter = parameter,
                                       .attributes = ids_.strings[record.attributes]});
  });
}

void ProcessSealer::save(const SaveRecord& record, Time time) {
  const NodeId node = book_.node_at(record.node);
  const StringId field = ids_.strings[record.header.id];
  if (!node || !field) count_lost(unattributed_, time);
  const AllocationId allocation = storage_at(record.storage, record.storage_bytes);
  const bool is_placed = size_t{record.header.words} * 8 >= sizeof(PlacedSaveRecord);
  tables_.push<table::Saves>(
      {.time = time,
       .node = node,
       .field = field,
       .index = record.index,
       .allocation = allocation,
       .offset = record.storage_offset,
       .layout = ids_.layouts[record.layout],
       .flags = record.header.flags,
       .stack = is_placed ? ids_.stacks[as<PlacedSaveRecord>(&record.header).stack] : StackId{}});
}

void ProcessSealer::held(const HeldRecord& record, Time time) {
  // The probe saw the held storage alive. Meanwhile another thread may have freed a storage that a hook made and
  // returned.
  const AllocationId allocation = book_.allocation_at(record.storage);
  if (!allocation) return;
  tables_.push<table::Held>({.time = time,
                             .node = book_.node_at(record.node),
                             .field = ids_.strings[record.header.id],
                             .allocation = allocation,
                             .by = HeldBy{record.header.flags}});
}

void ProcessSealer::variable(const VariableRecord& record, Time time) {
  const AllocationId allocation = book_.allocation_at(record.storage);
  if (!allocation) return;
  tables_.push<table::Variables>({.time = time, .allocation = allocation, .name = ids_.strings[record.header.id]});
}

void ProcessSealer::rewrite(const RewriteRecord& record, const Lane& lane, Time time) {
  tables_.push<table::Rewrites>({.time = time,
                                 .rewrite = ids_.strings[record.header.id],
                                 .flags = record.header.flags,
                                 .node = book_.node_at(record.node),
                                 .field = ids_.strings[record.field],
                                 .index = record.index,
                                 .reason = ids_.strings[record.reason],
                                 .bytes = bytes_of(record.bytes),
                                 .kept = bytes_of(record.kept),
                                 .op = lane.op(),
                                 .stack = ids_.stacks[record.stack],
                                 .module_call = lane.module_call()});
}

// ---- the end --------------------------------------------------------------------------------------------------

void ProcessSealer::leave_open(Lane& lane) {
  for (const OpenBackward& open : lane.backwards)
    tables_.push<table::Backwards>({.begin = open.begin, .end = kNoEnd, .flags = open.flags});
  for (const OpenInterval& open : lane.optimizers)
    tables_.push<table::OptimizerSteps>({.begin = open.begin, .end = kNoEnd, .name = open.name});
  for (const OpenInterval& open : lane.ranges)
    tables_.push<table::Ranges>({.begin = open.begin, .end = kNoEnd, .name = open.name, .thread = lane.thread});
  const ThreadId thread = lane.thread;
  lane = Lane();
  lane.thread = thread;
}

void ProcessSealer::gap(size_t lane) { leave_open(lanes_[lane]); }

void ProcessSealer::finish() {
  for (Lane& lane : lanes_) leave_open(lane);
}

std::vector<ProcessSealer::Peak> ProcessSealer::peaks() const {
  std::vector<Peak> peaks;
  for (uint32_t i = 0; i < book_.devices().size(); ++i) {
    const Book::Device& device = book_.devices()[i];
    if (device.is_used) peaks.push_back({DeviceId{i}, bytes_of(device.peak)});
  }
  return peaks;
}

}  // namespace tapelens::trace
