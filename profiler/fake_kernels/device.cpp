#include "profiler/fake_kernels/device.h"

#include <dlfcn.h>

namespace tapelens::fake_kernels {

const KnownTable* g_device = nullptr;

const KnownTable* find_device() {
  const auto* table = static_cast<const KnownTable*>(dlsym(RTLD_DEFAULT, kKnownTable));
  return table != nullptr && table->version == kKnownVersion ? table : nullptr;
}

}  // namespace tapelens::fake_kernels
