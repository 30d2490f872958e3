#include "analyzer/check/frameworks.h"

#include <algorithm>
#include <string_view>

namespace tapelens::check {
namespace {

using peak::Framework;

struct Phrase {
  Framework framework;
  Remedy remedy;
  std::string_view text;
};

// Arguments of transformers' Trainer, whose classes TRL derives its trainers from.
constexpr Phrase kTrainer[] = {
    {Framework::transformers_trainer, Remedy::micro_batch,
     "per_device_train_batch_size=N, gradient_accumulation_steps=M"},
    {Framework::transformers_trainer, Remedy::autocast, "bf16=True"},
    {Framework::transformers_trainer, Remedy::checkpointing, "gradient_checkpointing=True"},
    {Framework::transformers_trainer, Remedy::compact_optimizer, "optim=\"adamw_bnb_8bit\""},
    {Framework::transformers_trainer, Remedy::fused_optimizer, "optim=\"adamw_torch_fused\""},
    {Framework::transformers_trainer, Remedy::fused_loss, "use_liger_kernel=True"},
    {Framework::transformers_trainer, Remedy::evaluation_outputs, "eval_accumulation_steps=N"},
};

// The first phrase whose framework is in use counts. Frameworks of the training loop come before those of the model.
constexpr Phrase kOthers[] = {
    {Framework::lightning, Remedy::micro_batch, "a smaller batch with Trainer(accumulate_grad_batches=N)"},
    {Framework::lightning, Remedy::autocast, "Trainer(precision=\"bf16-mixed\")"},
    {Framework::lightning, Remedy::half_weights, "Trainer(precision=\"bf16-true\")"},
    {Framework::lightning, Remedy::sharding, "Trainer(strategy=\"fsdp\")"},
    {Framework::lightning, Remedy::bucket_views, "Trainer(strategy=DDPStrategy(gradient_as_bucket_view=True))"},
    {Framework::diffusers, Remedy::checkpointing, "model.enable_gradient_checkpointing()"},
    {Framework::accelerate, Remedy::micro_batch, "a smaller batch with Accelerator(gradient_accumulation_steps=N)"},
    {Framework::accelerate, Remedy::autocast, "Accelerator(mixed_precision=\"bf16\")"},
    {Framework::accelerate, Remedy::bucket_views,
     "Accelerator(kwargs_handlers=[DistributedDataParallelKwargs(gradient_as_bucket_view=True)])"},
    {Framework::accelerate, Remedy::sharded_gradients,
     "Accelerator(gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=N, sync_each_batch=True))"},
    {Framework::transformers_model, Remedy::checkpointing, "model.gradient_checkpointing_enable()"},
    {Framework::transformers_model, Remedy::half_weights, "from_pretrained(..., dtype=torch.bfloat16)"},
    {Framework::transformers_model, Remedy::fused_attention, "from_pretrained(..., attn_implementation=\"sdpa\")"},
};

std::string of_trainer(const peak::InUse& in_use, Remedy remedy) {
  const bool is_trl = in_use.has(Framework::trl);
  if (!is_trl && !in_use.has(Framework::transformers_trainer)) return "";
  // Another model than transformers' own need not have these switches.
  const bool is_of_model = remedy == Remedy::checkpointing || remedy == Remedy::fused_loss;
  if (is_of_model && !in_use.has(Framework::transformers_model)) return "";
  const auto* const phrase = std::ranges::find(kTrainer, remedy, &Phrase::remedy);
  if (phrase == std::end(kTrainer)) return "";
  const std::string text(phrase->text);
  return is_trl ? text + " in the trainer's config (SFTConfig, DPOConfig)" : "TrainingArguments(" + text + ")";
}

}  // namespace

std::string in_framework(const peak::InUse& in_use, Remedy remedy) {
  if (std::string text = of_trainer(in_use, remedy); !text.empty()) return text;
  const bool has_trainer = in_use.has(Framework::transformers_trainer) || in_use.has(Framework::trl);
  for (const Phrase& phrase : kOthers) {
    // The Trainer makes its Accelerator itself.
    if (phrase.framework == Framework::accelerate && has_trainer) continue;
    if (phrase.remedy == remedy && in_use.has(phrase.framework)) return std::string(phrase.text);
  }
  return "";
}

bool is_of_library_model(const model::Text& text, model::StackId stack) {
  return std::ranges::any_of(text.stack(stack), [&](model::FrameId frame) {
    const std::string_view file = text.string(text.frame_file[frame]);
    return peak::is_file_of(file, Framework::transformers_model) || peak::is_file_of(file, Framework::diffusers);
  });
}

}  // namespace tapelens::check
