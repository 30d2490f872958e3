// See operators.h.
#include "profiler/rewrite/operators.h"

#include <algorithm>
#include <array>

#include "profiler/rewrite/host.h"
#include "profiler/rewrite/settings.h"

namespace tapelens::rewrite {
namespace {
const std::array kOperatorRewrites = {&kExpandedSave, &kTrivialConcat, &kLateGradient, &kScanSave};
}

void install_operator_rewrites() {
  for (const OperatorRewrite* rewrite : kOperatorRewrites) {
    if (!wants(rewrite->info.id, rewrite->info.level)) continue;
    // Never destroyed: its kernels may be called until the process is gone.
    rewrite->install(
        *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradCPU, __FILE__, __LINE__));
  }
}

bool applies_here(const OperatorRewrite& rewrite, std::string_view operator_name) {
  if (settings().has(rewrite.info.id, static_cast<int>(rewrite.info.level))) return true;
  return std::ranges::any_of(settings().sites, [&](const Site& site) {
    return site.rewrite == rewrite.info.id && (site.op.empty() || site.op == operator_name) && is_here(site);
  });
}

}  // namespace tapelens::rewrite
