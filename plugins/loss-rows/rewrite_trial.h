// Whether a loss by rows has the bits of LibTorch's own, tried on the first rows of a loss of the program.
#pragma once

#include "plugins/loss-rows/rewrite_rows.h"

namespace tapelens::rewrite::loss_rows {

// A cross entropy without weights: log_softmax of the logits, a cast of its result, nll_loss.
struct Loss {
  at::Tensor original;  // the logits, while the loss is computed
  RowsPtr logits;       // the same
  NumericState state;   // of log_softmax
  at::ScalarType cast = at::kFloat;
  at::Tensor target;
  int64_t reduction = 0, ignore_index = 0;

  RowsPtr log_probabilities() const { return log_softmax(logits, state); }
  RowsPtr input_of_nll_loss() const {
    RowsPtr made = log_probabilities();
    return cast == made->shape().dtype ? made : loss_rows::cast(std::move(made), cast);
  }
};

// The first loss of each kind and size is computed in both ways, for some of its rows and for the sum over all. Waits
// for the device then. `values`: values_of_targets().
bool is_right(const Loss& loss, const at::Tensor& values);

}  // namespace tapelens::rewrite::loss_rows
