// Operators whose result sizes depend on values.
#pragma once

namespace tapelens::simulated {

// Installs kernels in front of CUDA's; see data_dependent.cpp.
void replace_data_dependent();

}  // namespace tapelens::simulated
