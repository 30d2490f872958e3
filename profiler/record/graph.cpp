// Nodes, their edges and their saves, and the parts that tensors have.
#include "profiler/observe/graph.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>

#include "profiler/observe/observers.h"
#include "profiler/record/checksums.h"
#include "profiler/record/intern.h"
#include "profiler/record/storage.h"

namespace tapelens::record {
namespace {

using observe::FieldVisitor;
using torch::autograd::AccumulateGrad;
using torch::autograd::Node;
using torch::autograd::SavedVariable;
using trace::RecordKind;

uint32_t field_name(ThreadState& thread, uint32_t field) {
  static auto* ids = new std::vector<std::atomic<uint32_t>>(observe::kFields);
  std::atomic<uint32_t>& id = (*ids)[field];
  uint32_t known = id.load(std::memory_order_relaxed);
  if (known == 0) {
    known = intern_string(thread, observe::kFieldNames[field]);
    id.store(known, std::memory_order_relaxed);
  }
  return known;
}

uint32_t type_name(ThreadState& thread, const Node& node, const NodeType& type) {
  if (type.text.empty()) return intern_string(thread, observe::node_name(node));
  uint32_t known = type.recorded_as.load(std::memory_order_relaxed);
  if (known == 0) {
    known = intern_string(thread, type.text);
    type.recorded_as.store(known, std::memory_order_relaxed);
  }
  return known;
}

struct Parameters {
  std::mutex lock;
  struct Named {
    uint32_t name = 0;
    uint64_t storage = 0;  // that was told to be a parameter last
  };
  std::unordered_map<const c10::TensorImpl*, Named> named;
};
Parameters& parameters() {
  static auto* made = new Parameters;
  return *made;
}

// AccumulateGrad nodes come and go at the same addresses; their deaths make what the threads remember of them stale.
std::atomic<uint32_t> g_generation{1};

void write_accumulate_grad(ThreadState& thread, const Node& node, const NodeType& type) {
  const at::Tensor& variable = static_cast<const AccumulateGrad&>(node).variable;
  const uint64_t storage = variable.defined() ? storage_of(thread, *variable.unsafeGetTensorImpl()).address : 0;
  ThreadState::Leaf& seen = thread.leaves[slot_of(address_of(&node), thread.leaves.size())];
  const uint32_t generation = g_generation.load(std::memory_order_relaxed);
  if (seen.node == &node && seen.storage == storage && seen.generation == generation) return;
  seen = {&node, storage, generation};
  thread.lane.write(trace::NodeRecord{
      header<trace::NodeRecord>(RecordKind::node, trace::kNodeIsAccumulateGrad, type_name(thread, node, type)),
      trace::ticks_now(), address_of(&node), UINT64_MAX, storage, 0, 0});
}

void write_node(Thread& of, const Node& node, const NodeType& type) {
  ThreadState& thread = *of.recording;
  const auto& edges = node.next_edges();
  for (const auto& edge : edges) {
    if (!edge.function || edge.function->sequence_nr() != UINT64_MAX) continue;
    const NodeType& behind = observe::node_type(of, *edge.function);
    if (behind.is_accumulate_grad) write_accumulate_grad(thread, *edge.function, behind);
  }
  const uint32_t name = type_name(thread, node, type);
  uint32_t attributes = 0;
  if (type.fields != nullptr && type.fields->attributes != nullptr) {
    observe::AttributeText text;
    type.fields->attributes(node, text);
    attributes = intern_attributes(thread, text.text());
  }
  constexpr size_t kMostEdges = trace::kBlockPayloadBytes / sizeof(trace::NodeEdge) - 8;
  const size_t count = std::min(edges.size(), kMostEdges);
  if (count < edges.size()) g_spool.count(trace::Loss::truncated_text, edges.size() - count);
  size_t bytes;
  if (auto* record = reserve<trace::NodeRecord>(thread, RecordKind::node, type.is_custom ? trace::kNodeIsCustom : 0,
                                                name, 2 * count, bytes)) {
    record->ticks = trace::ticks_now();
    record->address = address_of(&node);
    record->sequence_nr = node.sequence_nr();
    record->storage = 0;
    record->attributes = attributes;
    record->reserved = 0;
    auto* edge = reinterpret_cast<trace::NodeEdge*>(record + 1);
    for (size_t i = 0; i < count; ++i) edge[i] = {address_of(edges[i].function.get()), edges[i].input_nr};
    thread.lane.commit(bytes);
  }
}

void write_save(ThreadState& thread, uint64_t node, uint32_t field, uint32_t index, const PendingSave& save) {
  thread.lane.write(trace::SaveRecord{header<trace::SaveRecord>(RecordKind::save, save.flags, field), save.ticks, node,
                                      save.storage, save.storage_bytes, save.storage_offset, save.layout, index});
}

// A node that was not seen, at an address that no node has.
uint64_t write_stand_in(ThreadState& thread, std::string_view type) {
  static std::atomic<uint64_t> count{0};
  const uint64_t address = uint64_t{1} << 63 | count.fetch_add(1, std::memory_order_relaxed);
  thread.lane.write(
      trace::NodeRecord{header<trace::NodeRecord>(RecordKind::node, trace::kNodeIsCustom, intern_string(thread, type)),
                        trace::ticks_now(), address, UINT64_MAX - 1, 0, 0, 0});
  return address;
}

// A save of no node's: torch._C._autograd.SavedTensor, which checkpointing keeps its inputs in. It stands for its own
// node (the constructor sees a temporary's address).
void write_lone_save(ThreadState& thread, const PendingSave& save) {
  write_save(thread, write_stand_in(thread, "SavedTensor"), intern_string(thread, "data"), 0, save);
}

// Saves of an operator that raised before its node was whole. They were made, and died with a node that nobody saw: one
// that is named by the operator stands for it.
void write_raised_saves(ThreadState& thread, const Frame& frame) {
  uint64_t address = 0;
  uint32_t index = 0;
  for (size_t i = frame.saves; i < thread.saves.size(); ++i) {
    if (thread.saves[i].claimed) continue;
    if (address == 0) address = write_stand_in(thread, frame.name != nullptr ? frame.name : "(raised)");
    write_save(thread, address, intern_string(thread, "raised"), index++, thread.saves[i]);
  }
  if (address == 0) return;
  thread.lane.write(trace::NodeReleaseRecord{
      header<trace::NodeReleaseRecord>(RecordKind::node_release, trace::kNodeDied), trace::ticks_now(), address});
}

PendingSave describe(ThreadState& thread, const c10::TensorImpl& tensor, uint8_t flags) {
  const StorageView storage = storage_of(thread, tensor);
  PendingSave save{trace::ticks_now(), storage.address, storage.bytes, 0, intern_layout(thread, tensor), flags, false};
  if (const auto offset = tensor.sym_storage_offset_default().maybe_as_int())
    save.storage_offset = static_cast<uint64_t>(*offset);
  if (tensor.is_wrapped_number()) save.flags |= trace::kSaveIsWrappedNumber;
  return save;
}

// Gives each field of a node the save that the constructor saw.
class SaveVisitor final : public FieldVisitor {
 public:
  SaveVisitor(ThreadState& thread, const Node& node, size_t from) : thread_(thread), node_(node), from_(from) {}

