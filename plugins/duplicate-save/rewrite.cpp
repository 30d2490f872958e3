// Recomputes a copy, or a second result of the same operator on the same input, from tensors that stay in memory
// anyway. The host (profiler/rewrite/storage_versions.h) finds them among the operators that it follows.
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
