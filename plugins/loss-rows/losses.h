// The cross entropies of a recording that the rewrite loss-rows computes by chunks of rows.
#pragma once

#include <vector>

#include "analyzer/check/check.h"
#include "plugins/loss-rows/rule.h"

namespace tapelens::check {

// One cross entropy with a backward.
struct LossByRows {
  OperatorId op;                            // aten::cross_entropy_loss
  SaveId input, result;                     // NllLossBackward0.self, LogSoftmaxBackward0.result
  AllocationId kept;                        // the logits, or the source of the cast that made them
  std::vector<AllocationId> never_made;     // matrices
  AllocationId gradient;                    // of `kept`
  Time backward_begins, gradient_is_there;  // begin and end of the evaluations that make it
  plugins::loss_rows::MatrixSize size;
};

// Those that the applied rewrites take, in the order of their nodes. Requires Context::applied.
std::vector<LossByRows> losses_by_rows(const Context& context);

}  // namespace tapelens::check
