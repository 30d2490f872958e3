// Operators whose results have as many elements as values say.
#pragma once

namespace tapelens::simulated {

// Puts kernels of our own before those of CUDA; see the file.
void replace_data_dependent();

}  // namespace tapelens::simulated
