// Recomputes the results of cheap operators when the backward reads them. The host
// (profiler/rewrite/storage_versions.h) follows the operators. policy/recompute decides which results and when; the
// check's prediction uses it too.
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
