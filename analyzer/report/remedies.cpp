#include <algorithm>
#include <vector>

#include "analyzer/check/frameworks.h"
#include "analyzer/model/words.h"
#include "analyzer/report/advice_text.h"

namespace tapelens::report {
namespace {

using check::Remedy;
using peak::InUse;
using peak::Technique;

class Alternatives {
 public:
  explicit Alternatives(const InUse& in_use) : in_use_(in_use) {}

  // In the words of the program's framework, if that has some.
  Alternatives& add(Remedy remedy, const std::string& text) {
    const std::string phrase = check::in_framework(in_use_, remedy);
    return add(phrase.empty() ? text : phrase);
  }
  Alternatives& add(std::string text) {
    all_.push_back(std::move(text));
    return *this;
  }
  template <class... Args>
  Alternatives& unless(bool is_in_use, Args... args) {
    return is_in_use ? *this : add(args...);
  }

  // "try A", "try A, or B", "try A, B, or C"; empty without alternatives.
  std::string text() const {
    std::string text;
    for (size_t i = 0; i < all_.size(); ++i) {
      text += (i == 0 ? "try " : i + 1 == all_.size() ? ", or " : ", ") + all_[i];
    }
    return text;
  }

 private:
  const InUse& in_use_;
  std::vector<std::string> all_;
};

std::string of_operator(const std::string& name, const InUse& in_use) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  Alternatives remedies(in_use);
  if (has("conv")) {
    const std::string text = remedies.unless(in_use.has(Technique::channels_last), "channels_last")
                                 .add("a smaller patch")
                                 .add(Remedy::micro_batch, "a smaller micro-batch")
                                 .text();
    return "workspace of a convolution: " + text;
  }
  if (has("log_softmax") || has("cross_entropy") || has("nll")) {
    return remedies.add("the loss in chunks of rows").add("a fused one").text();
  }
  return remedies.add(Remedy::micro_batch, "a smaller micro-batch").add("the operator on parts of its input").text();
}

std::string of_communication(const InUse& in_use) {
  const bool has_ddp = in_use.has(Technique::data_parallel), has_sharding = in_use.has(Technique::sharding);
  Alternatives remedies(in_use);
  if (has_ddp || !has_sharding) remedies.add("smaller buckets (bucket_cap_mb, gradient_as_bucket_view)");
  if (has_sharding || !has_ddp) remedies.add("more and smaller units of FSDP2");
  return remedies.text();
}

}  // namespace

std::string remedy_text(const advise::Remaining& left, const InUse& in_use) {
  using peak::HolderKind;
  const bool is_half = in_use.has(Technique::half_weights), is_sharded = in_use.has(Technique::sharding);
  Alternatives remedies(in_use);
  switch (left.kind) {
    case HolderKind::save:
      if (model::names_compiled(left.largest)) {
        return "saved by a compiled function: tapelens budget measures lower activation memory budgets";
      }
      return remedies.add(Remedy::micro_batch, "a smaller micro-batch")
          .unless(is_half || in_use.has(Technique::autocast), Remedy::autocast, "autocast to bfloat16")
          .unless(in_use.has(Technique::checkpointing), Remedy::checkpointing, "activation checkpointing")
          .text();
    case HolderKind::op:
      return of_operator(left.largest, in_use);
    case HolderKind::parameter:
    case HolderKind::buffer:
      return remedies.unless(is_half, Remedy::half_weights, "bfloat16 weights")
          .unless(is_sharded, Remedy::sharding, "sharding (FSDP2)")
          .unless(in_use.has(Technique::adapters), "adapters (LoRA)")
          .text();
    case HolderKind::gradient:
      return remedies.unless(is_half, "gradients in bfloat16")
          .unless(is_sharded, Remedy::sharding, "sharding (FSDP2)")
          .unless(in_use.has(Technique::step_in_backward), "optimizer steps inside the backward")
          .text();
    case HolderKind::optimizer_state:
      return remedies
          .unless(in_use.has(Technique::compact_optimizer), Remedy::compact_optimizer,
                  "an optimizer with 8-bit or factored state")
          .unless(is_sharded, Remedy::sharding, "sharding (FSDP2)")
          .text();
    case HolderKind::program:
      return "a variable of the program keeps it alive" + left.hint;
    case HolderKind::packed:
      return "try hooks that pack into less, or onto another device";
    case HolderKind::checkpointing:
      return "try a policy that keeps fewer results";
    case HolderKind::context:
      return "pass tensors to ctx.save_for_backward instead of keeping them on ctx";
    case HolderKind::communication:
      return of_communication(in_use);
    case HolderKind::recomputed:
    case HolderKind::allocator:
    case HolderKind::unknown:
      break;
  }
  return "";
}

}  // namespace tapelens::report
