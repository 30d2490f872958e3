// What cheap operators made is recomputed when the backward asks for it. The host (profiler/rewrite/storage_versions.h)
// follows the operators, and rewrites/recompute says which and when, for the check's prediction too.
#include "profiler/rewrite/rewrite.h"

#include "plugins/recomputable-save/rule.h"

namespace tapelens::rewrite {
namespace {

class RecomputableSave final : public Rewrite {
 public:
  RewriteInfo info() const override { return plugins::recomputable_save::kRewrite; }
  Recomputes recomputes() const override { return Recomputes::operators; }
};

}  // namespace
}  // namespace tapelens::rewrite

TAPELENS_REWRITES(tapelens::rewrite::RecomputableSave)
