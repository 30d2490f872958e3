// Plans: each accepted plan can be described and passed to the run.
#include "cli/plan_file.h"
#include "policy/wire.h"
#include "tests/fuzz/files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tapelens;
  const fuzz::MemoryFile file({reinterpret_cast<const char*>(data), size});
  const auto plan = cli::read_plan(file.path(), {"unneeded-save", "wide-save", "duplicate-save", "recomputable-save"});
  if (!plan) {
    fuzz::must(!plan.error().message.empty());
    return 0;
  }
  fuzz::must(plan->recompute_budget() >= 0 && plan->recompute_budget() <= 1);
  size_t said = policy::flat(plan->sites).size();
  for (const policy::Site& site : plan->sites) said += policy::describe(site).size();
  fuzz::must(said > 0 || plan->sites.empty());
  return 0;
}
