#include "profiler/rewrite/rematerialization.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/generated/Functions.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "base/mutex.h"
#include "profiler/observe/raw_data.h"
#include "profiler/observe/stack.h"
#include "profiler/rewrite/autocast_copies.h"
#include "profiler/rewrite/guards.h"
#include "profiler/rewrite/host.h"
#include "profiler/rewrite/settings.h"

namespace tapelens::rewrite {
namespace {

bool is_whole(const at::Tensor& tensor) {
  return tensor.storage_offset() == 0 && tensor.is_non_overlapping_and_dense() &&
         tensor.storage().nbytes() == static_cast<size_t>(tensor.numel()) * tensor.element_size();
}

void read(RecordedCall& call, size_t argument, const at::Tensor& tensor) {
  Geometry geometry(tensor);
  // A Python number does not take part in type promotion as a tensor does, but as a source it would.
  if (tensor.storage().nbytes() >= least_source() && !tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    const StorageVersionPtr version = version_of(tensor);
    version->forget_useless_recipe();  // its sources may be gone: the chain of versions must not grow
    if (tensor.requires_grad() && tensor.is_leaf()) version->kept_by_program();
    call.sources.push_back({version});
    call.large.push_back({argument, std::move(geometry)});
    return;
  }
  // Not detach(), which is an operator: the same memory, with the same version counter.
  RecordedCall::Small source{argument, geometry, geometry.over(tensor.storage())};
  source.tensor.unsafeGetTensorImpl()->set_version_counter(tensor.unsafeGetTensorImpl()->version_counter());
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) source.tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  source.version = tensor.unsafeGetTensorImpl()->version_counter().current_version();
  if (!is_steady(*tensor.storage().unsafeGetStorageImpl())) source.copy();
  call.small.push_back(std::move(source));
}

const torch::autograd::generated::GeluBackward0* gelu_node(const at::Tensor& output) {
  return dynamic_cast<const torch::autograd::generated::GeluBackward0*>(torch::autograd::impl::grad_fn_unsafe(output));
}

// CUDA's native_dropout is input * mask * scale, in this order, in the accumulation type and rounded once, like
// native_dropout_backward with the input as gradient. The kernel computes the scale: it rounds the kept fraction to the
// accumulation type before the inversion. `record`: the call as it began. False: another kernel ran, or the result
// would have another memory layout.
bool make_from_mask(RecordedCall& record, const at::Tensor& output, const at::Tensor& mask) {
  if (record.arguments.size() != 3 || record.large.size() != 1 || !output.is_cuda() || !is_plain(mask) ||
      mask.scalar_type() != at::kBool) {
    return false;
  }
  const c10::IValue &rate = record.arguments[1], &train = record.arguments[2];
  if (!rate.isDouble() || !(train.isNone() || (train.isBool() && train.toBool()))) return false;
  const double kept = 1.0 - rate.toDouble();
  if (!(kept > 0 && kept <= 1) || record.large[0].geometry != Geometry(output) ||
      !output.is_contiguous(output.suggest_memory_format())) {
    return false;
  }
  const bool is_double = output.scalar_type() == at::kDouble;
  record.arguments = {c10::IValue(), c10::IValue(), c10::IValue(1.0 / (is_double ? kept : static_cast<float>(kept)))};
  read(record, 1, mask);
  return true;
}

recompute::Machine machine_of(const at::Tensor& tensor) {
  return tensor.is_cuda() ? recompute::Machine::gpu : recompute::Machine::cpu;
}

uint64_t cost_of(recompute::Product product, const at::RecordFunction& function) {
  constexpr size_t kTensors = 8;  // no product has more tensor arguments
  std::array<std::span<const int64_t>, kTensors> sizes;
  size_t count = 0;
  recompute::Factors factors;
  for (const c10::IValue& input : function.inputs()) {
    if (!input.isTensor() || !input.toTensor().defined()) continue;
    const at::Tensor& tensor = input.toTensor();
    if (count == 0) {
      factors.element_bytes = static_cast<uint32_t>(tensor.itemsize());
      factors.machine = machine_of(tensor);
    }
    const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
    if (!impl.has_storage() || impl.has_symbolic_sizes_strides() || count == kTensors) return 0;
    const auto of = impl.sizes_default();
    sizes[count++] = {of.data(), of.size()};
  }
  factors.sizes = std::span(sizes).first(count);
  return recompute::cost(product, factors);
}

// Autocast is about to cast the arguments: the call below it has those that count.
bool is_cast_first(const at::Tensor& argument) {
  const bool is_cuda = argument.is_cuda();
  return at::autocast::is_autocast_enabled(is_cuda ? c10::DeviceType::CUDA : c10::DeviceType::CPU) &&
         !c10::impl::tls_is_dispatch_key_excluded(is_cuda ? c10::DispatchKey::AutocastCUDA
                                                          : c10::DispatchKey::AutocastCPU);
}

}  // namespace

