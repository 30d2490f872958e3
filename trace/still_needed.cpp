// See still_needed.h.
#include "trace/still_needed.h"

#include <algorithm>

namespace tapelens::trace {
namespace {

template <class Record>
constexpr RecordHeader header_of(RecordKind kind, uint8_t flags, uint32_t id = 0) {
  return {kind, flags, sizeof(Record) / 8, id};
}

}  // namespace

// Breaks reference cycles.
StillNeeded::~StillNeeded() {
  for (auto* all : {&live_, &nodes_}) {
    for (auto& [address, item] : *all) item->own.clear();
  }
}

void StillNeeded::event(const RecordHeader* record, uint32_t lane_number, uint64_t ticks) {
  // The odd numbers are for synthetic events: each precedes the event that implies it.
  now_ = {record, now_.order + 2, ticks, lane_number};
  Lane& lane = lanes_[lane_number];
  const auto begin = [&](std::vector<Ref>& open) { open.push_back(item()); };
  switch (record->kind) {
    case RecordKind::operator_begin:
      return lane.operators.push_back(item_here(lane));
    case RecordKind::operator_end:
      return end(lane.operators);
    case RecordKind::allocation:
      return allocation(lane, as<AllocationRecord>(record).address, as<AllocationRecord>(record).bytes);
    case RecordKind::device_allocation: {
      const auto& block = as<DeviceAllocationRecord>(record);
      if ((block.flags & kDeviceAllocationIsOlder) == 0) return allocation(lane, block.address, block.bytes);
      if (!live_.contains(block.address)) allocation(Lane(), block.address, block.bytes);
      return;
    }
    case RecordKind::free_request: {
      const Ref of = allocation_at(as<FreeRecord>(record).address);
      if (!of) return lose(Loss::unmatched_event);
      return of->own.push_back(item());
    }
    case RecordKind::free: {
      const uint64_t address = as<FreeRecord>(record).address;
      if (address == 0 || !live_.contains(address)) return lose(Loss::unmatched_event);
      return end_allocation(address, now_);
    }
    case RecordKind::foreign:
      return foreign(lane, as<ForeignRecord>(record));
    case RecordKind::segment:
      return segment(as<SegmentRecord>(record));
    case RecordKind::outside:
      return outside(as<OutsideRecord>(record));
    case RecordKind::device_usage:
      usage_[record->flags] = now_;
      return;
    case RecordKind::node:
      return node(lane, as<NodeRecord>(record));
    case RecordKind::save:
      return save(as<SaveRecord>(record));
    case RecordKind::held:
      return held(as<HeldRecord>(record));
    case RecordKind::variable:
      return variable(as<VariableRecord>(record));
    case RecordKind::rewrite: {
      const auto of = nodes_.find(as<RewriteRecord>(record).node);
      if (as<RewriteRecord>(record).node != 0 && of != nodes_.end()) of->second->own.push_back(item_here(lane));
      return;
    }
    case RecordKind::node_release: {
      const auto of = nodes_.find(as<NodeReleaseRecord>(record).node);
      if (of == nodes_.end()) return;
      if ((record->flags & kNodeDied) == 0) return release(of->second, now_);
      end_node(of->second, now_);
      nodes_.erase(of);
      return;
    }
    case RecordKind::evaluation_begin: {
      begin(lane.evaluations);
      const auto of = nodes_.find(as<EvaluationRecord>(record).node);
      if (of != nodes_.end()) lane.evaluations.back()->within.push_back(of->second);
      return;
    }
    case RecordKind::evaluation_end:
      return evaluation_end(lane);
    case RecordKind::backward_begin:
      return begin(lane.backwards);
    case RecordKind::backward_end:
      return end(lane.backwards);
    case RecordKind::role:
      return role(as<RoleRecord>(record));
    case RecordKind::module_begin: {
      const Ref call = item();
      if (!lane.module_calls.empty()) call->within.push_back(lane.module_calls.back());
      return lane.module_calls.push_back(call);
    }
    case RecordKind::module_end:
      return end(lane.module_calls);
    case RecordKind::optimizer_begin:
      return begin(lane.optimizers);
    case RecordKind::optimizer_end:
      return end(lane.optimizers);
    case RecordKind::range_begin:
      return begin(lane.ranges);
    case RecordKind::range_end:
      return end(lane.ranges);
    default:  // irrelevant after its step is removed
      return;
  }
}

void StillNeeded::gap(uint32_t lane_number) {
  Lane& lane = lanes_[lane_number];
  for (auto* open :
       {&lane.operators, &lane.module_calls, &lane.evaluations, &lane.backwards, &lane.optimizers, &lane.ranges}) {
    for (const Ref& item : *open) item->is_cut = true;
    open->clear();
  }
}

StillNeeded::Ref StillNeeded::item() const {
  auto item = std::make_shared<Item>();
  item->begin = now_;
  return item;
}

StillNeeded::Ref StillNeeded::item_here(const Lane& lane) const {
  Ref made = item();
  for (const auto* open : {&lane.operators, &lane.evaluations, &lane.module_calls}) {
    if (!open->empty()) made->within.push_back(open->back());
  }
  return made;
}

void StillNeeded::end(std::vector<Ref>& open) {
  if (open.empty()) return lose(Loss::unmatched_event);
  open.back()->end = now_;
  open.pop_back();
}

template <class Record>
const RecordHeader* StillNeeded::made_up(std::deque<Record>& of, Record record) {
  of.push_back(record);
  return &of.back().header;
}

void StillNeeded::lose(Loss kind) {
  Lost& lost = lost_[kind];
  if (lost.count++ == 0) lost.since = now_.ticks;
}

// ---- memory ---------------------------------------------------------------------------------------------------

void StillNeeded::change(uint8_t device, uint64_t more) {
  const uint64_t bytes = bytes_[device] += more;  // modulo 2^64, as the sealer adds
  Peak& peak = peaks_[device];
  if (static_cast<int64_t>(bytes) > static_cast<int64_t>(peak.bytes)) peak = {bytes, now_.ticks, step_};
}

StillNeeded::Ref StillNeeded::allocation_at(uint64_t address) const {
  const auto at = live_.find(address);
  return address != 0 && at != live_.end() ? at->second : nullptr;
}

// The only knowledge of a storage that no allocator made is the events that name it.
StillNeeded::Ref StillNeeded::storage_at(uint64_t address, uint64_t bytes) {
  Ref known = allocation_at(address);
  if (known || address == 0 || bytes == 0) return known;
  known = std::make_shared<Item>();
  known->is_foreign = true;
  live_[address] = known;
  return known;
}

void StillNeeded::allocation(const Lane& lane, uint64_t address, uint64_t bytes) {
  if (address == 0) return lose(Loss::unmatched_event);
  if (const Ref old = allocation_at(address)) {
    if (!old->is_foreign) lose(Loss::unmatched_event);
    const uint8_t device = old->begin.record != nullptr ? old->begin.record->flags : 0;
    const auto* free = made_up(made_frees_, {header_of<FreeRecord>(RecordKind::free, device), now_.ticks, address});
    end_allocation(address, {free, now_.order - 1, now_.ticks, now_.lane});
  }
  const Ref made = item_here(lane);
  made->bytes = bytes;
  live_[address] = made;
  change(now_.record->flags, bytes);
}

void StillNeeded::foreign(const Lane& lane, const ForeignRecord& record) {
  if (record.address == 0 || live_.contains(record.address)) return;
  const Ref made = item_here(lane);
  made->is_foreign = true;
  live_[record.address] = made;
}

void StillNeeded::end_allocation(uint64_t address, Event with) {
  const auto at = live_.find(address);
  const Ref ended = at->second;
  live_.erase(at);
  ended->end = with;
  if (!ended->is_foreign) change(ended->begin.record->flags, 0 - ended->bytes);
}

// Only the last role with the same role, name and parameter is needed.
void StillNeeded::role(const RoleRecord& record) {
  const Ref of = storage_at(record.storage, record.storage_bytes);
  if (!of) return;
  std::erase_if(of->own, [&](const Ref& known) {
    if (known->begin.record->kind != RecordKind::role) return false;
    const auto& other = as<RoleRecord>(known->begin.record);
    return other.header.flags == record.header.flags && other.header.id == record.header.id &&
           other.parameter == record.parameter;
  });
  of->own.push_back(item());
  const Ref parameter = allocation_at(record.parameter);
  if (parameter && parameter != of) of->own.back()->within.push_back(parameter);
}

// Reserved segments, and mapped pieces.
void StillNeeded::segment(const SegmentRecord& record) {
  const uint8_t device = record.header.flags;
  const auto change = static_cast<SegmentChange>(record.header.id);
  if (change == SegmentChange::allocated || change == SegmentChange::mapped) {
    segments_[{device, record.address}] = now_;
    return;
  }
  if (change == SegmentChange::freed) {
    segments_.erase({device, record.address});
    return;
  }
  const uint64_t begin = record.address, end = record.address + record.bytes;
  auto at = segments_.lower_bound({device, begin});
  if (at != segments_.begin()) --at;
  std::vector<Event> left;
  while (at != segments_.end() && at->first < Place{device, end}) {
    const SegmentRecord mapped = as<SegmentRecord>(at->second.record);
    const uint64_t mapped_end = mapped.address + mapped.bytes;
    const bool is_unmapped = at->first.first == device && mapped.header.id == uint32_t(SegmentChange::mapped) &&
                             mapped.address < end && mapped_end > begin;
    if (!is_unmapped) {
      ++at;
      continue;
    }
    const auto keep = [&](uint64_t from, uint64_t to) {
      if (from >= to) return;
      SegmentRecord part = mapped;
      part.address = from;
      part.bytes = to - from;
      Event event = at->second;
      event.record = made_up(made_segments_, part);
      left.push_back(event);
    };
    keep(mapped.address, begin);
    keep(end, mapped_end);
    at = segments_.erase(at);
  }
  for (const Event& event : left) segments_[{device, as<SegmentRecord>(event.record).address}] = event;
}

// Reports arrive in any order, but the changes at one address alternate.
void StillNeeded::outside(const OutsideRecord& record) {
  if (record.change == OutsideChange::ended) {
    ended_outside_.push_back(now_);
    return;
  }
  std::vector<Event>& unmatched = outside_[{record.header.flags, record.address}];
  if (!unmatched.empty() && as<OutsideRecord>(unmatched.back().record).change != record.change) {
    unmatched.pop_back();
  } else {
    unmatched.push_back(now_);
  }
  if (unmatched.empty()) outside_.erase({record.header.flags, record.address});
}

// ---- nodes ----------------------------------------------------------------------------------------------------

void StillNeeded::node(const Lane& lane, const NodeRecord& record) {
  if (record.address == 0) return lose(Loss::unmatched_event);
  const bool accumulates = (record.header.flags & kNodeIsAccumulateGrad) != 0;
  if (const auto known = nodes_.find(record.address); known != nodes_.end()) {
    const Event& made = known->second->begin;
    const auto& old = as<NodeRecord>(made.record);
    const bool accumulated = (old.header.flags & kNodeIsAccumulateGrad) != 0;
    const bool is_same =
        accumulates == accumulated &&
        (accumulates ? old.storage == record.storage : old.sequence_nr == record.sequence_nr && made.lane == now_.lane);
    if (is_same) return;
    const auto* death = made_up(made_releases_, {header_of<NodeReleaseRecord>(RecordKind::node_release, kNodeDied),
                                                 now_.ticks, record.address});
    end_node(known->second, {death, now_.order - 1, now_.ticks, now_.lane});
    nodes_.erase(known);
  }
  const Ref made = item_here(lane);
  if (const Ref parameter = accumulates ? allocation_at(record.storage) : nullptr) made->within.push_back(parameter);
  nodes_[record.address] = made;
}

void StillNeeded::end_node(const Ref& node, Event with) {
  node->own.clear();
  node->end = with;
}

void StillNeeded::save(const SaveRecord& record) {
  const auto node = record.node != 0 ? nodes_.find(record.node) : nodes_.end();
  if (node == nodes_.end() || record.header.id == 0) lose(Loss::unattributed_save);
  const Ref of = storage_at(record.storage, record.storage_bytes);
  if (node == nodes_.end()) return;
  node->second->own.push_back(item());
  if (of) node->second->own.back()->within.push_back(of);
}

// Belongs to its node if it has one, else to the held storage.
void StillNeeded::held(const HeldRecord& record) {
  const Ref of = allocation_at(record.storage);
  if (!of) return;
  const auto node = record.node != 0 ? nodes_.find(record.node) : nodes_.end();
  const Ref holder = node != nodes_.end() ? node->second : of;
  holder->own.push_back(item());
  if (holder != of) holder->own.back()->within.push_back(of);
}

void StillNeeded::variable(const VariableRecord& record) {
  if (const Ref of = allocation_at(record.storage)) of->own.push_back(item());
}

// Only the last evaluation of a live node is needed. It shows whether the node was used, and which saves the evaluation
// released.
void StillNeeded::evaluation_end(Lane& lane) {
  if (lane.evaluations.empty()) return lose(Loss::unmatched_event);
  const Ref evaluation = lane.evaluations.back();
  end(lane.evaluations);
  const auto at = nodes_.find(as<EvaluationRecord>(evaluation->begin.record).node);
  if (at == nodes_.end() || evaluation->within.empty() || evaluation->within.front() != at->second) return;
  std::vector<Ref>& own = at->second->own;
  if ((evaluation->begin.record->flags & kEvaluationReleases) != 0) {
    own.clear();
  } else {
    std::erase_if(own, [](const Ref& old) { return old->begin.record->kind == RecordKind::evaluation_begin; });
  }
  own.push_back(evaluation);
}

void StillNeeded::release(const Ref& node, Event with) {
  node->own.clear();
  node->own.push_back(std::make_shared<Item>());
  node->own.back()->begin = with;
}

// ---- the needed events --------------------------------------------------------------------------------------

std::vector<StillNeeded::Event> StillNeeded::events() const {
  std::vector<Event> events;
  std::vector<Item*> open;
  ++taken_;
  const auto take = [&](const Ref& item) {
    if (item->is_cut || item->number == taken_) return;
    item->number = taken_;
    open.push_back(item.get());
  };
  for (const auto* all : {&live_, &nodes_}) {
    for (const auto& [address, item] : *all) take(item);
  }
  for (const auto& [number, lane] : lanes_) {
    for (const auto* begun :
         {&lane.operators, &lane.module_calls, &lane.evaluations, &lane.backwards, &lane.optimizers, &lane.ranges}) {
      for (const Ref& item : *begun) take(item);
    }
  }
  while (!open.empty()) {
    const Item* item = open.back();
    open.pop_back();
    if (item->begin.record != nullptr) events.push_back(item->begin);
    if (item->begin.record != nullptr && item->end.record != nullptr) events.push_back(item->end);
    for (const Ref& other : item->within) take(other);
    for (const Ref& other : item->own) take(other);
  }
  for (const auto& [place, event] : segments_) events.push_back(event);
  for (const auto& [place, unmatched] : outside_) events.insert(events.end(), unmatched.begin(), unmatched.end());
  events.insert(events.end(), ended_outside_.begin(), ended_outside_.end());
  for (const auto& [device, event] : usage_) events.push_back(event);
  std::ranges::stable_sort(events, {}, &Event::order);
  return events;
}

}  // namespace tapelens::trace
