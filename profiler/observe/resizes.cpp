// Storages that are given other memory, which is no operator: FSDP frees and refills its unsharded parameters so.
#include <c10/core/StorageImpl.h>

#include "profiler/observe/hooks.h"
#include "profiler/observe/observe.h"

namespace tapelens::observe {
namespace {

using ResizeFunction = void (*)(c10::StorageImpl*, size_t);
ResizeFunction g_resize_bytes;
void resize_bytes(c10::StorageImpl* storage, size_t bytes) {
  const bool is_followed = mode() != Mode::off && storage != nullptr;
  if (is_followed) rewrite::begin_resize(*storage);
  g_resize_bytes(storage, bytes);
  if (is_followed) rewrite::end_resize(*storage);
}

}  // namespace

void watch_resizes() {
  g_resize_bytes = real<ResizeFunction>(TAPELENS_resize_bytes_cpu);
  if (g_resize_bytes != nullptr) g_inject->replace(TAPELENS_resize_bytes_cpu, reinterpret_cast<void*>(&resize_bytes));
}

}  // namespace tapelens::observe
