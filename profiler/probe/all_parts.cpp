#include <string>

#include "plugins/builtin_rewrites.h"
#include "profiler/fake_kernels/fake_kernels.h"
#include "profiler/observe/observe.h"
#include "profiler/probe/parts.h"
#include "profiler/rewrite/host.h"
#include "profiler/rewrite/operators.h"
#include "profiler/rewrite/tally.h"

namespace tapelens::probe {

bool start_rewrites() {
  if (!rewrite::start(plugins::builtin_rewrites())) return false;
  if (const std::string wrong = rewrite::open_tally(); !wrong.empty()) {
    observe::say(wrong + "; rewrites are not counted");
  }
  return true;
}

void watch_rewrites() {
  observe::g_follows_modules = rewrite::names_modules();
  rewrite::install_operator_rewrites();
}

void abandon_rewrites_in_child() { rewrite::abandon_tally_in_child(); }

bool start_simulated_values() { return fake_kernels::start(); }

void watch_simulated_values() { fake_kernels::watch(); }

}  // namespace tapelens::probe
