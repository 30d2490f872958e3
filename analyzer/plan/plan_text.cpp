#include "analyzer/plan/plan_text.h"

#include "analyzer/text/format.h"
#include "policy/catalog.h"

namespace tapelens::plan {

using experiment::Outcome;
using text::bytes_text;

std::string options_of(const Choice& choice) {
  if (choice.level.empty()) return "";
  return "--apply " + choice.level +
         (choice.budget != 0 ? " --recompute-budget " + std::to_string(choice.budget) + "%" : std::string()) +
         (choice.offloads ? " --allow " + std::string(policy::kOffload) : std::string()) +
         (choice.host_memory ? " --host-memory " + std::to_string(*choice.host_memory) : std::string());
}

std::string name_of(const Choice& choice) {
  if (choice.level.empty()) return "as it is";
  return choice.level + (choice.budget != 0 ? " " + std::to_string(choice.budget) + "%" : std::string()) +
         (choice.offloads ? " and offload" : "");
}

std::string outcome_text(const Tried& tried, Bytes size) {
  switch (tried.outcome) {
    case Outcome::measured:
      return "needs " + bytes_text(tried.bytes) + (tried.measured.uses_gpu ? " reserved" : "");
    case Outcome::out_of_memory:
      return "needs more than " + bytes_text(size);
    case Outcome::failed:
    case Outcome::cut_off:
      break;
  }
  return experiment::outcome_name(tried.outcome);
}

namespace {

// The run had room: an allocator that finds its GPU full frees cached memory, down to the tensors.
std::string less_text(const Tried& tried) {
  const Bytes tensors = tried.measured.allocated;
  const bool has_cache = tried.measured.uses_gpu && tensors.value > 0 && tensors.value < tried.bytes.value / 100 * 99;
  return has_cache ? " (a full GPU may need less, but at least " + bytes_text(tensors) + ")" : "";
}

}  // namespace

std::string plan_text(const Plan& plan) {
  const Tried& stock = plan.tried.front();
  if (plan.chosen) {
    const Tried& chosen = plan.tried[*plan.chosen];
    const std::string how = chosen.choice.level.empty() ? "without rewrites" : "with " + options_of(chosen.choice);
    std::string text = "fits in " + bytes_text(plan.size) + " " + how + ": it " + outcome_text(chosen, plan.size);
    if (!chosen.choice.level.empty()) text += "; as it is, it " + outcome_text(stock, plan.size);
    return text;
  }
  if (plan.stop == Stop::failed)
    return "no plan, because the run without rewrites failed: " + experiment::why_text(stock);
  std::string text = "does not fit in " + bytes_text(plan.size);
  if (const Tried* least = plan.least(); least != nullptr) {
    text += ": the least is " + bytes_text(least->bytes) + less_text(*least) +
            (least->choice.level.empty() ? ", without rewrites" : ", with " + options_of(least->choice));
    if (least->measured.state.value > 0) {
      text += "; parameters, gradients and optimizer state are " + bytes_text(least->measured.state) + " of it";
    }
  } else {
    text += " with any rewrite that keeps the bits";
  }
  return text;
}

}  // namespace tapelens::plan