std::unique_ptr<RecordedCall> equal_to(std::shared_ptr<versions::Version> version, const Geometry& geometry) {
  auto call = std::make_unique<RecordedCall>();
  call->sources.push_back({std::move(version)});
  call->large.push_back({0, geometry});
  return call;
}

size_t least_source() { return std::min<size_t>(recompute::kSmall, settings().min_bytes); }

const RepeatableOperator* repeatable_operator(const at::RecordFunction& function) {
  std::string_view name = function.name();
  const bool is_in_place = name.ends_with('_');
  const recompute::Repeatable listed =
      settings().repeats_costly() ? recompute::repeatable(name) : recompute::cheap(name);
  if (!listed) return nullptr;
  const auto of = function.operator_name();
  if (!of || of->overload_name == "out" || of->overload_name.ends_with("_out")) return nullptr;
  static base::Mutex lock;
  static auto* known TAPELENS_PT_GUARDED_BY(lock) =
      new std::unordered_map<c10::OperatorName, std::unique_ptr<RepeatableOperator>>;
  const base::MutexLock guard(lock);
  std::unique_ptr<RepeatableOperator>& made = (*known)[*of];
  if (made != nullptr) return made.get();
  const bool is_dropout = name == "aten::native_dropout";
  const auto op = c10::Dispatcher::singleton().findSchema(
      is_dropout ? c10::OperatorName("aten::native_dropout_backward", "") : *of);
  if (!op) return nullptr;
  made.reset(new RepeatableOperator{listed, *op});
  made->is_in_place = is_in_place;
  made->copies = name == "aten::clone" || name == "aten::_to_copy";
  made->is_gelu = name == "aten::gelu";
  made->is_dropout = is_dropout;
  if (listed.product == recompute::Product::attention)
    made->dropout_rate = static_cast<size_t>(op->schema().argumentIndexWithName("dropout_p").value_or(0));
  made->drops_running_stats = name == "aten::native_batch_norm" || name == "aten::cudnn_batch_norm";
  return made.get();
}

Call begin_call(const RepeatableOperator& op, const at::RecordFunction& function) {
  Call call{&op, nullptr};
  // Results without a graph (optimizers, moving averages) have no node that saves them.
  if (!is_plain_moment() || !at::GradMode::is_enabled()) return call;
  // Below autograd, operators change tensors without incrementing version counters.
  if (c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::ADInplaceOrView)) return call;
  if (op.is_gelu) return call;
  const auto inputs = function.inputs();
  if (op.dropout_rate != 0 && op.dropout_rate < inputs.size() && inputs[op.dropout_rate].toDouble() > 0) return call;
  const auto is_large = [](const c10::IValue& input) {
    return input.isTensor() && is_plain(input.toTensor()) && input.toTensor().storage().nbytes() >= least_source() / 4;
  };
  const auto large = std::ranges::find_if(inputs, is_large);
  if (large == inputs.end() || (op.listed.is_costly && is_cast_first(large->toTensor()))) return call;
  auto record = std::make_unique<RecordedCall>();
  record->op = &op;
  record->state = numeric_state(op.listed.is_costly);
  record->machine = machine_of(large->toTensor());
  if (op.listed.product != recompute::Product::none) record->product_cost = cost_of(op.listed.product, function);
  record->arguments.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const c10::IValue& input = inputs[i];
    if (!input.isTensor()) {
      if (input.isTensorList() || input.isList()) {
        const auto list = input.toListRef();
        if (!list.empty() && list[0].isTensor()) return call;
      }
      record->arguments[i] = input;
      continue;
    }
    const at::Tensor& tensor = input.toTensor();
    if (!tensor.defined()) continue;
    if (!is_plain(tensor)) return call;
    read(*record, i, tensor);
  }
  constexpr size_t kRunningMean = 3, kRunningVariance = 4, kTraining = 5;
  if (op.drops_running_stats && record->arguments.size() > kTraining && record->arguments[kTraining].isBool() &&
      record->arguments[kTraining].toBool()) {
    record->forget({kRunningMean, kRunningVariance});
  }
  return {&op, std::move(record)};
}

