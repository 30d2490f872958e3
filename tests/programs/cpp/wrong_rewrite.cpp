// Wrong rewrites of a third party: they claim that the saves of tanh and sigmoid need no data. verify must detect them,
// despite their claims.
#include <ATen/ops/zeros.h>

#include "profiler/rewrite/rewrite.h"

namespace {

using namespace tapelens::rewrite;

class Zeros final : public Encoding {
 public:
  explicit Zeros(const at::Tensor& tensor) : sizes_(tensor.sizes().vec()), options_(tensor.options()) {}
  at::Tensor decode() const override { return at::zeros(sizes_, options_); }
  uint64_t bytes() const override { return 0; }

 private:
  std::vector<int64_t> sizes_;
  at::TensorOptions options_;
};

class Forgotten : public Rewrite {
 public:
  bool matches(const Save&) const override { return true; }
  std::unique_ptr<Encoding> encode(const Save& save) const override { return std::make_unique<Zeros>(save.tensor); }
};

class ForgottenTanh final : public Forgotten {
 public:
  RewriteInfo info() const override { return {"forgotten-tanh", Level::encoded, "tanh's result as zeros"}; }
  bool may_match(std::string_view type, std::string_view field) const override {
    return type == "TanhBackward0" && field == "result";
  }
};

class ForgottenSigmoid final : public Forgotten {
 public:
  RewriteInfo info() const override { return {"forgotten-sigmoid", Level::equivalent, "sigmoid's result as zeros"}; }
  bool may_match(std::string_view type, std::string_view field) const override {
    return type == "SigmoidBackward0" && field == "result";
  }
};

}  // namespace

TAPELENS_REWRITES(ForgottenTanh, ForgottenSigmoid)
