// Storages that are given other memory, which is no operator: FSDP frees and refills its unsharded parameters so.
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

}  // namespace

void watch_resizes() {
  g_resize_bytes = real<ResizeFunction>(TAPELENS_resize_bytes_cpu);
  if (g_resize_bytes != nullptr) g_inject->replace(TAPELENS_resize_bytes_cpu, reinterpret_cast<void*>(&resize_bytes));
  g_resize_bytes_cuda = real<ResizeFunction>(TAPELENS_resize_bytes_cuda);
  if (g_resize_bytes_cuda != nullptr)
    g_inject->replace(TAPELENS_resize_bytes_cuda, reinterpret_cast<void*>(&resize_bytes_cuda));
}

}  // namespace tapelens::observe
