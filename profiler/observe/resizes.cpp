// Observes changes of storages outside of operators: a storage gets other memory, a variable gets another storage, or
// another library gets an address. FSDP frees and refills its unsharded parameters this way; programs write `x.data =
// y`.
#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>

#include "profiler/observe/hooks.h"
#include "profiler/observe/observe.h"

namespace tapelens::observe {
namespace {

using ResizeFunction = void (*)(c10::StorageImpl*, size_t);
ResizeFunction g_resize_bytes, g_resize_bytes_cuda;
void resize_bytes(c10::StorageImpl* storage, size_t bytes) {
  const bool is_followed = mode() != Mode::off && storage != nullptr;
  const bool is_rewritten = is_followed && g_rewrites;
  if (is_rewritten) rewrite::begin_resize(*storage);
  g_resize_bytes(storage, bytes);
  if (is_rewritten) rewrite::end_resize(*storage);
  if (is_followed && is_recording()) run_guarded([&] { record::storage_resized(this_thread(), *storage); });
}

void resize_bytes_cuda(c10::StorageImpl* storage, size_t bytes) {
  g_resize_bytes_cuda(storage, bytes);
  if (is_recording() && storage != nullptr) run_guarded([&] { record::storage_resized(this_thread(), *storage); });
}

using SetDataFunction = void (*)(const at::TensorBase*, const at::TensorBase&);
SetDataFunction g_set_data;
void set_data(const at::TensorBase* variable, const at::TensorBase& data) {
  if (mode() != Mode::off && g_rewrites) rewrite::begin_variable_change(at::Tensor(*variable));
  g_set_data(variable, data);
}

void address_leaves(const at::Tensor& tensor) {
  if (mode() != Mode::off && tensor.defined()) rewrite::address_leaves(tensor);
}

using ToNumpyFunction = void* (*)(const at::Tensor&, bool);
ToNumpyFunction g_to_numpy;
void* to_numpy(const at::Tensor& tensor, bool is_forced) {
  address_leaves(tensor);
  return g_to_numpy(tensor, is_forced);
}

using ToDlpackFunction = void* (*)(const at::Tensor&);
ToDlpackFunction g_to_dlpack, g_to_dlpack_versioned;
void* to_dlpack(const at::Tensor& tensor) {
  address_leaves(tensor);
  return g_to_dlpack(tensor);
}
void* to_dlpack_versioned(const at::Tensor& tensor) {
  address_leaves(tensor);
  return g_to_dlpack_versioned(tensor);
}

// Since 2.15 LibTorch itself reports every request for an address.
void watch_addresses() {
  if (!g_rewrites || rewrite::sees_addresses()) return;
  g_to_numpy = real<ToNumpyFunction>(TAPELENS_to_numpy);
  if (g_to_numpy != nullptr) g_inject->replace(TAPELENS_to_numpy, reinterpret_cast<void*>(&to_numpy));
  g_to_dlpack = real<ToDlpackFunction>(TAPELENS_to_dlpack);
  if (g_to_dlpack != nullptr) g_inject->replace(TAPELENS_to_dlpack, reinterpret_cast<void*>(&to_dlpack));
  g_to_dlpack_versioned = real<ToDlpackFunction>(TAPELENS_to_dlpack_versioned);
  if (g_to_dlpack_versioned != nullptr)
    g_inject->replace(TAPELENS_to_dlpack_versioned, reinterpret_cast<void*>(&to_dlpack_versioned));
}

}  // namespace

void watch_resizes() {
  watch_addresses();
  g_set_data = real<SetDataFunction>(TAPELENS_set_data);
  if (g_set_data != nullptr) g_inject->replace(TAPELENS_set_data, reinterpret_cast<void*>(&set_data));
  g_resize_bytes = real<ResizeFunction>(TAPELENS_resize_bytes_cpu);
  if (g_resize_bytes != nullptr) g_inject->replace(TAPELENS_resize_bytes_cpu, reinterpret_cast<void*>(&resize_bytes));
  g_resize_bytes_cuda = real<ResizeFunction>(TAPELENS_resize_bytes_cuda);
  if (g_resize_bytes_cuda != nullptr)
    g_inject->replace(TAPELENS_resize_bytes_cuda, reinterpret_cast<void*>(&resize_bytes_cuda));
}

}  // namespace tapelens::observe
