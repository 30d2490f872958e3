#include "profiler/rewrite/recipes.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/generated/Functions.h>
#include <torch/csrc/autograd/grad_mode.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "profiler/observe/stack.h"
#include "profiler/rewrite/budget.h"
#include "profiler/rewrite/guards.h"
#include "profiler/rewrite/host.h"

namespace tapelens::rewrite {
namespace {

// Above this a source is named and looked after; below it is simply held.
size_t small() { return std::min<size_t>(recompute::kSmall, settings().min_bytes); }

bool is_whole(const at::Tensor& tensor) {
  return tensor.storage_offset() == 0 && tensor.is_non_overlapping_and_dense() &&
         tensor.storage().nbytes() == static_cast<size_t>(tensor.numel()) * tensor.element_size();
}

Source source_of(size_t argument, const at::Tensor& tensor) {
  Source source;
  source.argument = argument;
  source.geometry = Geometry(tensor);
  if (tensor.storage().nbytes() < small()) {
    // Not detached: that would be an operator. The same memory, watched through the version.
    source.held = source.geometry.over(tensor.storage());
    source.held.unsafeGetTensorImpl()->set_version_counter(tensor.unsafeGetTensorImpl()->version_counter());
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) source.held.unsafeGetTensorImpl()->set_wrapped_number(true);
    source.version = tensor.unsafeGetTensorImpl()->version_counter().current_version();
    if (!is_steady(*tensor.storage().unsafeGetStorageImpl())) source.copy();
  } else {
    source.content = content_of(tensor);
    if (tensor.requires_grad() && tensor.is_leaf()) source.content->stays();
  }
  return source;
}

std::unique_ptr<Recipe> the_same_as(std::shared_ptr<Content> content, const Geometry& geometry) {
  auto recipe = std::make_unique<Recipe>();
  Source& source = recipe->sources.emplace_back();
  source.geometry = geometry;
  source.content = std::move(content);
  return recipe;
}

// Nothing of the program's state reaches what is run again: no autograd, no autocast, no modes.
struct Alone {
  at::AutoDispatchBelowADInplaceOrView below;
  c10::impl::ExcludeDispatchKeyGuard autocast{c10::autocast_dispatch_keyset};
  c10::impl::ExcludeDispatchKeyGuard modes{guards::kModeKeys};
  at::NoGradGuard no_grad;
};

const torch::autograd::generated::GeluBackward0* gelu_node(const at::Tensor& output) {
  return dynamic_cast<const torch::autograd::generated::GeluBackward0*>(torch::autograd::impl::grad_fn_unsafe(output));
}

}  // namespace

const CheapOperator* cheap_operator(const at::RecordFunction& function) {
  std::string_view name = function.name();
  const bool is_in_place = name.ends_with('_');
  const recompute::Cheap cheap = recompute::cheap(name);
  if (!cheap) return nullptr;
  const auto of = function.operator_name();
  if (!of || of->overload_name == "out" || of->overload_name.ends_with("_out")) return nullptr;
  static std::mutex lock;
  static auto* known = new std::unordered_map<c10::OperatorName, std::unique_ptr<CheapOperator>>;
  const std::lock_guard guard(lock);
  std::unique_ptr<CheapOperator>& made = (*known)[*of];
  if (made != nullptr) return made.get();
  const auto op = c10::Dispatcher::singleton().findSchema(*of);
  if (!op) return nullptr;
  made.reset(new CheapOperator{cheap, *op});
  made->is_in_place = is_in_place;
  made->copies = name == "aten::clone" || name == "aten::_to_copy";
  made->is_gelu = name == "aten::gelu";
  made->drops_running_stats = name == "aten::native_batch_norm";
  return made.get();
}

Call begin_call(const CheapOperator& op, const at::RecordFunction& function) {
  Call call{&op, nullptr};
  if (!is_plain_moment()) return call;
  // Below autograd operators change tensors without counting versions.
  if (c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::ADInplaceOrView)) return call;
  if (op.is_gelu) return call;
  const auto inputs = function.inputs();
  const auto is_large = [](const c10::IValue& input) {
    return input.isTensor() && is_plain(input.toTensor()) && input.toTensor().storage().nbytes() >= small() / 4;
  };
  if (std::ranges::none_of(inputs, is_large)) return call;
  auto recipe = std::make_unique<Recipe>();
  recipe->op = &op;
  recipe->arguments.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const c10::IValue& input = inputs[i];
    if (!input.isTensor()) {
      if (input.isTensorList() || input.isList()) {
        const auto list = input.toListRef();
        if (!list.empty() && list[0].isTensor()) return call;
      }
      recipe->arguments[i] = input;
      continue;
    }
    const at::Tensor& tensor = input.toTensor();
    if (!tensor.defined()) continue;
    if (!is_plain(tensor)) return call;
    recipe->sources.push_back(source_of(i, tensor));
  }
  constexpr size_t kRunningMean = 3, kRunningVariance = 4, kTraining = 5;
  if (op.drops_running_stats && recipe->arguments.size() > kTraining && recipe->arguments[kTraining].isBool() &&
      recipe->arguments[kTraining].toBool()) {
    std::erase_if(recipe->sources,
                  [](const Source& s) { return s.argument == kRunningMean || s.argument == kRunningVariance; });
  }
  return {&op, std::move(recipe)};
}

