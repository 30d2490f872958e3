// Remedies in the words of a program's framework: the text that the user types there.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/model/text.h"
#include "analyzer/peak/in_use.h"

namespace tapelens::check {

enum class Remedy : uint8_t {
  micro_batch,
  autocast,
  checkpointing,
  half_weights,
  sharding,
  compact_optimizer,
  fused_optimizer,
  bucket_views,        // DDP's gradient_as_bucket_view
  sharded_gradients,   // reduced in each micro-batch
  evaluation_outputs,  // the outputs of a whole evaluation, collected on the device
  fused_loss,
  fused_attention,
};

// Empty: no framework in use has a phrase for it.
std::string in_framework(const peak::InUse& in_use, Remedy remedy);

// Whether a frame of the stack belongs to the models of transformers or diffusers, so that their switch reaches what
// runs there.
bool is_of_library_model(const model::Text& text, model::StackId stack);

}  // namespace tapelens::check
