// A third party's rewrite that throws in every call. The program must not notice. The only exception is an encoding
// that the rewrite can no longer decode: no tensor is left to continue with.
#include <c10/util/Exception.h>

#include <stdexcept>

#include "profiler/rewrite/rewrite.h"

namespace {

using namespace tapelens::rewrite;

class Broken final : public Encoding {
 public:
  at::Tensor decode() const override { TORCH_CHECK(false, "decode on purpose"); }
  uint64_t bytes() const override { return 0; }
};

class Throwing final : public Rewrite {
 public:
  RewriteInfo info() const override { return {"throwing", Level::encoded, "throws"}; }
  bool may_match(std::string_view type, std::string_view field) const override {
    if (type == "ExpBackward0") throw 5;
    return (type == "ReluBackward0" || type == "TanhBackward0" || type == "SigmoidBackward0") && field == "result";
  }
  bool matches(const Save& save) const override {
    if (save.type == "ReluBackward0") throw std::runtime_error("matches on purpose");
    return true;
  }
  std::unique_ptr<Encoding> encode(const Save& save) const override {
    TORCH_CHECK(save.type != "TanhBackward0", "encode on purpose");
    return std::make_unique<Broken>();
  }
};

}  // namespace

TAPELENS_REWRITES(Throwing)
