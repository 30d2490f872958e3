// See still_needed.h.
#include "trace/still_needed.h"

#include <algorithm>

#include "trace/short_form.h"

namespace tapelens::trace {
namespace {

template <class Record>
constexpr RecordHeader header_of(RecordKind kind, uint8_t flags, uint32_t id = 0) {
  return {kind, flags, sizeof(Record) / 8, id};
}

uint64_t node_of_evaluation(const RecordHeader* begin) {
  return is_short(begin->kind) ? as<ShortAddressRecord>(begin).address : as<EvaluationRecord>(begin).node;
}

}  // namespace

// Breaks reference cycles.
StillNeeded::~StillNeeded() {
  const auto clear = [](const Ref& item) { item->own.clear(); };
  book_.each_allocation(clear);
  book_.each_node(clear);
}

void StillNeeded::event(const RecordHeader* record, uint32_t lane_number, uint64_t ticks,
                        const RecordHeader* in_spool) {
  // The odd numbers are for synthetic events: each precedes the event that implies it.
  now_ = {in_spool, now_.order + 2, ticks, lane_number};
  Lane& lane = lanes_[lane_number];
  const auto begin = [&](std::vector<Ref>& open) { open.push_back(item()); };
  switch (record->kind) {
    case RecordKind::operator_begin:
      return lane.operators.push_back(item_here(lane));
    case RecordKind::operator_end:
      return end(lane.operators);
    case RecordKind::allocation: {
      const auto& made = as<AllocationRecord>(record);
      return book_.allocation(made.address, made.bytes, record->flags, [&] { return item_here(lane); });
    }
    case RecordKind::device_allocation:
      return book_.device_allocation(as<DeviceAllocationRecord>(record), record->flags,
                                     [&](bool is_older) { return is_older ? item() : item_here(lane); });
    case RecordKind::free_request:
      return book_.free_request(as<FreeRecord>(record), [&](const Ref& of) { of->own.push_back(item()); });
    case RecordKind::free:
      return book_.free(as<FreeRecord>(record));
    case RecordKind::foreign:
      return book_.foreign(as<ForeignRecord>(record), record->flags, [&] { return item_here(lane); });
    case RecordKind::segment:
      return segment(as<SegmentRecord>(record));
    case RecordKind::outside:
      return outside(as<OutsideRecord>(record));
    case RecordKind::virtual_memory:
      return virtual_memory(as<VirtualMemoryRecord>(record));
    case RecordKind::memory_pool:
      return memory_pool(as<MemoryPoolRecord>(record));
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
    case RecordKind::rewrite:
      if (const Ref of = book_.node_at(as<RewriteRecord>(record).node)) of->own.push_back(item_here(lane));
      return;
    case RecordKind::node_release:
      return node_release(as<NodeReleaseRecord>(record));
    case RecordKind::evaluation_begin:
      return evaluation_begin(lane, as<EvaluationRecord>(record));
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
    case RecordKind::input_views:
    case RecordKind::checksum:
    case RecordKind::out_of_memory:
    case RecordKind::value_read:
    case RecordKind::outside_call:
      // They are irrelevant after their step is removed. Those below are not events.
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
  if (open.empty()) return count_lost(Loss::unmatched_event);
  open.back()->end = now_;
  open.pop_back();
}

template <class Record>
const RecordHeader* StillNeeded::synthetic(std::deque<Record>& of, Record record) {
  of.push_back(record);
  return &of.back().header;
}

void StillNeeded::count_lost(Loss kind) {
  Lost& lost = lost_[kind];
  if (lost.count++ == 0) lost.since = now_.ticks;
}

// ---- memory ---------------------------------------------------------------------------------------------------

// The event of a synthetic record.
StillNeeded::Event StillNeeded::just_before(const RecordHeader* record) const {
  return {record, now_.order - 1, now_.ticks, now_.lane};
}

// The only knowledge of a storage that no allocator made is the events that name it.
StillNeeded::Ref StillNeeded::storage_at(uint64_t address, uint64_t bytes) {
  return book_.storage_at(address, bytes, [] { return std::make_shared<Item>(); });
}

void StillNeeded::freed_unseen(const Ref& allocation, uint64_t address, uint8_t device) {
  allocation->end =
      just_before(synthetic(made_frees_, {header_of<FreeRecord>(RecordKind::free, device), now_.ticks, address}));
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
  const Ref parameter = book_.allocation_at(record.parameter);
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
      event.record = synthetic(made_segments_, part);
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

void StillNeeded::refer(uint64_t handle, int64_t references) {
  Physical& of = physical_[handle];
  of.references += references;
  of.events.emplace(now_.order, now_);
  if (of.references == 0) physical_.erase(handle);
}

void StillNeeded::cancel(uint64_t handle, uint64_t order) {
  const auto at = physical_.find(handle);
  // Newer memory may have the handle.
  if (at == physical_.end() || at->second.events.erase(order) == 0) return;
  if (--at->second.references == 0) physical_.erase(at);
}

void StillNeeded::virtual_memory(const VirtualMemoryRecord& record) {
  switch (record.change) {
    case VirtualChange::created:
      // The end of older memory with this handle was not reported.
      if (const auto old = physical_.find(record.handle); old != physical_.end() && old->second.references > 0)
        physical_.erase(old);
      return refer(record.handle, 1);
    case VirtualChange::retained:
      refer(record.handle, 1);
      if (const auto at = physical_.find(record.handle); at != physical_.end())
        at->second.retained.push_back(now_.order);
      return;
    case VirtualChange::released: {
      const auto at = physical_.find(record.handle);
      if (at == physical_.end() || at->second.retained.empty()) return refer(record.handle, -1);
      const uint64_t retained = at->second.retained.back();
      at->second.retained.pop_back();
      return cancel(record.handle, retained);  // the two cancel
    }
    case VirtualChange::mapped:
      if (mapped_.try_emplace(record.address, record.handle, now_.order).second) refer(record.handle, 1);
      return;
    case VirtualChange::unmapped: {
      auto at = mapped_.lower_bound(record.address);
      while (at != mapped_.end() && at->first - record.address < record.bytes) {
        cancel(at->second.first, at->second.second);
        at = mapped_.erase(at);
      }
      return;
    }
  }
}

void StillNeeded::memory_pool(const MemoryPoolRecord& record) {
  const Place pool{record.header.flags, record.address};
  if (record.change == PoolChange::destroyed) {
    pools_.erase(pool);
  } else {
    pools_[pool] = now_;
  }
}

// ---- nodes ----------------------------------------------------------------------------------------------------

void StillNeeded::node(const Lane& lane, const NodeRecord& record) {
  book_.node(record, now_.lane, [&](const Ref& parameter) {
    Ref made = item_here(lane);
    if (parameter) made->within.push_back(parameter);
    return made;
  });
}

void StillNeeded::died_unseen(const Ref& node, uint64_t address) {
  node->own.clear();
  node->end = just_before(synthetic(
      made_releases_, {header_of<NodeReleaseRecord>(RecordKind::node_release, kNodeDied), now_.ticks, address}));
}

void StillNeeded::node_release(const NodeReleaseRecord& record) {
  book_.node_release(record, [&](const Ref& node) {
    node->own.clear();
    if ((record.header.flags & kNodeDied) != 0) {
      node->end = now_;
    } else {
      node->own.push_back(item());
    }
  });
}

void StillNeeded::save(const SaveRecord& record) {
  const Ref node = book_.node_at(record.node);
  if (!node || record.header.id == 0) count_lost(Loss::unattributed_save);
  const Ref of = storage_at(record.storage, record.storage_bytes);
  if (!node) return;
  node->own.push_back(item());
  if (of) node->own.back()->within.push_back(of);
}

// Belongs to its node if it has one, else to the held storage.
void StillNeeded::held(const HeldRecord& record) {
  const Ref of = book_.allocation_at(record.storage);
  if (!of) return;
  const Ref node = book_.node_at(record.node);
  const Ref holder = node ? node : of;
  holder->own.push_back(item());
  if (holder != of) holder->own.back()->within.push_back(of);
}

void StillNeeded::variable(const VariableRecord& record) {
  if (const Ref of = book_.allocation_at(record.storage)) of->own.push_back(item());
}

void StillNeeded::evaluation_begin(Lane& lane, const EvaluationRecord& record) {
  lane.evaluations.push_back(item());
  if (const Ref of = book_.node_at(record.node)) lane.evaluations.back()->within.push_back(of);
}

// Only the last evaluation of a live node is needed. It shows whether the node was used, and which saves the evaluation
// released.
void StillNeeded::evaluation_end(Lane& lane) {
  if (lane.evaluations.empty()) return count_lost(Loss::unmatched_event);
  const Ref evaluation = lane.evaluations.back();
  end(lane.evaluations);
  const Ref node = book_.node_at(node_of_evaluation(evaluation->begin.record));
  if (!node || evaluation->within.empty() || evaluation->within.front() != node) return;
  std::vector<Ref>& own = node->own;
  if ((evaluation->begin.record->flags & kEvaluationReleases) != 0) {
    own.clear();
  } else {
    std::erase_if(own,
                  [](const Ref& old) { return full_kind(old->begin.record->kind) == RecordKind::evaluation_begin; });
  }
  own.push_back(evaluation);
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
  book_.each_allocation(take);
  book_.each_node(take);
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
  for (const auto& [handle, of] : physical_) {
    for (const auto& [order, event] : of.events) events.push_back(event);
  }
  for (const auto& [pool, event] : pools_) events.push_back(event);
  for (const auto& [device, event] : usage_) events.push_back(event);
  std::ranges::stable_sort(events, {}, &Event::order);
  return events;
}

}  // namespace tapelens::trace