void end_call(Call call, const at::RecordFunction& function, bool is_outermost) {
  const auto& outputs = function.outputs();
  if (outputs.empty() || !outputs[0].isTensor()) return;
  const at::Tensor& output = outputs[0].toTensor();
  if (!is_plain(output) || output.storage().nbytes() < settings().min_bytes || !is_whole(output)) return;
  if (is_outermost && !observe::is_in_backward()) {
    budget().ran(recompute::cost(call.op->listed, output.storage().nbytes(), machine_of(output)));
  }
  if (call.record == nullptr && !call.op->is_gelu) return;
  if (call.op->is_gelu) {
    const auto* node = gelu_node(output);
    const auto input = node != nullptr ? observe::raw_data(node->self_) : std::nullopt;
    if (!is_plain_moment() || !input || !is_plain(*input)) return;
    call.record = std::make_unique<RecordedCall>();
    call.record->op = call.op;
    call.record->state = numeric_state();
    call.record->machine = machine_of(output);
    call.record->arguments = {c10::IValue(), c10::IValue(node->approximate)};
    read(*call.record, 0, *input);
  }
  if (call.op->is_dropout &&
      (outputs.size() != 2 || !outputs[1].isTensor() || !make_from_mask(*call.record, output, outputs[1].toTensor()))) {
    return;
  }
  RecordedCall& record = *call.record;
  const auto* storage = output.storage().unsafeGetStorageImpl();
  if (call.op->is_in_place && record.reads_small(0)) return;
  for (size_t i = 0; i < record.sources.size(); ++i) {
    const bool is_target = call.op->is_in_place && record.large[i].argument == 0;
    if (!is_target && record.version(i).is_storage(storage)) return;  // a view of an input
  }
  if (record.sources.empty() || call.op->is_in_place) {
    new_version(output, std::move(call.record));
    return;
  }
  // A copy of an existing version, or an earlier result of the same call.
  const Geometry made(output);
  const std::shared_ptr<versions::Version> source = record.sources.front().version;
  const Geometry& was = record.large.front().geometry;
  if (call.op->copies && record.sources.size() == 1 && record.small.empty() && was == made &&
      was.storage_bytes == made.storage_bytes) {
    new_version(output, equal_to(source, made));
    return;
  }
  auto copy = autocast_copy(record, output);
  StorageVersionPtr version;
  if (auto before = source->made_before(record)) {
    version = new_version(output, equal_to(std::move(before), made));
  } else {
    const uint64_t key = record.key();
    version = new_version(output, std::move(call.record));
    source->made(version, key);
  }
  if (copy != nullptr) version->set_autocast_copy(std::move(copy));
}

namespace {

bool keeps_order(const c10::IValue& memory_format) {
  if (memory_format.isNone()) return true;
  const auto format = memory_format.toMemoryFormat();
  return format == at::MemoryFormat::Preserve || format == at::MemoryFormat::Contiguous;
}

// A call of aten::_to_copy whose result has the elements in the order of its contiguous source.
bool is_plain_cast(const RecordedCall& call) {
  static const std::string name = "aten::_to_copy";
  constexpr size_t kMemoryFormat = 6;
  if (!call.op->copies || call.large.size() != 1 || !call.small.empty() || call.op->op.schema().name() != name)
    return false;
  const Geometry& source = call.large.front().geometry;
  return call.arguments.size() == kMemoryFormat + 1 && keeps_order(call.arguments[kMemoryFormat]) &&
         at::IntArrayRef(source.strides) == at::IntArrayRef(c10::contiguous_strides(source.sizes));
}

}  // namespace

std::optional<CastSource> source_of_cast(StorageVersionPtr version) {
  std::optional<CastSource> found;
  constexpr int kEqualVersions = 4;  // one version may equal another
  for (int i = 0; i < kEqualVersions && version != nullptr && !found; ++i) {
    StorageVersionPtr equal;
    version->look_at_recipe([&](const versions::Rematerialization& recipe) {
      const auto& call = static_cast<const RecordedCall&>(recipe);
      if (call.sources.size() != 1) return;
      auto source = std::static_pointer_cast<StorageVersion>(call.sources.front().version);
      if (call.op == nullptr) {
        equal = std::move(source);
      } else if (is_plain_cast(call)) {
        found = CastSource{std::move(source), call.large.front().geometry};
      }
    });
    version = std::move(equal);
  }
  return found;
}

void count_product(recompute::Product product, const at::RecordFunction& function) {
  if (!observe::is_in_backward()) budget().ran(cost_of(product, function));
}

