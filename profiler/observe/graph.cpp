// See graph.h. LibTorch makes a node, saves its inputs, runs the kernel, sets the edges of the outputs, and saves
// those. The hooks see the constructor of each SavedVariable and each edge. When the enclosing operator ends, the nodes
// are complete, and the table of fields maps each save to its field.
#include "profiler/observe/graph.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <typeindex>
#include <unordered_map>

#include "base/mutex.h"
#include "profiler/observe/hooks.h"
#include "profiler/observe/named_tensors.h"
#include "profiler/observe/observe.h"
#include "profiler/observe/observers.h"

namespace tapelens::observe {
namespace {

using torch::autograd::Node;
using torch::autograd::SavedVariable;

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

NodeType* new_type(const void* vtable, const Node& node) {
  auto* made = new NodeType;
  const std::type_info& info = typeid(node);
  const std::string_view mangled = info.name();
  const bool is_python = mangled.find("autograd6PyNodeE") != std::string_view::npos;
  made->vtable = vtable;
  made->fields = fields_of(info);
  made->is_python = is_python;
  made->is_custom = is_python || mangled.find("autograd7CppNodeI") != std::string_view::npos;
  made->is_accumulate_grad = info == typeid(torch::autograd::AccumulateGrad);
  if (!is_python) made->text = node_name(node);
  return made;
}

// Shared by all threads.
const NodeType* type_of(const void* vtable, const Node& node) {
  static auto* lock = new base::Mutex;
  static auto* types TAPELENS_PT_GUARDED_BY(*lock) = new std::unordered_map<const void*, const NodeType*>;
  const base::MutexLock guard(*lock);
  const NodeType*& type = (*types)[vtable];
  if (type == nullptr) type = new_type(vtable, node);
  return type;
}

void node_made(const Node* node) {
  if (node == nullptr || !follows_graph(mode())) return;
  Thread& thread = this_thread();
  if (thread.busy || node->sequence_nr() == UINT64_MAX) return;
  Thread::SeenNode& seen = thread.seen_nodes[slot_of(address_of(node), thread.seen_nodes.size())];
  if (seen.node == node && seen.sequence_nr == node->sequence_nr()) return;  // another output of the same node
  seen = {node, node->sequence_nr()};
  thread.nodes.push_back(const_cast<Node*>(node));
}

void output_made(const at::Tensor& tensor, const Node* node) {
  node_made(node);
  if (node != nullptr && is_recording()) record::output_made(tensor, node);
}

void node_dies(const Node* node) {
  if (mode() == Mode::off) return;
  Thread& thread = this_thread();
  // An operator that throws destroys the node that it was making.
  const auto pending = std::find(thread.nodes.rbegin(), thread.nodes.rend(), node);
  if (pending != thread.nodes.rend()) {
    for (OpenCall& open_call : thread.open_calls)
      if (open_call.nodes > static_cast<size_t>(thread.nodes.rend() - pending) - 1) --open_call.nodes;
    thread.nodes.erase(std::next(pending).base());
    return;
  }
  if (is_recording()) record::node_dies(thread, *node);
}

// ---- behind the stand-ins of the preload library, with types from the LibTorch headers of this probe

class Saving {
 public:
  explicit Saving(Thread& thread) : thread_(thread) { record::save_begins(thread); }
  ~Saving() { record::save_ends(thread_); }
  Saving(const Saving&) = delete;
  Saving& operator=(const Saving&) = delete;

