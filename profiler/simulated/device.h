// What the library of the simulated GPU is asked: which of its bytes are known.
#pragma once

#include <cstddef>

#include "simulated/known/known.h"

namespace tapelens::simulated {

// Null: it is not there, or of another installation.
const KnownTable* find_device();

// Settled before the first hook.
extern const KnownTable* g_device;

}  // namespace tapelens::simulated