// ---- one call

void RecordedCall::Small::copy() {
  if (is_copied) return;
  TORCH_CHECK(tensor.storage().nbytes() == geometry.storage_bytes, "a source of ", geometry.storage_bytes,
              " bytes has ", tensor.storage().nbytes(), " by now");
  at::Tensor made = geometry.over(copy_of(tensor.storage()));
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) made.unsafeGetTensorImpl()->set_wrapped_number(true);
  tensor = std::move(made);
  is_copied = true;
}

const StorageVersion& RecordedCall::version(size_t source) const {
  return static_cast<const StorageVersion&>(*sources[source].version);
}

bool RecordedCall::reads_small(size_t argument) const {
  return std::ranges::find(small, argument, &Small::argument) != small.end();
}

void RecordedCall::forget(std::initializer_list<size_t> numbers) {
  const auto is_one = [&](size_t argument) { return std::ranges::find(numbers, argument) != numbers.end(); };
  std::erase_if(small, [&](const Small& source) { return is_one(source.argument); });
  for (size_t i = large.size(); i-- > 0;) {
    if (!is_one(large[i].argument)) continue;
    large.erase(large.begin() + static_cast<std::ptrdiff_t>(i));
    sources.erase(sources.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

bool RecordedCall::is_same(const versions::Rematerialization& other) const {
  const auto& call = static_cast<const RecordedCall&>(other);
  const auto is_same_large = [](const Large& a, const Large& b) {
    return a.argument == b.argument && a.geometry == b.geometry;
  };
  const auto is_same_small = [](const Small& a, const Small& b) {
    return a.argument == b.argument && a.geometry == b.geometry && a.tensor.is_alias_of(b.tensor) &&
           a.version == b.version;
  };
  return op == call.op && state == call.state && std::ranges::equal(large, call.large, is_same_large) &&
         std::ranges::equal(small, call.small, is_same_small) && std::ranges::equal(arguments, call.arguments);
}

uint64_t RecordedCall::key() const {
  const auto number_of = [](const void* object) { return reinterpret_cast<uintptr_t>(object); };
  uint64_t key = recompute::mixed(state.hash(), number_of(op));
  for (const Source& source : sources) key = recompute::mixed(key, number_of(source.version.get()));
  for (const Small& source : small)
    key = recompute::mixed(key, number_of(source.tensor.storage().unsafeGetStorageImpl()));
  for (const Large& source : large) {
    for (const int64_t stride : source.geometry.strides) key = recompute::mixed(key, static_cast<uint64_t>(stride));
    key = recompute::mixed(key, source.argument + static_cast<uint64_t>(source.geometry.offset));
  }
  return key;
}

bool RecordedCall::has_small_sources() const {
  return std::ranges::all_of(small, [](const Small& source) {
    return source.is_copied ||
           (source.tensor.unsafeGetTensorImpl()->version_counter().current_version() == source.version &&
            source.tensor.storage().nbytes() == source.geometry.storage_bytes &&
            is_steady(*source.tensor.storage().unsafeGetStorageImpl()));
  });
}

uint64_t RecordedCall::pin_small_sources() {
  uint64_t copied = 0;
  for (Small& source : small) {
    if (!source.is_copied) copied += source.geometry.storage_bytes;
    source.copy();
  }
  return copied;
}

versions::ValuesPtr RecordedCall::run(std::vector<Input> inputs) {
  const Quiet quiet;
  const Alone alone;
  const WithNumericState its(state);
  torch::jit::Stack stack(arguments.begin(), arguments.end());
  for (const Small& source : small) stack[source.argument] = source.tensor;
  for (size_t i = 0; i < inputs.size(); ++i) {
    c10::Storage storage = storage_here(inputs[i].values);
    if (op->is_in_place && large[i].argument == 0 && !inputs[i].is_ours) storage = copy_of(storage);
    stack[large[i].argument] = large[i].geometry.over(std::move(storage));
  }
  if (op->is_gelu) {
    return std::make_shared<StorageValues>(at::gelu(stack[0].toTensor(), stack[1].toStringRef()).storage());
  }
  op->op.callBoxed(stack);
  return std::make_shared<StorageValues>(stack[0].toTensor().storage());
}

versions::SharedBudget& budget() {
  static auto* made = new versions::SharedBudget(settings().recompute_budget());
  return *made;
}

versions::Trials& trials() {
  static auto* made = new versions::Trials;
  return *made;
}

}  // namespace tapelens::rewrite
