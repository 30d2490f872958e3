#include "analyzer/plan/plan_json.h"

#include "analyzer/text/json.h"
#include "policy/plan.h"

namespace tapelens::plan {
namespace {

using text::Json;

Json optional(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

std::string plan_json(const Plan& plan, const std::string& command, const std::string& gpu) {
  const Tried &chosen = plan.tried[*plan.chosen], &stock = plan.tried.front();
  const bool is_stock_known = stock.outcome == experiment::Outcome::measured;
  const policy::RewriteSettings settings = settings_of(chosen.choice);
  return text::dumped({{"tapelens_plan", policy::kPlanVersion},
                       {"torch", chosen.measured.torch_version},
                       {"command", command},
                       {"sites", Json::array()},
                       {"level", optional(settings.level)},
                       {"recompute_budget", settings.budget ? Json(*settings.budget) : Json(nullptr)},
                       {"allow", Json(settings.allowed)},
                       {"host_memory_bytes", settings.host_memory ? Json(*settings.host_memory) : Json(nullptr)},
                       {"predicted",
                        {{"gpu", optional(gpu)},
                         {"memory", chosen.measured.uses_gpu ? "reserved" : "peak"},
                         {"size_bytes", plan.size.value},
                         {"bytes", chosen.bytes.value},
                         {"bytes_without_rewrites", is_stock_known ? Json(stock.bytes.value) : Json(nullptr)},
                         {"state_bytes", chosen.measured.state.value},
                         {"device", chosen.measured.device}}}});
}

}  // namespace tapelens::plan
