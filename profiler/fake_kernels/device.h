// The interface to the simulated GPU's library: which of its bytes are known.
#pragma once

#include <cstddef>

#include "simulated/known/known.h"

namespace tapelens::fake_kernels {

// Null if it is not loaded, or from another installation.
const simulated::KnownTable* find_device();

// Set before the first hook.
extern const simulated::KnownTable* g_device;

}  // namespace tapelens::fake_kernels