void end_call(Call call, const at::RecordFunction& function, bool is_outermost) {
  const auto& outputs = function.outputs();
  if (outputs.empty() || !outputs[0].isTensor()) return;
  const at::Tensor& output = outputs[0].toTensor();
  if (!is_plain(output) || output.storage().nbytes() < settings().min_bytes || !is_whole(output)) return;
  if (is_outermost && !observe::is_in_backward()) {
    Budget::of_process().ran(call.op->cheap.cost * output.storage().nbytes());
  }
  if (call.recipe == nullptr && !call.op->is_gelu) return;
  if (call.op->is_gelu) {
    const auto* node = gelu_node(output);
    const auto input = node != nullptr ? node->self_.get_raw_data() : std::nullopt;
    if (!is_plain_moment() || !input || !is_plain(*input)) return;
    call.recipe = std::make_unique<Recipe>();
    call.recipe->op = call.op;
    call.recipe->arguments = {c10::IValue(), c10::IValue(node->approximate)};
    call.recipe->sources.push_back(source_of(0, *input));
  }
  const auto* storage = output.storage().unsafeGetStorageImpl();
  for (const Source& source : call.recipe->sources) {
    const bool is_target = call.op->is_in_place && source.argument == 0;
    if (!is_target && source.content != nullptr && source.content->is_storage(storage)) return;  // a view of an input
    if (is_target && source.content == nullptr) return;
  }
  // A copy of what is there, or what the same operator made of the same before.
  Recipe& recipe = *call.recipe;
  const auto first = std::ranges::find_if(recipe.sources, [](const Source& s) { return s.content != nullptr; });
  if (first == recipe.sources.end() || call.op->is_in_place) {
    replace_content(output, std::move(call.recipe));
    return;
  }
  const Geometry made(output);
  if (call.op->copies && recipe.sources.size() == 1 && first->geometry == made &&
      first->geometry.storage_bytes == made.storage_bytes) {
    replace_content(output, the_same_as(first->content, made));
    return;
  }
  const std::shared_ptr<Content> source = first->content;
  if (auto before = source->made_before(recipe)) {
    replace_content(output, the_same_as(std::move(before), made));
  } else {
    source->made(replace_content(output, std::move(call.recipe)));
  }
}

void count_product(recompute::Product product, const at::RecordFunction& function) {
  if (observe::is_in_backward()) return;
  constexpr size_t kTensors = 8;  // no product is called with more
  std::array<std::span<const int64_t>, kTensors> sizes;
  size_t count = 0;
  for (const c10::IValue& input : function.inputs()) {
    if (!input.isTensor() || !input.toTensor().defined()) continue;
    const c10::TensorImpl& impl = *input.toTensor().unsafeGetTensorImpl();
    if (!impl.has_storage() || impl.has_symbolic_sizes_strides() || count == kTensors) return;
    const auto of = impl.sizes_default();
    sizes[count++] = {of.data(), of.size()};
  }
  Budget::of_process().ran(recompute::cost(product, std::span(sizes).first(count)));
}

c10::Storage Recipe::run() {
  bool is_ours = false;
  if (op == nullptr) return sources.front().content->make_as_source(is_ours);
  const Quiet quiet;
  const Alone alone;
  torch::jit::Stack stack(arguments);
  for (const Source& source : sources) {
    if (source.content == nullptr) {
      stack[source.argument] = source.held;
      continue;
    }
    c10::Storage storage = source.content->make_as_source(is_ours);
    if (op->is_in_place && source.argument == 0 && !is_ours) storage = copy_of(storage);
    stack[source.argument] = source.geometry.over(std::move(storage));
  }
  if (op->is_gelu) return at::gelu(stack[0].toTensor(), stack[1].toStringRef()).storage();
  op->op.callBoxed(stack);
  return stack[0].toTensor().storage();
}

}  // namespace tapelens::rewrite
