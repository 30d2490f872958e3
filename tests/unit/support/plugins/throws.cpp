// A check that fails when it runs.
#include <stdexcept>

#include "analyzer/check/check.h"

namespace {

using namespace tapelens::check;

class Throws final : public Check {
 public:
  CheckInfo info() const override { return {.id = "test-throws", .title = "throws", .help = "It throws."}; }
  void run(const Context&, const Options&, Sink&) override { throw std::runtime_error("out of\nluck"); }
  Description describe(const Context&, const Group&) const override { return {}; }
};

}  // namespace

TAPELENS_CHECKS(Throws)
