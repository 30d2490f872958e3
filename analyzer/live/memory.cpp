#include "analyzer/live/memory.h"

#include <algorithm>
#include <utility>

namespace tapelens::live {

using namespace trace;

namespace {

constexpr uint8_t bit_of(Role role) { return static_cast<uint8_t>(1U << static_cast<unsigned>(role)); }

}  // namespace

size_t GroupHash::operator()(const GroupKey& key) const {
  uint64_t hash = uint64_t{key.maker.op} << 32 | uint64_t{key.device} << 8 | static_cast<uint64_t>(key.kind);
  for (const uint64_t parts :
       {uint64_t{key.maker.stack} << 32 | key.maker.module, uint64_t{key.node_type} << 32 | key.field})
    hash = seeded_hash(hash, seed) ^ parts;
  return seeded_hash(hash, seed);
}

// ---- allocations and nodes, by name -----------------------------------------------------------------------------

Memory::Allocation* Memory::find(Ref allocation) {
  if (!allocation) return nullptr;
  Allocation& found = allocations_[allocation.place];
  return found.number == allocation.number ? &found : nullptr;
}

Memory::Node* Memory::find_node(Ref node) {
  if (!node) return nullptr;
  Node& found = nodes_[node.place];
  return found.number == node.number ? &found : nullptr;
}

Memory::Ref Memory::make(uint64_t bytes, uint8_t device, bool is_counted, Lane* lane, uint32_t stack) {
  uint32_t place = static_cast<uint32_t>(allocations_.size());
  if (free_allocations_.empty()) {
    allocations_.emplace_back();
  } else {
    place = free_allocations_.back();
    free_allocations_.pop_back();
  }
  Allocation& made = allocations_[place] = Allocation();
  if (++numbers_ == 0) numbers_ = 1;
  made.number = numbers_;
  made.bytes = bytes;
  made.device = device;
  made.is_counted = is_counted;
  const Ref ref{place, made.number};
  ++live_allocations_;
  if (lane != nullptr) {
    made.maker = maker_of(*lane, stack);
    made.is_in_operator =
        std::ranges::any_of(lane->operators, [](const OpenOperator& open) { return !open.is_engine; });
    if (made.is_in_operator) {
      lane->made.push_back(ref);
      compact(lane->made);
    }
    if (!lane->evaluations.empty() && backwards_ > 0) {
      made.is_in_backward = true;
      made.is_unpacked = (lane->evaluations.back().flags & kEvaluationUnpacks) != 0;
      in_flight_.push_back(ref);
      compact(in_flight_);
    }
  }
  count(made);
  return ref;
}

// As reports name it: model::called_name_of, stack_of and module_of.
Maker Memory::maker_of(const Lane& lane, uint32_t own_stack) {
  Maker maker;
  const OpenEvaluation* evaluation = lane.evaluations.empty() ? nullptr : &lane.evaluations.back();
  const Node* node = evaluation != nullptr ? find_node(evaluation->node) : nullptr;
  const size_t first = evaluation != nullptr ? std::min(evaluation->operators, lane.operators.size()) : 0;
  if (own_stack != 0 && !names_.is_engine_call(own_stack)) maker.stack = own_stack;
  bool is_inner = true;  // the operator is within the one that the program called
  for (size_t i = lane.operators.size(); i-- > first;) {
    const OpenOperator& open = lane.operators[i];
    if (maker.stack == 0 && open.stack != 0 && !names_.is_engine_call(open.stack)) maker.stack = open.stack;
    is_inner = is_inner && !names_.is_transparent(open.name);
    if (is_inner) maker.op = open.name;
  }
  if (maker.op == 0 && lane.operators.size() > first) maker.op = lane.operators.back().name;
  if (node != nullptr && (maker.op == 0 || names_.is_engine_operator(maker.op))) maker.op = node->type;
  if (node != nullptr && maker.stack == 0) maker.stack = node->maker.stack;
  if (maker.stack == 0) maker.stack = own_stack;
  if (!lane.modules.empty()) {
    maker.module = lane.modules.back();
  } else if (node != nullptr) {
    maker.module = node->maker.module;
  }
  return maker;
}

void Memory::freed(Ref allocation) {
  Allocation* freed = find(allocation);
  if (freed == nullptr) return;
  uncount(*freed);
  freed->number = 0;
  --live_allocations_;
  free_allocations_.push_back(allocation.place);
}

// Memory that is freed leaves its name in such a list. The names of freed memory are removed from time to time.
void Memory::compact(std::vector<Ref>& of) {
  constexpr size_t kSmall = 4096;
  if (of.size() < kSmall || of.size() < 2 * size_t{live_allocations_}) return;
  std::erase_if(of, [&](Ref ref) { return find(ref) == nullptr; });
}

// ---- categories -------------------------------------------------------------------------------------------------

// As peak::main_holder chooses it.
HolderKind Memory::kind_of(const Allocation& of) {
  if (of.waits) return HolderKind::allocator;
  if ((of.roles & bit_of(Role::parameter)) != 0) return HolderKind::parameter;
  if ((of.roles & bit_of(Role::gradient)) != 0) return HolderKind::gradient;
  if ((of.roles & bit_of(Role::optimizer_state)) != 0) return HolderKind::optimizer_state;
  if ((of.roles & bit_of(Role::buffer)) != 0) return HolderKind::buffer;
  if (of.packed > 0) return HolderKind::packed;
  if (of.checkpoints > 0) return HolderKind::checkpointing;
  if (of.contexts > 0) return HolderKind::context;
  if (of.saves > 0) return HolderKind::save;
  if (of.is_in_operator) return HolderKind::op;
  if (of.is_in_backward) return of.is_unpacked ? HolderKind::recomputed : HolderKind::gradient;
  return HolderKind::program;
}

uint32_t Memory::group_of(const GroupKey& key) {
  const auto [at, is_new] = group_at_.try_emplace(key, static_cast<uint32_t>(groups_.size()));
  if (is_new) groups_.push_back({key, {}});
  return at->second;
}

void Memory::count(Allocation& of) {
  if (!of.is_counted) return;
  const HolderKind kind = kind_of(of);
  GroupKey key{of.device, kind, of.maker, 0, 0};
  if (kind == HolderKind::save || kind == HolderKind::packed || kind == HolderKind::context) {
    key.node_type = of.node_type;
    key.field = of.field;
  }
  of.group = group_of(key);
  DeviceMemory& device = devices_[of.device];
  groups_[of.group].bytes.add(of.bytes, device.peaks);
  device.kinds[static_cast<size_t>(kind)].add(of.bytes, device.peaks);
}

void Memory::uncount(Allocation& of) {
  if (of.group == UINT32_MAX) return;
  Group& group = groups_[of.group];
  DeviceMemory& device = devices_[of.device];
  group.bytes.add(0 - of.bytes, device.peaks);
  device.kinds[static_cast<size_t>(group.key.kind)].add(0 - of.bytes, device.peaks);
  of.group = UINT32_MAX;
}

template <class Change>
void Memory::change(Ref allocation, Change change) {
  Allocation* found = find(allocation);
  if (found == nullptr) return;
  const HolderKind before = kind_of(*found);
  const uint32_t type = found->node_type, field = found->field;
  change(*found);
  if (kind_of(*found) == before && found->node_type == type && found->field == field) return;
  uncount(*found);
  count(*found);
}

// ---- devices ----------------------------------------------------------------------------------------------------

void Memory::peaked(uint8_t number, uint64_t bytes) {
  DeviceMemory& device = devices_[number];
  device.is_used = true;
  if (device.is_peak_older && bytes <= device.peak) return;
  device.is_peak_older = false;
  device.peak = bytes;
  device.peak_time = last_;
  device.peak_step = steps_;
  ++device.peaks;
}

void Memory::changed(uint8_t number) {
  DeviceMemory& device = devices_[number];
  device.live = book_.devices()[number].live;
  // Sizes of an untrusted spool may add up to less than nothing.
  const auto live = std::max<int64_t>(0, static_cast<int64_t>(device.live));
  device.step_peak = std::max(device.step_peak, static_cast<uint64_t>(live));
  KindBytes kinds{};
  for (size_t kind = 0; kind < kHolderKinds; ++kind) kinds[kind] = static_cast<int64_t>(device.kinds[kind].live());
  device.history.note(last_, {live}, kinds);
}

void Memory::step_ended() {
  ++steps_;
  for (DeviceMemory& device : devices_) {
    if (!device.is_used) continue;
    device.steps.push_back({device.step_peak, device.live});
    if (device.steps.size() > DeviceMemory::kMostSteps) device.steps.pop_front();
    device.step_peak = device.live;
  }
}

const char* Memory::phase() const {
  if (backwards_ > 0) return "backward";
  if (optimizers_ > 0) return "optimizer";
  for (const auto& [number, lane] : lanes_)
    if (!lane.modules.empty()) return "forward";
  return "";
}

// ---- events -----------------------------------------------------------------------------------------------------

void Memory::older(const RecordHeader* record, Time time) {
  if (record->kind == RecordKind::older_steps) {
    const auto& steps = as<OlderStepsRecord>(record);
    borders_ = StepBorders(names_.program_step(), steps.header.id);
    steps_ = steps.steps;
  } else if (record->kind == RecordKind::older_peak) {
    const auto& peak = as<OlderPeakRecord>(record);
    DeviceMemory& device = devices_[peak.header.flags];
    if (peak.bytes < device.peak) return;
    device.is_used = device.is_peak_older = true;
    device.peak = peak.bytes;
    device.peak_time = time;
    device.peak_step = peak.step;
  }
}

void Memory::event(const RecordHeader* record, uint32_t number, Time time) {
  last_ = std::max(time, last_);
  ++events_;
  Lane& lane = lanes_[number];
  const auto unmade = [&](uint32_t stack, bool is_older) {
    return [this, &lane, stack, is_older, record](uint64_t bytes) {
      return make(bytes, record->flags, true, is_older ? nullptr : &lane, stack);
    };
  };
  switch (record->kind) {
    case RecordKind::operator_begin:
      lane.operators.push_back({record->id, as<OperatorRecord>(record).stack, names_.is_engine_operator(record->id)});
      return;
    case RecordKind::operator_end:
      return operator_ended(lane);
    case RecordKind::allocation: {
      const auto& made = as<AllocationRecord>(record);
      const auto make_it = unmade(record->id, false);
      book_.allocation(made.address, made.bytes, record->flags, [&] { return make_it(made.bytes); });
      return changed(record->flags);
    }
    case RecordKind::device_allocation: {
      const auto& made = as<DeviceAllocationRecord>(record);
      book_.device_allocation(made, record->flags,
                              [&](bool is_older) { return unmade(record->id, is_older)(made.bytes); });
      return changed(record->flags);
    }
    case RecordKind::free_request:
      return book_.free_request(as<FreeRecord>(record),
                                [&](Ref of) { change(of, [](Allocation& waiting) { waiting.waits = true; }); });
    case RecordKind::free:
      book_.free(as<FreeRecord>(record));
      return changed(record->flags);
    case RecordKind::foreign: {
      const auto& made = as<ForeignRecord>(record);
      return book_.foreign(made, record->flags, [&] { return make(made.bytes, record->flags, false, &lane, 0); });
    }
    case RecordKind::node:
      return node(as<NodeRecord>(record), number, lane);
    case RecordKind::save:
      return save(as<SaveRecord>(record));
    case RecordKind::held:
      return held(as<HeldRecord>(record));
    case RecordKind::rewrite:
      return rewrite(as<RewriteRecord>(record));
    case RecordKind::role:
      return role(as<RoleRecord>(record));
    case RecordKind::node_release: {
      const bool died = (record->flags & kNodeDied) != 0;
      return book_.node_release(as<NodeReleaseRecord>(record),
                                [&](Ref of) { return died ? drop_node(of) : release_node(of); });
    }
    case RecordKind::evaluation_begin:
      return lane.evaluations.push_back(
          {book_.node_at(as<EvaluationRecord>(record).node), record->flags, lane.operators.size()});
    case RecordKind::evaluation_end: {
      if (lane.evaluations.empty()) return;
      const OpenEvaluation ended = lane.evaluations.back();
      lane.evaluations.pop_back();
      if ((ended.flags & kEvaluationReleases) != 0) release_node(ended.node);
      return;
    }
    case RecordKind::backward_begin:
      ++lane.backwards;
      ++backwards_;
      return;
    case RecordKind::backward_end:
      if (lane.backwards == 0) return;
      --lane.backwards;
      --backwards_;
      return backward_ended();
    case RecordKind::module_begin:
      return lane.modules.push_back(record->id);
    case RecordKind::module_end:
      if (!lane.modules.empty()) lane.modules.pop_back();
      return;
    case RecordKind::optimizer_begin:
    case RecordKind::optimizer_end: {
      const bool begins = record->kind == RecordKind::optimizer_begin;
      if (begins) {
        ++lane.optimizers;
        ++optimizers_;
      } else if (lane.optimizers > 0) {
        --lane.optimizers;
        --optimizers_;
      }
      borders_.set_program(names_.program_step());
      const bool is_border = borders_.event(record, number);
      if (borders_.starts_anew()) steps_ = 0;
      if (is_border) step_ended();
      return;
    }
    case RecordKind::out_of_memory:
      ++out_of_memory_;
      return;
    default:
      return;
  }
}

void Memory::gap(uint32_t number) {
  Lane& lane = lanes_[number];
  backwards_ -= lane.backwards;
  optimizers_ -= lane.optimizers;
  lane.operators.clear();
  operator_ended(lane);
  lane = Lane();
  borders_.gap(number);
  backward_ended();
}

void Memory::operator_ended(Lane& lane) {
  if (!lane.operators.empty()) lane.operators.pop_back();
  if (std::ranges::any_of(lane.operators, [](const OpenOperator& open) { return !open.is_engine; })) return;
  for (const Ref ref : lane.made) change(ref, [](Allocation& of) { of.is_in_operator = false; });
  lane.made.clear();
}

void Memory::backward_ended() {
  if (backwards_ > 0) return;
  for (const Ref ref : in_flight_) change(ref, [](Allocation& of) { of.is_in_backward = false; });
  in_flight_.clear();
}

// ---- nodes ------------------------------------------------------------------------------------------------------

Memory::Ref Memory::storage_at(uint64_t address, uint64_t bytes) {
  return book_.storage_at(address, bytes, [&] { return make(bytes, 0, false, nullptr, 0); });
}

void Memory::node(const NodeRecord& record, uint32_t number, Lane& lane) {
  book_.node(record, number, [&](Ref parameter) {
    // A C++ program does not name its parameters: their nodes show them.
    change(parameter, [](Allocation& of) { of.roles |= bit_of(Role::parameter); });
    uint32_t place = static_cast<uint32_t>(nodes_.size());
    if (free_nodes_.empty()) {
      nodes_.emplace_back();
    } else {
      place = free_nodes_.back();
      free_nodes_.pop_back();
    }
    if (++numbers_ == 0) numbers_ = 1;
    Node& made = nodes_[place];
    made.number = numbers_;
    made.type = record.header.id;
    made.maker = maker_of(lane, 0);
    return Ref{place, made.number};
  });
}

void Memory::save(const SaveRecord& record) {
  const Ref of = book_.node_at(record.node);
  const Ref allocation = storage_at(record.storage, record.storage_bytes);
  if ((record.header.flags & kSaveIsPacked) != 0) return;
  Node* node = find_node(of);
  const uint32_t field = record.header.id;
  change(allocation, [&](Allocation& saved) {
    if (saved.saves++ > 0) return;
    saved.node_type = node != nullptr ? node->type : 0;
    saved.field = field;
  });
  if (node == nullptr) return;  // held until it is freed
  const bool until_death = (record.header.flags & kSaveIsOfContext) != 0;
  node->saves.push_back({allocation, field, record.index, Keeps::save, until_death});
}

void Memory::held(const HeldRecord& record) {
  const Ref allocation = book_.allocation_at(record.storage);
  const HeldBy by{record.header.flags};
  if (!allocation || by < HeldBy::packed || by > HeldBy::checkpointing) return;
  Node* node = find_node(book_.node_at(record.node));
  const uint32_t field = record.header.id;
  change(allocation, [&](Allocation& kept) {
    kept.packed += by == HeldBy::packed ? 1 : 0;
    kept.contexts += by == HeldBy::context ? 1 : 0;
    kept.checkpoints += by == HeldBy::checkpointing ? 1 : 0;
    if (kept.node_type != 0 || node == nullptr) return;
    kept.node_type = node->type;
    kept.field = field;
  });
  if (node == nullptr || by == HeldBy::checkpointing) return;
  node->saves.push_back(
      {allocation, field, 0, by == HeldBy::packed ? Keeps::packed : Keeps::context, by == HeldBy::context});
}

// An applied rewrite ends the latest save of its field.
void Memory::rewrite(const RewriteRecord& record) {
  if ((record.header.flags & kRewriteSkipped) != 0) return;
  Node* node = find_node(book_.node_at(record.node));
  if (node == nullptr) return;
  for (size_t i = node->saves.size(); i-- > 0;) {
    const Save save = node->saves[i];
    if (save.keeps != Keeps::save || save.field != record.field || save.index != record.index) continue;
    node->saves.erase(node->saves.begin() + static_cast<std::ptrdiff_t>(i));
    return release(save);
  }
}

void Memory::role(const RoleRecord& record) {
  const Ref allocation = storage_at(record.storage, record.storage_bytes);
  if (record.header.flags > static_cast<uint8_t>(Role::optimizer_state)) return;
  change(allocation, [&](Allocation& of) { of.roles |= bit_of(Role{record.header.flags}); });
}

void Memory::release(const Save& save) {
  change(save.allocation, [&](Allocation& of) {
    uint32_t& count = save.keeps == Keeps::save ? of.saves : save.keeps == Keeps::packed ? of.packed : of.contexts;
    if (count > 0) --count;
    if (of.saves + of.packed + of.contexts == 0) of.node_type = of.field = 0;
  });
}

void Memory::release_node(Ref of) {
  Node* node = find_node(of);
  if (node == nullptr) return;
  for (const Save& save : node->saves)
    if (!save.until_death) release(save);
  std::erase_if(node->saves, [](const Save& save) { return !save.until_death; });
}

void Memory::drop_node(Ref of) {
  Node* node = find_node(of);
  if (node == nullptr) return;
  for (const Save& save : node->saves) release(save);
  *node = Node();
  free_nodes_.push_back(of.place);
}

}  // namespace tapelens::live
