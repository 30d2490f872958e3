// Records nodes, their edges and saves, and other storages that are kept for backward.
#include "profiler/observe/graph.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "profiler/observe/compiled_graphs.h"
#include "profiler/observe/observers.h"
#include "profiler/observe/raw_data.h"
#include "profiler/record/checksums.h"
#include "profiler/record/compiled_graphs.h"
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

// AccumulateGrad nodes are made and freed at the same addresses; each death invalidates the threads' caches of them.
std::atomic<uint32_t> g_generation{1};

void write_accumulate_grad(ThreadState& thread, const Node& node, const NodeType& type) {
  const at::Tensor& variable = static_cast<const AccumulateGrad&>(node).variable;
  const uint64_t storage = variable.defined() ? parameter_address(thread, *variable.unsafeGetTensorImpl()) : 0;
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

struct FieldName {
  uint32_t id = 0;  // string
  std::string_view text;
};

FieldName named(ThreadState& thread, std::string_view text) { return {intern_string(thread, text), text}; }
FieldName named(ThreadState& thread, uint32_t field) {
  return {field_name(thread, field), observe::kFieldNames[field]};
}

void write_held(ThreadState& thread, trace::HeldBy by, uint64_t node, uint32_t field, const Block& block) {
  if (block.address == 0) return;
  thread.lane.write(trace::HeldRecord{header<trace::HeldRecord>(RecordKind::held, static_cast<uint8_t>(by), field),
                                      trace::ticks_now(), node, block.address, block.bytes});
}

// For a wrapper subclass, one save per inner tensor: "input._local_tensor".
void write_save(ThreadState& thread, uint64_t node, const FieldName& field, uint32_t index, const PendingSave& save) {
  for (uint32_t i = save.first_packed; i < save.first_packed + save.packed; ++i)
    write_held(thread, trace::HeldBy::packed, node, field.id, thread.packed[i]);
  if (save.parts == 0) {
    thread.lane.write(trace::SaveRecord{header<trace::SaveRecord>(RecordKind::save, save.flags, field.id), save.ticks,
                                        node, save.storage, save.storage_bytes, save.storage_offset, save.layout,
                                        index});
    return;
  }
  for (uint32_t i = save.first_part; i < save.first_part + save.parts; ++i) {
    const SavedPart& part = thread.parts[i];
    const uint32_t id = intern_string(thread, std::string(field.text) + part.path);
    thread.lane.write(trace::SaveRecord{header<trace::SaveRecord>(RecordKind::save, save.flags, id), save.ticks, node,
                                        part.storage, part.storage_bytes, part.storage_offset, part.layout, index});
  }
}

// Writes a synthetic node, at an address that no node can have.
uint64_t write_stand_in(ThreadState& thread, std::string_view type) {
  static std::atomic<uint64_t> count{0};
  const uint64_t address = uint64_t{1} << 63 | count.fetch_add(1, std::memory_order_relaxed);
  thread.lane.write(
      trace::NodeRecord{header<trace::NodeRecord>(RecordKind::node, trace::kNodeIsCustom, intern_string(thread, type)),
                        trace::ticks_now(), address, UINT64_MAX - 1, 0, 0, 0});
  return address;
}

// A save without a node: torch._C._autograd.SavedTensor, in which checkpointing keeps its inputs. It gets a synthetic
// node, because the constructor only sees the address of a temporary.
void write_lone_save(ThreadState& thread, const PendingSave& save) {
  write_save(thread, write_stand_in(thread, "SavedTensor"), named(thread, "data"), 0, save);
}

// Saves of an operator that raised before its node was complete. They died with that node, which was not recorded. A
// synthetic node with the operator's name has them.
void write_raised_saves(ThreadState& thread, const OpenCall& open_call) {
  uint64_t address = 0;
  uint32_t index = 0;
  for (size_t i = open_call.saves; i < thread.saves.size(); ++i) {
    if (thread.saves[i].claimed) continue;
    if (address == 0) address = write_stand_in(thread, open_call.name != nullptr ? open_call.name : "(raised)");
    write_save(thread, address, named(thread, "raised"), index++, thread.saves[i]);
  }
  if (address == 0) return;
  thread.lane.write(trace::NodeReleaseRecord{
      header<trace::NodeReleaseRecord>(RecordKind::node_release, trace::kNodeDied), trace::ticks_now(), address});
}

uint64_t offset_of(const c10::TensorImpl& tensor) {
  const auto offset = tensor.sym_storage_offset_default().maybe_as_int();
  return offset ? static_cast<uint64_t>(*offset) : 0;
}

PendingSave describe(ThreadState& thread, const c10::TensorImpl& tensor, uint8_t flags) {
  const StorageView storage = storage_of(thread, tensor);
  PendingSave save{trace::ticks_now(),
                   storage.address,
                   storage.bytes,
                   offset_of(tensor),
                   intern_layout(thread, tensor),
                   flags,
                   false};
  if (tensor.is_wrapped_number()) save.flags |= trace::kSaveIsWrappedNumber;
  return save;
}

// Matches each field of a node with the save from the constructor.
class SaveVisitor final : public FieldVisitor {
 public:
  SaveVisitor(ThreadState& thread, const Node& node, size_t from) : thread_(thread), node_(node), from_(from) {}

  void one(uint32_t field, uint32_t index, const SavedVariable& saved) override {
    PendingSave* save = nullptr;
    if (saved.has_hooks()) {
      save = first([](const PendingSave& s) { return (s.flags & trace::kSaveIsPacked) != 0; });
      if (save == nullptr) return;  // hooks of a field without a tensor
    } else {
      const auto data = observe::raw_data(saved);
      if (!data || !data->defined()) return;
      const c10::TensorImpl& tensor = *data->unsafeGetTensorImpl();
      PendingSave same = describe(thread_, tensor, 0);
      save = first([&](const PendingSave& s) {
        return (s.flags & trace::kSaveIsPacked) == 0 && s.storage == same.storage && s.layout == same.layout &&
               s.storage_offset == same.storage_offset;
      });
      if (save == nullptr) {  // saved without the constructor
        write_save(thread_, address_of(&node_), named(thread_, field), index, same);
        return;
      }
    }
    save->claimed = true;
    write_save(thread_, address_of(&node_), named(thread_, field), index, *save);
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

Block block_of(ThreadState& thread, const at::Tensor& tensor) {
  const StorageView storage = storage_of(thread, *tensor.unsafeGetTensorImpl());
  return {storage.address, storage.bytes};
}

void add_save(ThreadState& own, const at::Tensor& tensor, const std::vector<observe::NamedTensor>& inner, int flags,
              uint32_t packed) {
  PendingSave save = describe(own, *tensor.unsafeGetTensorImpl(), static_cast<uint8_t>(flags));
  save.first_packed = static_cast<uint32_t>(own.packed.size()) - packed;
  save.packed = packed;
  save.first_part = static_cast<uint32_t>(own.parts.size());
  save.parts = static_cast<uint32_t>(inner.size());
  for (const observe::NamedTensor& part : inner) {
    const c10::TensorImpl& impl = *part.tensor.unsafeGetTensorImpl();
    const StorageView storage = storage_of(own, impl);
    own.parts.push_back({part.name, storage.address, storage.bytes, offset_of(impl), intern_layout(own, impl)});
  }
  own.saves.push_back(save);
}

}  // namespace

void save_begins(Thread& thread) {
  ThreadState& own = *thread.recording;
  if (own.saving++ == 0) own.made_by_hooks.clear();
}

void save_ends(Thread& thread) { --thread.recording->saving; }

void save_made(Thread& thread, const at::Tensor& tensor, const std::vector<observe::NamedTensor>& inner,
               bool is_output) {
  add_save(*thread.recording, tensor, inner, is_output ? trace::kSaveIsOutput : 0, 0);
}

// Tensors that hooks allocated and keep elsewhere (offloading keeps them in its own table) count as packed, like the
// hooks' results.
void save_packed(Thread& thread, const at::Tensor& tensor, const std::vector<observe::NamedTensor>& inner,
                 bool is_output, const std::vector<observe::NamedTensor>& packed) {
  ThreadState& own = *thread.recording;
  std::vector<Block> blocks;
  if (own.saving == 0) blocks.swap(own.made_by_hooks);
  for (const observe::NamedTensor& held : packed) {
    const Block block = block_of(own, held.tensor);
    if (std::ranges::find(blocks, block) == blocks.end()) blocks.push_back(block);
  }
  own.packed.insert(own.packed.end(), blocks.begin(), blocks.end());
  add_save(own, tensor, inner, (is_output ? trace::kSaveIsOutput : 0) | trace::kSaveIsPacked,
           static_cast<uint32_t>(blocks.size()));
}

void held_on_context(Thread& thread, const Node& node, const std::vector<observe::NamedTensor>& held) {
  ThreadState& own = *thread.recording;
  for (const observe::NamedTensor& one : held)
    write_held(own, trace::HeldBy::context, address_of(&node), intern_string(own, one.name), block_of(own, one.tensor));
}

void held_by_checkpointing(Thread& thread, const std::vector<observe::NamedTensor>& held) {
  ThreadState& own = *thread.recording;
  for (const observe::NamedTensor& one : held)
    write_held(own, trace::HeldBy::checkpointing, 0, intern_string(own, one.name), block_of(own, one.tensor));
}

void node_is_whole(Thread& thread, const Node& node, const NodeType& type, const OpenCall& open_call) {
  write_node(thread, node, type);
  if (type.fields == nullptr) return;
  SaveVisitor visitor(*thread.recording, node, open_call.saves);
  type.fields->visit(node, visitor);
}

namespace {

// The saves of a compiled function, named by its graph. False: not a compiled function, or not the reported graph.
bool write_compiled_saves(Thread& of, const OpenCall& open_call, const Node& node) {
  const auto call = observe::compiled_call(of, node);
  const CompiledGraph* graph = call ? compiled_graph(call->graph) : nullptr;
  ThreadState& thread = *of.recording;
  std::vector<PendingSave> saves;
  for (size_t i = open_call.saves; i < thread.saves.size(); ++i)
    if (!thread.saves[i].claimed) saves.push_back(thread.saves[i]);
  const auto write = [&](const PendingSave& save, const NamedSave& named, size_t index) {
    const trace::SaveRecord plain{header<trace::SaveRecord>(RecordKind::save, save.flags, named.field),
                                  save.ticks,
                                  address_of(&node),
                                  save.storage,
                                  save.storage_bytes,
                                  save.storage_offset,
                                  save.layout,
                                  static_cast<uint32_t>(index)};
    trace::PlacedSaveRecord record{plain, named.stack, 0};
    record.save.header.words = sizeof record / 8;
    thread.lane.write(record);
  };
  const bool is_known = graph != nullptr && graph->saves.size() == saves.size();
  for (size_t i = 0; i < saves.size() && is_known; ++i) write(saves[i], graph->saves[i], i);
  for (size_t i = 0; call && i < call->unchecked.size(); ++i) {
    const bool is_named = graph != nullptr && graph->unchecked.size() == call->unchecked.size();
    const NamedSave named =
        is_named ? graph->unchecked[i] : NamedSave{intern_string(thread, "_tensors_no_vc_check"), 0};
    write(describe(thread, *call->unchecked[i].tensor.unsafeGetTensorImpl(), trace::kSaveIsOfContext), named, i);
  }
  return is_known;
}

}  // namespace

void saves_are_whole(Thread& of, const OpenCall& open_call, const Node* custom, bool raised) {
  ThreadState& thread = *of.recording;
  if (raised) {
    write_raised_saves(thread, open_call);
  } else if (custom == nullptr || !write_compiled_saves(of, open_call, *custom)) {
    uint32_t index = 0;
    for (size_t i = open_call.saves; i < thread.saves.size(); ++i) {
      const PendingSave& save = thread.saves[i];
      if (save.claimed) continue;
      if (custom != nullptr) {
        write_save(thread, address_of(custom), named(thread, "saved_tensors"), index++, save);
      } else if (open_call.scope == at::RecordScope::FUNCTION && open_call.recorded) {
        write_save(thread, 0, {}, 0, save);  // counted as a loss in every report
      } else {
        write_lone_save(thread, save);
      }
    }
  }
  if (open_call.saves >= thread.saves.size()) return;
  thread.parts.resize(thread.saves[open_call.saves].first_part);
  thread.packed.resize(thread.saves[open_call.saves].first_packed);
  thread.saves.resize(open_call.saves);
}

void node_dies(Thread& thread, const Node& node) {
  if (node.sequence_nr() == UINT64_MAX) g_generation.fetch_add(1, std::memory_order_relaxed);
  thread.recording->lane.write(
      trace::NodeReleaseRecord{header<trace::NodeReleaseRecord>(RecordKind::node_release, trace::kNodeDied),
                               trace::ticks_now(), address_of(&node)});
}

}  // namespace tapelens::record
