// Plans: each accepted plan can be described and passed to the run.
#include "cli/plan_file.h"
#include "policy/wire.h"
#include "tests/fuzz/files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tapelens;
  const fuzz::MemoryFile file({reinterpret_cast<const char*>(data), size});
  const auto sites = cli::read_plan(file.path(), {"unneeded-save", "wide-save", "duplicate-save", "recomputable-save"});
  if (!sites) {
    fuzz::must(!sites.error().message.empty());
    return 0;
  }
  size_t said = policy::flat(*sites).size();
  for (const policy::Site& site : *sites) said += policy::describe(site).size();
  fuzz::must(said > 0 || sites->empty());
  return 0;
}
