#include "profiler/fake_kernels/device.h"

#include <dlfcn.h>

namespace tapelens::fake_kernels {

const simulated::KnownTable* g_device = nullptr;

const simulated::KnownTable* find_device() {
  const auto* table = static_cast<const simulated::KnownTable*>(dlsym(RTLD_DEFAULT, simulated::kKnownTable));
  return table != nullptr && table->version == simulated::kKnownVersion ? table : nullptr;
}

}  // namespace tapelens::fake_kernels
