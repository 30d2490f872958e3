// Storages that are given other memory, and variables that are given other storages: neither is an operator. FSDP frees
// and refills its unsharded parameters so; programs write `x.data = y`.
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
  if (is_followed && is_recording()) undisturbed([&] { record::storage_resized(this_thread(), *storage); });
}

void resize_bytes_cuda(c10::StorageImpl* storage, size_t bytes) {
  g_resize_bytes_cuda(storage, bytes);
  if (is_recording() && storage != nullptr) undisturbed([&] { record::storage_resized(this_thread(), *storage); });
}

using SetDataFunction = void (*)(const at::TensorBase*, const at::TensorBase&);
SetDataFunction g_set_data;
void set_data(const at::TensorBase* variable, const at::TensorBase& data) {
  if (mode() != Mode::off && g_rewrites) rewrite::begin_variable_change(at::Tensor(*variable));
  g_set_data(variable, data);
}

}  // namespace

void watch_resizes() {
  g_set_data = real<SetDataFunction>(TAPELENS_set_data);
  if (g_set_data != nullptr) g_inject->replace(TAPELENS_set_data, reinterpret_cast<void*>(&set_data));
  g_resize_bytes = real<ResizeFunction>(TAPELENS_resize_bytes_cpu);
  if (g_resize_bytes != nullptr) g_inject->replace(TAPELENS_resize_bytes_cpu, reinterpret_cast<void*>(&resize_bytes));
  g_resize_bytes_cuda = real<ResizeFunction>(TAPELENS_resize_bytes_cuda);
  if (g_resize_bytes_cuda != nullptr)
    g_inject->replace(TAPELENS_resize_bytes_cuda, reinterpret_cast<void*>(&resize_bytes_cuda));
}

}  // namespace tapelens::observe
