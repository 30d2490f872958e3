// The loss of a classifier, log_softmax and nll_loss, by chunks of rows.
#pragma once

#include <cstdint>

#include "policy/catalog.h"

namespace tapelens::plugins::loss_rows {

inline constexpr policy::RewriteInfo kRewrite{
    .id = "loss-rows", .level = policy::Level::recomputed, .title = "compute a cross entropy by chunks of rows"};

// A matrix of a cross entropy. `threads`: of LibTorch on a CPU; 0: on a GPU.
struct MatrixSize {
  int64_t rows = 0, columns = 0;
  int threads = 0;
};
// The rows of a chunk: a multiple of 16, so that the first row of each chunk has the alignment of the first row of the
// matrix, on which kernels depend.
int64_t rows_at_once(const MatrixSize& matrix);
// Whether chunks are much smaller than the matrix.
bool is_worth_it(const MatrixSize& matrix);

}  // namespace tapelens::plugins::loss_rows
