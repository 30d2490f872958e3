// The loss of a classifier, log_softmax and nll_loss, by chunks of rows.
#pragma once

#include "policy/catalog.h"

namespace tapelens::plugins::loss_rows {

inline constexpr policy::RewriteInfo kRewrite{
    .id = "loss-rows", .level = policy::Level::recomputed, .title = "compute a cross entropy by chunks of rows"};

}  // namespace tapelens::plugins::loss_rows
