#include "plugins/loss-rows/rewrite_lazy_tensor.h"

#include <ATen/InferSize.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

namespace tapelens::rewrite::loss_rows {
namespace {

// LibTorch reserves this key, which precedes autograd and autocast, for a library that is not developed any more.
constexpr c10::DispatchKey kKey = c10::DispatchKey::DeferredInit;

c10::Storage no_memory(c10::Device device) {
  c10::Storage made(c10::Storage::use_byte_size_t(), 0, c10::DataPtr(nullptr, device), nullptr, false);
  // Code that takes the address without an operator gets an error instead of a null pointer.
  made.unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(
      "Tapelens (loss-rows): this tensor of a cross entropy has no memory. Run the program without that rewrite to "
      "take "
      "its address.");
  return made;
}

class LazyTensor final : public c10::TensorImpl {
 public:
  LazyTensor(RowsPtr rows, at::IntArrayRef sizes)
      : TensorImpl(no_memory(rows->shape().device),
                   c10::DispatchKeySet(rows->shape().device.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU),
                   c10::scalarTypeToTypeMeta(rows->shape().dtype)),
        rows_(std::move(rows)) {
    key_set_ = key_set_.add(kKey);
    set_sizes_contiguous(sizes);
  }

  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(const c10::VariableVersion& version_counter,
                                                         bool allow_tensor_metadata_change) const override {
    return copied(version_counter, allow_tensor_metadata_change);
  }
  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(c10::VariableVersion&& version_counter,
                                                         bool allow_tensor_metadata_change) const override {
    return copied(std::move(version_counter), allow_tensor_metadata_change);
  }

  const RowsPtr& rows() const { return rows_; }
  void make_ordinary() {
    if (rows_ == nullptr) return;
    const at::Tensor made = computed(*rows_);
    storage_ = made.storage();
    key_set_ = key_set_.remove(kKey);
    rows_.reset();
  }

 private:
  template <class VersionCounter>
  c10::intrusive_ptr<TensorImpl> copied(VersionCounter&& version_counter, bool allow_tensor_metadata_change) const {
    if (rows_ == nullptr) {
      return TensorImpl::shallow_copy_and_detach(std::forward<VersionCounter>(version_counter),
                                                 allow_tensor_metadata_change);
    }
    auto made = c10::make_intrusive<LazyTensor>(rows_, sizes());
    copy_tensor_metadata(this, made.get(), std::forward<VersionCounter>(version_counter), allow_tensor_metadata_change);
    made->refresh_numel();
    made->refresh_contiguous();
    return made;
  }

  RowsPtr rows_;  // null: ordinary
};

// Null if it is an ordinary tensor.
LazyTensor* lazy_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.unsafeGetTensorImpl()->key_set().has(kKey)) return nullptr;
  return static_cast<LazyTensor*>(tensor.unsafeGetTensorImpl());
}

void make_ordinary(const c10::IValue& argument) {
  if (argument.isTensor()) {
    loss_rows::make_ordinary(argument.toTensor());
  } else if (argument.isList()) {
    for (const c10::IValue& element : argument.toListRef()) make_ordinary(element);
  }
}

// Operators that return a tensor of the same rows without a graph. LibTorch detaches what it passes to a hook of a
// saved tensor; the gradient of a view is reshaped. Empty: it is another operator.
std::optional<at::DimVector> sizes_of_view(std::string_view name, at::ArrayRef<c10::IValue> arguments) {
  if (at::GradMode::is_enabled() || arguments.empty() || !arguments[0].isTensor()) return std::nullopt;
  const LazyTensor* lazy = lazy_of(arguments[0].toTensor());
  if (lazy == nullptr) return std::nullopt;
  if (name == "aten::detach") return at::DimVector(lazy->sizes());
  if (name == "aten::reshape" && arguments[1].isIntList())
    return at::infer_size_dv(arguments[1].toDimVector(), lazy->numel());
  return std::nullopt;
}

// Operators of a cross entropy and of its backward, and those that they consist of. rewrite.cpp has kernels for them
// below autograd.
constexpr std::string_view kTakeRows[] = {
    "aten::nll_loss_nd", "aten::nll_loss", "aten::nll_loss_forward",          "aten::nll_loss_backward",
    "aten::to",          "aten::_to_copy", "aten::_log_softmax_backward_data"};

bool takes_rows(std::string_view name) {
  return std::ranges::find(kTakeRows, name) != std::end(kTakeRows) &&
         !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::ADInplaceOrView);
}

void on_lazy_tensors(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const auto arguments = torch::jit::last(*stack, op.schema().arguments().size());
  const std::string_view name = op.schema().name();
  if (const auto sizes = sizes_of_view(name, arguments)) {
    const at::Tensor view = lazy(rows_of(arguments[0].toTensor()), *sizes);
    torch::jit::drop(*stack, op.schema().arguments().size());
    stack->emplace_back(view);
    return;
  }
  if (!takes_rows(name)) {
    for (const c10::IValue& argument : arguments) make_ordinary(argument);
  }
  op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey), stack);
}

}  // namespace

bool install_lazy_tensors() {
  if (c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(kKey)) return false;
  // Never destroyed: its kernel may be called until the process ends.
  auto& library = *new torch::Library(torch::Library::IMPL, "_", kKey, __FILE__, __LINE__);
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&on_lazy_tensors>());
  return true;
}

at::Tensor lazy(RowsPtr rows, at::IntArrayRef sizes) {
  return at::Tensor(c10::make_intrusive<LazyTensor>(std::move(rows), sizes));
}
at::Tensor lazy(RowsPtr rows) {
  const at::DimVector sizes{rows->shape().rows, rows->shape().columns};
  return lazy(std::move(rows), sizes);
}

RowsPtr rows_of(const at::Tensor& tensor) {
  const LazyTensor* found = lazy_of(tensor);
  return found != nullptr ? found->rows() : nullptr;
}

void make_ordinary(const at::Tensor& tensor) {
  if (LazyTensor* found = lazy_of(tensor)) found->make_ordinary();
}

}  // namespace tapelens::rewrite::loss_rows