 private:
  Thread& thread_;
};

using SavedVariableFunction = void (*)(SavedVariable*, const at::Tensor&, bool, bool);
SavedVariableFunction g_saved_variable;
void saved_variable(SavedVariable* place, const at::Tensor& tensor, bool is_output, bool is_inplace_on_view) {
  if (mode() != Mode::full || !tensor.defined() || this_thread().busy)
    return g_saved_variable(place, tensor, is_output, is_inplace_on_view);
  Thread& thread = this_thread();
  {
    const Saving saving(thread);
    g_saved_variable(place, tensor, is_output, is_inplace_on_view);
  }
  if (mode() != Mode::full) return;
  run_guarded([&] {
    std::vector<NamedTensor> inner;
    if (may_be_wrapper(*tensor.unsafeGetTensorImpl())) [[unlikely]]
      inner = inner_tensors(thread, tensor);
    if (place->has_hooks()) [[unlikely]] {
      record::save_packed(thread, tensor, inner, is_output, packed_tensors(thread, *place));
    } else {
      record::save_made(thread, tensor, inner, is_output);
    }
    ++thread.saves;
  });
}

using EdgeFunction = decltype(&torch::autograd::impl::set_gradient_edge);
EdgeFunction g_set_gradient_edge;
void set_gradient_edge(const at::Tensor& tensor, torch::autograd::Edge edge) {
  const Node* node = edge.function.get();
  g_set_gradient_edge(tensor, std::move(edge));
  run_guarded([&] { output_made(tensor, node); });
}

// Returns void or the node, depending on the PyTorch version.
template <class Returned>
struct Rebase {
  using Function = Returned (*)(const at::Tensor&, torch::autograd::Edge);
  static inline Function original = nullptr;
  static Returned call(const at::Tensor& tensor, torch::autograd::Edge edge) {
    struct Afterwards {
      const at::Tensor& tensor;
      const Node* node;
      ~Afterwards() {
        run_guarded([this] { output_made(tensor, node); });
      }
    } const afterwards{tensor, edge.function.get()};
    return original(tensor, std::move(edge));
  }
};
template <class Returned>
Rebase<Returned> rebase_of(Returned (*)(const at::Tensor&, torch::autograd::Edge));
using RebaseHistory = decltype(rebase_of(&torch::autograd::impl::rebase_history));

using NodeFunction = void (*)(Node*);
// The functions by which a node dies, depending on the PyTorch version: by intrusive pointers (without weak references
// only the destructor is called), or by shared pointers.
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

std::string node_name(const Node& node) {
  std::string name = node.name();
  constexpr std::string_view kPrefix = "torch::autograd::";
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

const NodeType& node_type(Thread& thread, const Node& node) {
  const void* vtable;
  std::memcpy(&vtable, static_cast<const void*>(&node), sizeof vtable);
  const NodeType*& type = thread.node_types[slot_of(address_of(vtable), thread.node_types.size())];
  if (type == nullptr || type->vtable != vtable) type = type_of(vtable, node);
  return *type;
}

void settle_graph(Thread& thread, const OpenCall& open_call) {
  if (thread.nodes.size() <= open_call.nodes && thread.saves <= open_call.saves) return;
  const bool is_recorded = mode() == Mode::full, raised = std::uncaught_exceptions() != 0;
  const Node* custom = nullptr;
  for (size_t i = open_call.nodes; i < thread.nodes.size(); ++i) {
    const Node& node = *thread.nodes[i];
    const NodeType& type = node_type(thread, node);
    if (is_recorded) record::node_is_whole(thread, node, type, open_call);
    if (is_recorded && type.is_python && !raised) [[unlikely]]
      record::held_on_context(thread, node, context_tensors(thread, node));
    if (type.is_custom) custom = &node;
    if (g_rewrites && !raised && type.fields != nullptr) rewrite::node_is_whole(thread, node, type, open_call);
  }
  if (is_recorded) record::saves_are_whole(thread, open_call, custom, raised);
  thread.nodes.resize(std::min<size_t>(thread.nodes.size(), open_call.nodes));
  thread.saves = std::min(thread.saves, open_call.saves);
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
  Death<TAPELENS_node_destructor_alias>::watch();  // the name that libtorch_cpu uses on aarch64
  Death<TAPELENS_delete_node>::watch();
}

}  // namespace tapelens::observe
