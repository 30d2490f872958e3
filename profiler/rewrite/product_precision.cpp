#include "profiler/rewrite/product_precision.h"

#include <ATen/Context.h>

#include <type_traits>

#include "profiler/rewrite/private_members.h"

namespace tapelens::rewrite {

namespace members {
TAPELENS_MEMBER(Float32Precisions, &at::Context::fp32_precision);
TAPELENS_MEMBER(MatrixPrecision, &at::Context::float32_matmul_precision);
TAPELENS_MEMBER(Float16Reduction, &at::Context::allow_fp16_reduction_cublas);
TAPELENS_MEMBER(BFloat16Reduction, &at::Context::allow_bf16_reduction_cublas);
TAPELENS_MEMBER(Float16Accumulation, &at::Context::allow_fp16_accumulation_cublas);
}  // namespace members

namespace {

using namespace members;

constexpr uint64_t kRead = uint64_t{1} << 63;
constexpr int kBackends = 3, kOperators = 4;

// Calls take(setting, bits) for each setting, always in the same order.
template <class Take>
void each_setting(at::Context& context, Take take) {
  auto& precisions = context.*member(Float32Precisions{});
  for (int backend = 0; backend < kBackends; ++backend) {
    for (int op = 0; op < kOperators; ++op) {
      const auto at = precisions.find({static_cast<at::Float32Backend>(backend), static_cast<at::Float32Op>(op)});
      auto none = at::Float32Precision::NONE;
      take(at != precisions.end() ? at->second : none, 4);
    }
  }
  take(context.*member(MatrixPrecision{}), 2);
  take(context.*member(Float16Reduction{}), 2);
  take(context.*member(BFloat16Reduction{}), 2);
  take(context.*member(Float16Accumulation{}), 1);
}

}  // namespace

uint64_t product_precision() {
  uint64_t all = kRead;
  int place = 0;
  each_setting(at::globalContext(), [&](const auto& setting, int bits) {
    all |= static_cast<uint64_t>(setting) << place;
    place += bits;
  });
  return all;
}

void set_product_precision(uint64_t precision) {
  each_setting(at::globalContext(), [&](auto& setting, int bits) {
    setting = static_cast<std::remove_reference_t<decltype(setting)>>(precision & ((uint64_t{1} << bits) - 1));
    precision >>= bits;
  });
}

}  // namespace tapelens::rewrite
