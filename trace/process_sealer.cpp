// See process_sealer.h.
#include "trace/process_sealer.h"

#include <algorithm>
#include <utility>

namespace tapelens::trace {
namespace {

constexpr uint64_t kNoEnd = UINT64_MAX;
constexpr uint64_t kChangesOfBucket = 256;  // of the curve

template <class Record>
const Record& as(const RecordHeader* record) {
  return *reinterpret_cast<const Record*>(record);
}

// What follows a record's fixed part, to its end.
template <class Element, class Record>
std::span<const Element> tail_of(const Record& record) {
  const size_t bytes = size_t{record.header.words} * 8 - sizeof(Record);
  return {reinterpret_cast<const Element*>(&record + 1), bytes / sizeof(Element)};
}

}  // namespace

ProcessSealer::ProcessSealer(ProcessColumns& columns, const Interned& ids, std::vector<uint16_t> thread_of_lane)
    : columns_(columns), ids_(ids), lanes_(thread_of_lane.size()) {
  for (size_t i = 0; i < lanes_.size(); ++i) lanes_[i].thread = thread_of_lane[i];
}

void ProcessSealer::event(const RecordHeader* record, size_t lane_number, uint64_t ns) {
  ns = last_ns_ = std::max(ns, last_ns_);
  Lane& lane = lanes_[lane_number];
  const bool began = std::exchange(lane.began, record->kind == RecordKind::operator_begin);
  // Ends of what is written when it begins: a row that names the begin.
  const auto end = [&](auto& open, auto& table) {
    if (open.empty()) return lose(unmatched_, ns);
    table.push(open.back(), ns);
    open.pop_back();
  };
  switch (record->kind) {
    case RecordKind::operator_begin:
      return operator_begin(as<OperatorRecord>(record), lane, ns);
    case RecordKind::input_views:
      if (began) input_views(as<InputViewsRecord>(record), lane);
      return;
    case RecordKind::operator_end:
      return end(lane.operators, columns_.operator_ends);
    case RecordKind::allocation:
      return allocation(as<AllocationRecord>(record), lane, ns);
    case RecordKind::free:
      return free(as<FreeRecord>(record), ns);
    case RecordKind::node:
      return node(as<NodeRecord>(record), lane, static_cast<uint32_t>(lane_number), ns);
    case RecordKind::save:
      return save(as<SaveRecord>(record), lane, ns);
    case RecordKind::node_release:
      return node_release(as<NodeReleaseRecord>(record), ns);
    case RecordKind::evaluation_begin: {
      const uint32_t of = node_at(as<EvaluationRecord>(record).node);
      const uint32_t id = columns_.evaluations.push(ns, of, lane.thread, record->flags);
      lane.evaluations.push_back({id, of, record->flags});
      return;
    }
    case RecordKind::evaluation_end:
      return evaluation_end(lane, ns);
    case RecordKind::backward_begin:
      return lane.backwards.push_back({ns, record->flags});
    case RecordKind::backward_end:
      if (lane.backwards.empty()) return lose(unmatched_, ns);
      columns_.backwards.push(lane.backwards.back().begin, ns, lane.thread,
                              static_cast<uint8_t>(lane.backwards.back().value));
      return lane.backwards.pop_back();
    case RecordKind::role:
      return role(as<RoleRecord>(record), lane, ns);
    case RecordKind::module_begin: {
      const uint32_t parent = lane.module_call_id();
      lane.module_calls.push_back(columns_.module_calls.push(ns, ids_.modules[record->id], lane.thread, parent));
      return;
    }
    case RecordKind::module_end:
      return end(lane.module_calls, columns_.module_call_ends);
    case RecordKind::optimizer_begin:
      return lane.optimizers.push_back({ns, ids_.strings[record->id]});
    case RecordKind::optimizer_end:
      if (lane.optimizers.empty()) return lose(unmatched_, ns);
      columns_.optimizer_steps.push(lane.optimizers.back().begin, ns, lane.optimizers.back().value);
      return lane.optimizers.pop_back();
    case RecordKind::range_begin:
      return lane.ranges.push_back({ns, ids_.strings[record->id]});
    case RecordKind::range_end:
      if (lane.ranges.empty()) return lose(unmatched_, ns);
      columns_.ranges.push(lane.ranges.back().begin, ns, lane.ranges.back().value, lane.thread);
      return lane.ranges.pop_back();
    case RecordKind::foreign:
      return foreign(as<ForeignRecord>(record), lane, ns);
    case RecordKind::rewrite:
      return rewrite(as<RewriteRecord>(record), lane, ns);
    case RecordKind::checksum: {
      const auto& checksum = as<ChecksumRecord>(record);
      columns_.checksums.push(ns, checksum.step, record->flags, ids_.strings[record->id], checksum.value,
                              checksum.spent);
      return;
    }
    default:
      return;  // no event
  }
}

// ---- operators and evaluations --------------------------------------------------------------------------------

void ProcessSealer::operator_begin(const OperatorRecord& record, Lane& lane, uint64_t ns) {
  const auto inputs = tail_of<uint64_t>(record);
  const uint32_t id = columns_.operators.push(ns, ids_.strings[record.header.id], lane.thread,
                                              ids_.stacks[record.stack], lane.module_call_id(), record.sequence_nr,
                                              record.header.flags, static_cast<uint16_t>(inputs.size()),
                                              lane.operator_id(), lane.evaluation_id(), record.written);
  for (const uint64_t address : inputs) columns_.operator_inputs.push(allocation_at(address));
  lane.operators.push_back(id);
  lane.inputs = inputs.size();
}

// Right after the operator's begin, so the rows are in the order of the operators, whatever other threads do. A record
// that was cut off from its operator's would be another operator's: it is not taken.
void ProcessSealer::input_views(const InputViewsRecord& record, const Lane& lane) {
  const auto views = tail_of<InputView>(record);
  if (views.size() != lane.inputs) return;
  for (const InputView& view : views) {
    columns_.input_views.push(lane.operator_id(), ids_.layouts[view.layout], view.storage_offset);
  }
}

void ProcessSealer::evaluation_end(Lane& lane, uint64_t ns) {
  if (lane.evaluations.empty()) return lose(unmatched_, ns);
  const OpenEvaluation evaluation = lane.evaluations.back();
  lane.evaluations.pop_back();
  columns_.evaluation_ends.push(evaluation.id, ns);
  if ((evaluation.flags & kEvaluationReleases) != 0 && evaluation.node != 0)
    columns_.node_releases.push(evaluation.node, ns, 0);
}

// ---- memory ---------------------------------------------------------------------------------------------------

uint32_t ProcessSealer::allocation_at(uint64_t address) {
  if (address == 0) return 0;
  const Live* live = live_.find(address);
  return live != nullptr ? live->id : 0;
}

uint32_t ProcessSealer::storage_at(uint64_t address, uint64_t bytes, const Lane& lane, uint64_t ns) {
  const uint32_t known = allocation_at(address);
  if (known != 0 || address == 0 || bytes == 0) return known;
  // Nobody saw it made, so no operator is said to have made it.
  const uint32_t id =
      columns_.allocations.push(ns, bytes, 0, static_cast<uint8_t>(Origin::foreign), lane.thread, 0, 0, 0, 0);
  live_.insert(address, {id, 0, Origin::foreign, bytes});
  return id;
}

void ProcessSealer::allocation(const AllocationRecord& record, Lane& lane, uint64_t ns) {
  if (record.address == 0) return lose(unmatched_, ns);
  if (const Live* old = live_.find(record.address)) {
    // Foreign memory ends unseen; that of an allocator should have been freed.
    if (old->origin != Origin::foreign) lose(unmatched_, ns);
    end_allocation(*old, ns);
    live_.erase(record.address);
  }
  const auto device = static_cast<uint8_t>(ids_.devices[record.header.flags]);
  const uint32_t id = columns_.allocations.push(ns, record.bytes, device, static_cast<uint8_t>(Origin::allocator),
                                                lane.thread, lane.operator_id(), lane.evaluation_id(),
                                                ids_.stacks[record.header.id], lane.module_call_id());
  live_.insert(record.address, {id, device, Origin::allocator, record.bytes});
  change(device, record.bytes, ns);
}

void ProcessSealer::foreign(const ForeignRecord& record, Lane& lane, uint64_t ns) {
  // Memory that an allocator gave out under another name (copy-on-write), or that is known already.
  if (record.address == 0 || live_.find(record.address) != nullptr) return;
  const auto device = static_cast<uint8_t>(ids_.devices[record.header.flags]);
  const uint32_t id =
      columns_.allocations.push(ns, record.bytes, device, static_cast<uint8_t>(Origin::foreign), lane.thread,
                                lane.operator_id(), lane.evaluation_id(), 0, lane.module_call_id());
  live_.insert(record.address, {id, device, Origin::foreign, record.bytes});
}

void ProcessSealer::free(const FreeRecord& record, uint64_t ns) {
  const Live* live = record.address != 0 ? live_.find(record.address) : nullptr;
  if (live == nullptr) return lose(unmatched_, ns);
  end_allocation(*live, ns);
  live_.erase(record.address);
}

void ProcessSealer::end_allocation(const Live& live, uint64_t ns) {
  columns_.frees.push(live.id, ns);
  if (live.origin == Origin::allocator) change(live.device, 0 - live.bytes, ns);
}

void ProcessSealer::change(uint8_t number, uint64_t more, uint64_t ns) {
  Device& device = devices_[number];
  // Sizes of a spool that nobody vouches for may add up to anything.
  device.live = static_cast<int64_t>(static_cast<uint64_t>(device.live) + more);
  device.peak = std::max(device.peak, device.live);
  if (device.changes++ % kChangesOfBucket == 0) {
    device.bucket_begin = ns;
    device.least = device.most = device.live;
  }
  device.least = std::min(device.least, device.live);
  device.most = std::max(device.most, device.live);
  if (device.changes % kChangesOfBucket == 0)
    columns_.curve.push(device.bucket_begin, number, static_cast<uint64_t>(device.least),
                        static_cast<uint64_t>(device.most));
}

void ProcessSealer::role(const RoleRecord& record, Lane& lane, uint64_t ns) {
  const uint32_t allocation = storage_at(record.storage, record.storage_bytes, lane, ns);
  columns_.roles.push(ns, allocation, record.header.flags, ids_.strings[record.header.id],
                      allocation_at(record.parameter));
}

// ---- nodes ----------------------------------------------------------------------------------------------------

uint32_t ProcessSealer::node_at(uint64_t address) {
  if (address == 0) return 0;
  const LiveNode* known = nodes_.find(address);
  return known != nullptr ? known->id : 0;
}

void ProcessSealer::node(const NodeRecord& record, Lane& lane, uint32_t lane_number, uint64_t ns) {
  if (record.address == 0) return lose(unmatched_, ns);
  const bool accumulates = (record.header.flags & kNodeIsAccumulateGrad) != 0;
  if (const LiveNode* known = nodes_.find(record.address)) {
    const bool is_same = known->is_accumulate_grad == accumulates &&
                         (accumulates ? known->storage == record.storage
                                      : known->sequence_nr == record.sequence_nr && known->lane == lane_number);
    if (is_same) return;
    // There can be no two nodes at one address: the first died unseen.
    columns_.node_releases.push(known->id, ns, kNodeDied);
    nodes_.erase(record.address);
  }
  const auto edges = tail_of<NodeEdge>(record);
  auto flags = static_cast<uint8_t>(record.header.flags & ~kNodeHasUnseenEdges);
  for (const NodeEdge& edge : edges) {
    const uint32_t to = node_at(edge.address);
    // Without the flag it would look like an input that needs no gradient.
    if (to == 0 && edge.address != 0) flags |= kNodeHasUnseenEdges;
    columns_.node_edges.push(to, static_cast<uint16_t>(std::min<uint64_t>(edge.input_nr, UINT16_MAX)));
  }
  const uint32_t id =
      columns_.nodes.push(ns, ids_.strings[record.header.id], lane.operator_id(), record.sequence_nr, flags,
                          static_cast<uint16_t>(edges.size()), accumulates ? allocation_at(record.storage) : 0,
                          lane.thread, ids_.strings[record.attributes]);
  nodes_.insert(record.address, {id, lane_number, record.sequence_nr, record.storage, accumulates});
}

void ProcessSealer::save(const SaveRecord& record, Lane& lane, uint64_t ns) {
  const uint32_t node = node_at(record.node);
  const uint32_t field = ids_.strings[record.header.id];
  if (node == 0 || field == 0) lose(unattributed_, ns);
  columns_.saves.push(ns, node, field, record.index, storage_at(record.storage, record.storage_bytes, lane, ns),
                      record.storage_offset, ids_.layouts[record.layout], record.header.flags);
}

void ProcessSealer::rewrite(const RewriteRecord& record, const Lane& lane, uint64_t ns) {
  columns_.rewrites.push(ns, ids_.strings[record.header.id], record.header.flags, node_at(record.node),
                         ids_.strings[record.field], record.index, ids_.strings[record.reason], record.bytes,
                         record.kept, lane.operator_id(), ids_.stacks[record.stack], lane.module_call_id());
}

void ProcessSealer::node_release(const NodeReleaseRecord& record, uint64_t ns) {
  const uint32_t id = node_at(record.node);
  // Nodes that were made while nothing but memory was recorded die like all others; nothing is lost with them.
  if (id == 0) return;
  columns_.node_releases.push(id, ns, record.header.flags);
  if ((record.header.flags & kNodeDied) != 0) nodes_.erase(record.node);
}

// ---- the end --------------------------------------------------------------------------------------------------

void ProcessSealer::leave_open(Lane& lane) {
  for (const Open& open : lane.backwards)
    columns_.backwards.push(open.begin, kNoEnd, lane.thread, static_cast<uint8_t>(open.value));
  for (const Open& open : lane.optimizers) columns_.optimizer_steps.push(open.begin, kNoEnd, open.value);
  for (const Open& open : lane.ranges) columns_.ranges.push(open.begin, kNoEnd, open.value, lane.thread);
  const uint16_t thread = lane.thread;
  lane = Lane();
  lane.thread = thread;
}

void ProcessSealer::gap(size_t lane) { leave_open(lanes_[lane]); }

void ProcessSealer::finish() {
  for (Lane& lane : lanes_) leave_open(lane);
  for (size_t i = 0; i < devices_.size(); ++i) {
    const Device& device = devices_[i];
    if (device.changes % kChangesOfBucket == 0) continue;
    columns_.curve.push(device.bucket_begin, static_cast<uint8_t>(i), static_cast<uint64_t>(device.least),
                        static_cast<uint64_t>(device.most));
  }
}

std::vector<ProcessSealer::Peak> ProcessSealer::peaks() const {
  std::vector<Peak> peaks;
  for (size_t i = 0; i < devices_.size(); ++i)
    if (devices_[i].changes > 0) peaks.push_back({static_cast<uint8_t>(i), devices_[i].peak});
  return peaks;
}

}  // namespace tapelens::trace
