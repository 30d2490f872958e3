// See graph.h. LibTorch makes a node, saves its inputs, runs the kernel, sets the edges of the outputs, saves those. We
// see the constructor of each SavedVariable and each edge; when the operator around them ends, the nodes are whole, and
// the table of fields tells which save is which field.
#include "profiler/observe/graph.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <typeindex>
#include <unordered_map>

#include "profiler/observe/capture.h"
#include "profiler/record/checksums.h"
#include "profiler/observe/hooks.h"
#include "profiler/record/intern.h"
#include "profiler/observe/stack.h"
#include "profiler/record/storage.h"

namespace tapelens::capture {
namespace {

using torch::autograd::AccumulateGrad;
using torch::autograd::Node;
using torch::autograd::SavedVariable;
using trace::RecordKind;

const SavedFields* fields_of(const std::type_info& type) {
  static const auto* table = [] {
    auto* made = new std::unordered_map<std::type_index, const SavedFields*>;
    made->reserve(kSavedFieldTypes);
    for (size_t i = 0; i < kSavedFieldTypes; ++i) made->emplace(*kSavedFields[i].type, &kSavedFields[i]);
    return made;
  }();
  const auto at = table->find(type);
  return at == table->end() ? nullptr : at->second;
}

uint32_t field_name(Thread& thread, uint32_t field) {
  static auto* ids = new std::vector<std::atomic<uint32_t>>(kFields);
  std::atomic<uint32_t>& id = (*ids)[field];
  uint32_t known = id.load(std::memory_order_relaxed);
  if (known == 0) {
    known = intern_string(thread, kFieldNames[field]);
    id.store(known, std::memory_order_relaxed);
  }
  return known;
}

std::string short_name(const Node& node) {
  std::string name = node.name();
  constexpr std::string_view kPrefix = "torch::autograd::";
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

uint32_t type_name(Thread& thread, const Node& node) { return intern_string(thread, short_name(node)); }

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

void write_accumulate_grad(Thread& thread, const Node& node) {
  const at::Tensor& variable = static_cast<const AccumulateGrad&>(node).variable;
  const uint64_t storage = variable.defined() ? storage_of(thread, *variable.unsafeGetTensorImpl()).address : 0;
  Thread::Recorded& seen = thread.recorded[slot_of(address_of(&node), thread.recorded.size())];
  const uint32_t generation = g_generation.load(std::memory_order_relaxed);
  if (seen.node == &node && seen.storage == storage && seen.generation == generation) return;
  seen = {&node, UINT64_MAX, storage, generation};
  const NodeType& type = node_type(thread, node);
  thread.lane.write(
      trace::NodeRecord{header<trace::NodeRecord>(RecordKind::node, trace::kNodeIsAccumulateGrad, type.name),
                        trace::ticks_now(), address_of(&node), UINT64_MAX, storage, 0, 0});
}

void write_node(Thread& thread, const Node& node, const NodeType& type) {
  const auto& edges = node.next_edges();
  for (const auto& edge : edges)
    if (edge.function && edge.function->sequence_nr() == UINT64_MAX &&
        node_type(thread, *edge.function).is_accumulate_grad)
      write_accumulate_grad(thread, *edge.function);
  const uint32_t name = type.name_varies ? type_name(thread, node) : type.name;
  uint32_t attributes = 0;
  if (type.fields != nullptr && type.fields->attributes != nullptr) {
    AttributeText text;
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

void write_save(Thread& thread, uint64_t node, uint32_t field, uint32_t index, const PendingSave& save) {
  thread.lane.write(trace::SaveRecord{header<trace::SaveRecord>(RecordKind::save, save.flags, field), save.ticks, node,
                                      save.storage, save.storage_bytes, save.storage_offset, save.layout, index});
}

// A node that was not seen, at an address that no node has.
uint64_t write_stand_in(Thread& thread, std::string_view type) {
  static std::atomic<uint64_t> count{0};
  const uint64_t address = uint64_t{1} << 63 | count.fetch_add(1, std::memory_order_relaxed);
  thread.lane.write(
      trace::NodeRecord{header<trace::NodeRecord>(RecordKind::node, trace::kNodeIsCustom, intern_string(thread, type)),
                        trace::ticks_now(), address, UINT64_MAX - 1, 0, 0, 0});
  return address;
}

// A save of no node's: torch._C._autograd.SavedTensor, which checkpointing keeps its inputs in. It stands for its own
// node (the constructor sees a temporary's address).
void write_lone_save(Thread& thread, const PendingSave& save) {
  write_save(thread, write_stand_in(thread, "SavedTensor"), intern_string(thread, "data"), 0, save);
}

// Saves of an operator that raised before its node was whole. They were made, and died with a node that nobody saw: one
// that is named by the operator stands for it.
void write_raised_saves(Thread& thread, const Frame& frame) {
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

PendingSave describe(Thread& thread, const void* place, const c10::TensorImpl& tensor, uint8_t flags) {
  const StorageView storage = storage_of(thread, tensor);
  PendingSave save{place, trace::ticks_now(), storage.address, storage.bytes, 0, intern_layout(thread, tensor), flags,
                   false};
  if (const auto offset = tensor.sym_storage_offset_default().maybe_as_int())
    save.storage_offset = static_cast<uint64_t>(*offset);
  if (tensor.is_wrapped_number()) save.flags |= trace::kSaveIsWrappedNumber;
  return save;
}

// Hands each save of a node to the rewrites.
class Offerer final : public FieldVisitor {
 public:
  Offerer(Thread& thread, const Node& node, const NodeType& type, const Frame& frame)
      : thread_(thread), node_(node), type_(type), frame_(frame) {}

  void one(uint32_t field, uint32_t index, const SavedVariable& saved) override {
    static auto* known = new std::vector<std::atomic<const rewrite::Candidates*>>(kFields);
    const rewrite::Candidates* candidates = (*known)[field].load(std::memory_order_acquire);
    if (candidates == nullptr) {
      candidates = rewrite::candidates(type_.text, kFieldNames[field]);
      (*known)[field].store(candidates, std::memory_order_release);
    }
    if (saved.has_hooks()) return;
    const auto data = saved.get_raw_data();
    if (!data || !data->defined()) return;
    if (!candidates->empty() && !is_described_) describe_node();
    const std::string_view inner = frame_.name != nullptr ? frame_.name : "";
    rewrite::offer(
        thread_.rewrites, const_cast<SavedVariable&>(saved),
        {node_, *text(), kFieldNames[field], index, inner, outer_operator(inner), attributes_.text(), wanted_, *data},
        *candidates);
  }

 private:
  void describe_node() {
    is_described_ = true;
    if (type_.fields->attributes != nullptr) type_.fields->attributes(node_, attributes_);
    const size_t edges = std::min<size_t>(node_.num_outputs(), 64);
    for (size_t i = 0; i < edges; ++i) wanted_ |= uint64_t{node_.next_edge(i).is_valid()} << i;
  }
  // Names that live as long as the process: whoever is handed one keeps it.
  const std::string* text() const {
    static auto* lock = new std::mutex;
    static auto* texts = new std::unordered_map<std::string, std::string>;
    if (text_ == nullptr) {
      const std::lock_guard guard(*lock);
      text_ = &texts->try_emplace(type_.text, type_.text).first->second;
    }
    return text_;
  }
  // That the program called: the outermost of the operators around.
  std::string_view outer_operator(std::string_view inner) const {
    std::string_view outer = inner;
    for (auto frame = thread_.frames.rbegin(); frame != thread_.frames.rend(); ++frame) {
      if (frame->name == nullptr || frame->runs_python) break;
      outer = frame->name;
    }
    return outer;
  }

  Thread& thread_;
  const Node& node_;
  const NodeType& type_;
  const Frame& frame_;
  bool is_described_ = false;
  AttributeText attributes_;
  uint64_t wanted_ = 0;
  mutable const std::string* text_ = nullptr;
};

// Gives each field of a node the save that the constructor saw.
class Claimer final : public FieldVisitor {
 public:
  Claimer(Thread& thread, const Node& node, size_t from) : thread_(thread), node_(node), from_(from) {}

  void one(uint32_t field, uint32_t index, const SavedVariable& saved) override {
    PendingSave* save = nullptr;
    if (saved.has_hooks()) {
      save = first([](const PendingSave& s) { return (s.flags & trace::kSaveIsPacked) != 0; });
      if (save == nullptr) return;  // hooks of a field that holds nothing
    } else {
      const auto data = saved.get_raw_data();
      if (!data || !data->defined()) return;
      const c10::TensorImpl& tensor = *data->unsafeGetTensorImpl();
      PendingSave same = describe(thread_, nullptr, tensor, 0);
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
  Thread& thread_;
  const Node& node_;
  size_t from_;
};

void node_made(const Node* node) {
  if (node == nullptr || !follows_graph(mode())) return;
  Thread& thread = this_thread();
  if (thread.busy || node->sequence_nr() == UINT64_MAX) return;
  Thread::Recorded& seen = thread.recorded[slot_of(address_of(node), thread.recorded.size())];
  if (seen.node == node && seen.sequence_nr == node->sequence_nr()) return;  // another output of the same node
  seen = {node, node->sequence_nr(), 0, 0};
  thread.nodes.push_back(const_cast<Node*>(node));
}

void node_dies(const Node* node) {
  if (mode() == Mode::off) return;
  Thread& thread = this_thread();
  // An operator that throws takes the node with it that it was making.
  const auto pending = std::find(thread.nodes.rbegin(), thread.nodes.rend(), node);
  if (pending != thread.nodes.rend()) {
    for (Frame& frame : thread.frames)
      if (frame.nodes > static_cast<size_t>(thread.nodes.rend() - pending) - 1) --frame.nodes;
    thread.nodes.erase(std::next(pending).base());
    return;
  }
  if (!is_recording()) return;
  if (node->sequence_nr() == UINT64_MAX) g_generation.fetch_add(1, std::memory_order_relaxed);
  thread.lane.write(
      trace::NodeReleaseRecord{header<trace::NodeReleaseRecord>(RecordKind::node_release, trace::kNodeDied),
                               trace::ticks_now(), address_of(node)});
}

// ---- behind the stand-ins of the preload library, typed by the headers of the LibTorch this probe is built for

using SavedVariableFunction = void (*)(SavedVariable*, const at::Tensor&, bool, bool);
SavedVariableFunction g_saved_variable;
void saved_variable(SavedVariable* place, const at::Tensor& tensor, bool is_output, bool is_inplace_on_view) {
  g_saved_variable(place, tensor, is_output, is_inplace_on_view);
  if (mode() != Mode::full || !tensor.defined()) return;
  Thread& thread = this_thread();
  if (thread.busy) return;
  uint8_t flags = is_output ? trace::kSaveIsOutput : 0;
  if (place->has_hooks()) flags |= trace::kSaveIsPacked;
  undisturbed([&] { thread.saves.push_back(describe(thread, place, *tensor.unsafeGetTensorImpl(), flags)); });
}

using EdgeFunction = decltype(&torch::autograd::impl::set_gradient_edge);
EdgeFunction g_set_gradient_edge;
void set_gradient_edge(const at::Tensor& tensor, torch::autograd::Edge edge) {
  const Node* node = edge.function.get();
  g_set_gradient_edge(tensor, std::move(edge));
  undisturbed([&] {
    node_made(node);
    checksum_output(tensor, node);
  });
}

// Returns nothing, or the node, by version.
template <class Returned>
struct Rebase {
  using Function = Returned (*)(const at::Tensor&, torch::autograd::Edge);
  static inline Function original = nullptr;
  static Returned call(const at::Tensor& tensor, torch::autograd::Edge edge) {
    struct Afterwards {
      const at::Tensor& tensor;
      const Node* node;
      ~Afterwards() {
        undisturbed([this] {
          node_made(node);
          checksum_output(tensor, node);
        });
      }
    } const afterwards{tensor, edge.function.get()};
    return original(tensor, std::move(edge));
  }
};
template <class Returned>
Rebase<Returned> rebase_of(Returned (*)(const at::Tensor&, torch::autograd::Edge));
using RebaseHistory = decltype(rebase_of(&torch::autograd::impl::rebase_history));

using NodeFunction = void (*)(Node*);
// The ways a node dies: by version counted by intrusive pointers (without weak references to it only its destructor is
// called) or by shared ones.
template <tapelens_symbol symbol>
struct Death {
  static inline NodeFunction original = nullptr;
  static void call(Node* node) {
    node_dies(node);
    original(node);
  }
  static void watch() {
    original = real<NodeFunction>(symbol);
    if (original != nullptr) g_inject->replace(symbol, reinterpret_cast<void*>(&call));
  }
};

}  // namespace

const NodeType& node_type(Thread& thread, const Node& node) {
  const void* vtable;
  std::memcpy(&vtable, static_cast<const void*>(&node), sizeof vtable);
  NodeType& type = thread.node_types[slot_of(address_of(vtable), thread.node_types.size())];
  if (type.vtable == vtable) return type;
  const std::type_info& info = typeid(node);
  const std::string_view mangled = info.name();
  const bool is_python = mangled.find("autograd6PyNodeE") != std::string_view::npos;
  type.vtable = vtable;
  type.fields = fields_of(info);
  type.is_custom = is_python || mangled.find("autograd7CppNodeI") != std::string_view::npos;
  type.is_accumulate_grad = info == typeid(AccumulateGrad);
  type.name_varies = is_python;  // by the class of the program that it stands for
  type.name = is_python ? 0 : type_name(thread, node);
  if (g_rewrites && type.fields != nullptr) type.text = short_name(node);
  return type;
}

void settle_graph(Thread& thread, const Frame& frame) {
  if (thread.nodes.size() <= frame.nodes && thread.saves.size() <= frame.saves) return;
  const bool is_recorded = mode() == Mode::full;
  const Node* custom = nullptr;
  for (size_t i = frame.nodes; i < thread.nodes.size(); ++i) {
    const Node& node = *thread.nodes[i];
    const NodeType& type = node_type(thread, node);
    if (is_recorded) write_node(thread, node, type);
    if (type.is_custom) custom = &node;
    if (type.fields == nullptr) continue;
    if (is_recorded) {
      Claimer claimer(thread, node, frame.saves);
      type.fields->visit(node, claimer);
    }
    if (g_rewrites && std::uncaught_exceptions() == 0) {
      Offerer offerer(thread, node, type, frame);
      type.fields->visit(node, offerer);
    }
  }
  if (std::uncaught_exceptions() != 0) {
    if (is_recorded) write_raised_saves(thread, frame);
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
  thread.nodes.resize(std::min<size_t>(thread.nodes.size(), frame.nodes));
  thread.saves.resize(std::min<size_t>(thread.saves.size(), frame.saves));
}

void name_parameter(const c10::TensorImpl* tensor, uint32_t name) {
  Parameters& p = parameters();
  const std::lock_guard guard(p.lock);
  p.named[tensor].name = name;
}

void write_role(Thread& thread, trace::Role role, uint32_t name, const c10::TensorImpl& tensor,
                const c10::TensorImpl* parameter) {
  const StorageView storage = storage_of(thread, tensor);
  if (storage.address == 0) return;
  thread.lane.write(trace::RoleRecord{header<trace::RoleRecord>(RecordKind::role, static_cast<uint8_t>(role), name),
                                      trace::ticks_now(), storage.address, storage.bytes,
                                      parameter != nullptr ? storage_of(thread, *parameter).address : 0});
}

void evaluation_ends(Thread& thread, Node& node) {
  if (node.sequence_nr() != UINT64_MAX || !node_type(thread, node).is_accumulate_grad) return;
  const at::Tensor& variable = static_cast<AccumulateGrad&>(node).variable;
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

void watch_graph() {
  g_saved_variable = real<SavedVariableFunction>(TAPELENS_saved_variable);
  g_set_gradient_edge = real<EdgeFunction>(TAPELENS_set_gradient_edge);
  RebaseHistory::original = real<RebaseHistory::Function>(TAPELENS_rebase_history);
  const auto replace = [](tapelens_symbol symbol, auto* function) {
    g_inject->replace(symbol, reinterpret_cast<void*>(function));
  };
  replace(TAPELENS_saved_variable, &saved_variable);
  replace(TAPELENS_saved_variable_base, &saved_variable);
  replace(TAPELENS_set_gradient_edge, &set_gradient_edge);
  replace(TAPELENS_rebase_history, &RebaseHistory::call);
  Death<TAPELENS_node_release_resources>::watch();
  Death<TAPELENS_node_destructor>::watch();
  Death<TAPELENS_delete_node>::watch();
}

}  // namespace tapelens::capture
