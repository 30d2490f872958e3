// A check with the same name as one of Tapelens' own.
#include "analyzer/check/check.h"

namespace {

using namespace tapelens::check;

class Twin final : public Check {
 public:
  CheckInfo info() const override { return {.id = "trivial-concat", .title = "twin", .help = "There is one already."}; }
  void run(const Context&, const Options&, Sink&) override {}
  Description describe(const Context&, const Group&) const override { return {}; }
};

}  // namespace

TAPELENS_CHECKS(Twin)