  void one(uint32_t field, uint32_t index, const SavedVariable& saved) override {
    PendingSave* save = nullptr;
    if (saved.has_hooks()) {
      save = first([](const PendingSave& s) { return (s.flags & trace::kSaveIsPacked) != 0; });
      if (save == nullptr) return;  // hooks of a field that holds nothing
    } else {
      const auto data = saved.get_raw_data();
      if (!data || !data->defined()) return;
      const c10::TensorImpl& tensor = *data->unsafeGetTensorImpl();
      PendingSave same = describe(thread_, tensor, 0);
      save = first([&](const PendingSave& s) {
        return (s.flags & trace::kSaveIsPacked) == 0 && s.storage == same.storage && s.layout == same.layout &&
               s.storage_offset == same.storage_offset;
      });
      if (save == nullptr) {  // saved by other means than its constructor
        write_save(thread_, address_of(&node_), field_name(thread_, field), index, same);
        return;
      }
    }
    save->claimed = true;
    write_save(thread_, address_of(&node_), field_name(thread_, field), index, *save);
  }

 private:
  template <class Match>
  PendingSave* first(Match match) {
    for (size_t i = from_; i < thread_.saves.size(); ++i)
      if (!thread_.saves[i].claimed && match(thread_.saves[i])) return &thread_.saves[i];
    return nullptr;
  }
  ThreadState& thread_;
  const Node& node_;
  size_t from_;
};

void name_parameter(const c10::TensorImpl* tensor, uint32_t name) {
  Parameters& p = parameters();
  const std::lock_guard guard(p.lock);
  p.named[tensor].name = name;
}

trace::Role recorded_role(observe::Role role) {
  switch (role) {
    case observe::Role::parameter:
      return trace::Role::parameter;
    case observe::Role::buffer:
      return trace::Role::buffer;
    default:
      return trace::Role::optimizer_state;
  }
}

void write_role(ThreadState& thread, trace::Role role, uint32_t name, const c10::TensorImpl& tensor,
                const c10::TensorImpl* parameter) {
  const StorageView storage = storage_of(thread, tensor);
  if (storage.address == 0) return;
  thread.lane.write(trace::RoleRecord{header<trace::RoleRecord>(RecordKind::role, static_cast<uint8_t>(role), name),
                                      trace::ticks_now(), storage.address, storage.bytes,
                                      parameter != nullptr ? storage_of(thread, *parameter).address : 0});
}

}  // namespace

void save_made(Thread& thread, const c10::TensorImpl& tensor, bool is_output, bool is_packed) {
  const int flags = (is_output ? trace::kSaveIsOutput : 0) | (is_packed ? trace::kSaveIsPacked : 0);
  ThreadState& own = *thread.recording;
  own.saves.push_back(describe(own, tensor, static_cast<uint8_t>(flags)));
}

void node_is_whole(Thread& thread, const Node& node, const NodeType& type, const Frame& frame) {
  write_node(thread, node, type);
  if (type.fields == nullptr) return;
  SaveVisitor visitor(*thread.recording, node, frame.saves);
  type.fields->visit(node, visitor);
}

void saves_are_whole(Thread& of, const Frame& frame, const Node* custom, bool raised) {
  ThreadState& thread = *of.recording;
  if (raised) {
    write_raised_saves(thread, frame);
  } else {
    uint32_t index = 0;
    for (size_t i = frame.saves; i < thread.saves.size(); ++i) {
      const PendingSave& save = thread.saves[i];
      if (save.claimed) continue;
      if (custom != nullptr) {
        write_save(thread, address_of(custom), intern_string(thread, "saved_tensors"), index++, save);
      } else if (frame.scope == at::RecordScope::FUNCTION && frame.recorded) {
        write_save(thread, 0, 0, 0, save);  // a loss that every report shows
      } else {
        write_lone_save(thread, save);
      }
    }
  }
  thread.saves.resize(std::min<size_t>(thread.saves.size(), frame.saves));
}

void node_dies(Thread& thread, const Node& node) {
  if (node.sequence_nr() == UINT64_MAX) g_generation.fetch_add(1, std::memory_order_relaxed);
  thread.recording->lane.write(
      trace::NodeReleaseRecord{header<trace::NodeReleaseRecord>(RecordKind::node_release, trace::kNodeDied),
                               trace::ticks_now(), address_of(&node)});
}

void role_told(Thread& of, observe::Role role, std::string_view name, const c10::TensorImpl& tensor,
               const c10::TensorImpl* parameter) {
  ThreadState& thread = *of.recording;
  const uint32_t id = intern_string(thread, name);
  if (role == observe::Role::parameter) {
    name_parameter(&tensor, id);
    name_for_checksums(thread, const_cast<c10::TensorImpl*>(&tensor), name);
  }
  write_role(thread, recorded_role(role), id, tensor, parameter);
}

void gradient_accumulated(Thread& of, const Node& node) {
  ThreadState& thread = *of.recording;
  const at::Tensor& variable = static_cast<const AccumulateGrad&>(node).variable;
  if (!variable.defined()) return;
  const c10::TensorImpl* parameter = variable.unsafeGetTensorImpl();
  {
    // Its memory may have changed since it was named: model.half(), a new tensor behind `.data`.
    const uint64_t storage = storage_of(thread, *parameter).address;
    Parameters& p = parameters();
    uint32_t name = 0;
    {
      const std::lock_guard guard(p.lock);
      const auto at = p.named.find(parameter);
      if (at != p.named.end() && at->second.storage != storage) {
        at->second.storage = storage;
        name = at->second.name;
      }
    }
    if (name != 0) write_role(thread, trace::Role::parameter, name, *parameter, nullptr);
  }
  const at::Tensor& gradient = variable.grad();
  if (gradient.defined()) write_role(thread, trace::Role::gradient, 0, *gradient.unsafeGetTensorImpl(), parameter);
}

}  // namespace tapelens::record
