// Moves saved tensors of a GPU to pinned memory of the host, and back before the backward reads them. The host of the
// rewrites (profiler/rewrite/offload.h) makes the copies; profiler/versions decides which saves leave and when.
#include "profiler/rewrite/rewrite.h"

#include "plugins/offload/rule.h"

namespace tapelens::rewrite {
namespace {

class Offload final : public Rewrite {
 public:
  RewriteInfo info() const override { return plugins::offload::kRewrite; }
  bool offloads() const override { return true; }
};

}  // namespace
}  // namespace tapelens::rewrite

TAPELENS_REWRITES(tapelens::rewrite::Offload)
