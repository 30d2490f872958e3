#include "profiler/rewrite/budget.h"

#include "profiler/rewrite/settings.h"

namespace tapelens::rewrite {

versions::SharedBudget& budget() {
  static auto* made = new versions::SharedBudget(settings().recompute_budget());
  return *made;
}

versions::Trials& trials() {
  static auto* made = new versions::Trials;
  return *made;
}

}  // namespace tapelens::rewrite
