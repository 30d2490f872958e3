// A copy, or what the same operator made of the same, is recomputed from what stays in memory for another reason. The
// host (profiler/rewrite/storage_versions.h) finds them among the operators that it follows.
#include "profiler/rewrite/rewrite.h"

#include "plugins/duplicate-save/rule.h"

namespace tapelens::rewrite {
namespace {

class DuplicateSave final : public Rewrite {
 public:
  RewriteInfo info() const override { return plugins::duplicate_save::kRewrite; }
  Recomputes recomputes() const override { return Recomputes::copies; }
};

}  // namespace
}  // namespace tapelens::rewrite

TAPELENS_REWRITES(tapelens::rewrite::DuplicateSave)
