// Operators whose result sizes depend on values.
#pragma once

namespace tapelens::fake_kernels {

// Installs kernels in front of CUDA's; see data_dependent.cpp.
void replace_data_dependent();

}  // namespace tapelens::fake_kernels
