// A third party's rewrite of an operator: computes square as a product, if the program enables it.
#include <ATen/ATen.h>

#include "profiler/rewrite/operators.h"

namespace {

using namespace tapelens::rewrite;
using at::Tensor;

constexpr RewriteInfo kInfo{"square-as-product", Level::equivalent, "a square as a product"};
constexpr std::string_view kOperator = "aten::square";
const OperatorHost* g_host;

Tensor square(c10::DispatchKeySet keys, const Tensor& tensor) {
  if (tensor.nbytes() >= g_host->min_bytes() && g_host->applies_here(kInfo, kOperator)) {
    if (tensor.is_contiguous()) {
      g_host->applied(kInfo, kOperator, tensor.nbytes(), 0);
      return at::mul(tensor, tensor);
    }
    g_host->skipped(kInfo, kOperator, "it is not contiguous", tensor.nbytes());
  }
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::square", "").typed<Tensor(const Tensor&)>();
  return op.redispatch(stock(keys), tensor);
}

class SquareAsProduct final : public Rewrite {
 public:
  RewriteInfo info() const override { return kInfo; }
  void install(const OperatorHost& host) const override {
    g_host = &host;
    host.kernels(c10::kCPU).impl("square", TORCH_FN(square));
  }
};

}  // namespace

TAPELENS_REWRITES(SquareAsProduct)
