#include "profiler/rewrite/numeric_state.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "policy/recompute/chain.h"
#include "profiler/observe/torch_minor.h"
#include "profiler/rewrite/private_members.h"

namespace tapelens::rewrite {

namespace members {
#if TAPELENS_FLOAT32_PRECISION_HAS_BACKENDS
TAPELENS_MEMBER(Float32Precisions, &at::Context::fp32_precision);
#else
TAPELENS_MEMBER(ConvolutionTf32, &at::Context::allow_tf32_cudnn);
TAPELENS_MEMBER(OneDnnTf32, &at::Context::allow_tf32_onednn);
#endif
TAPELENS_MEMBER(MatrixPrecision, &at::Context::float32_matmul_precision);
TAPELENS_MEMBER(Float16Reduction, &at::Context::allow_fp16_reduction_cublas);
TAPELENS_MEMBER(BFloat16Reduction, &at::Context::allow_bf16_reduction_cublas);
TAPELENS_MEMBER(Float16Accumulation, &at::Context::allow_fp16_accumulation_cublas);
}  // namespace members

namespace {

using namespace members;

// The precision of products (matrix products, convolutions): settings of the process that decide the bits of costly
// operators. They have setters that warn or also change others, so their members are read and written.
constexpr uint64_t kRead = uint64_t{1} << 63;

// Calls take(setting, bits) for the precision of float32 products of each backend and operator.
template <class Take>
void each_float32_setting(at::Context& context, Take take) {
#if TAPELENS_FLOAT32_PRECISION_HAS_TYPES
  constexpr int kBackends = 3, kOperators = 4;
  auto& precisions = context.*member(Float32Precisions{});
  for (int backend = 0; backend < kBackends; ++backend) {
    for (int op = 0; op < kOperators; ++op) {
      const auto at = precisions.find({static_cast<at::Float32Backend>(backend), static_cast<at::Float32Op>(op)});
      auto none = at::Float32Precision::NONE;
      take(at != precisions.end() ? at->second : none, 4);
    }
  }
#elif TAPELENS_FLOAT32_PRECISION_HAS_BACKENDS
  constexpr std::array kNames = {"none", "ieee", "tf32", "bf16"};  // others are refused by its setter
  for (auto& [backend, of_operators] : context.*member(Float32Precisions{})) {
    for (auto& [op, name] : of_operators) {
      const auto was = static_cast<size_t>(std::ranges::find(kNames, name) - kNames.begin());
      size_t now = was;
      take(now, 4);
      if (now != was && now < kNames.size()) name = kNames[now];
    }
  }
#else
  take(context.*member(ConvolutionTf32{}), 1);
  take(context.*member(OneDnnTf32{}), 1);
#endif
}

// Calls take(setting, bits) for each setting, always in the same order.
template <class Take>
void each_setting(at::Context& context, Take take) {
  each_float32_setting(context, take);
  take(context.*member(MatrixPrecision{}), 2);
  take(context.*member(Float16Reduction{}), 2);
  take(context.*member(BFloat16Reduction{}), 2);
  take(context.*member(Float16Accumulation{}), 1);
}

// All of them in one number that is never 0.
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

// MXCSR on x86-64, FPCR on aarch64: rounding mode and flushing of denormals. MXCSR's exception flags are status only
// and are masked out.
constexpr uint32_t kStatus = 0x3f;

uint32_t float_control() {
#if defined(__x86_64__)
  return __builtin_ia32_stmxcsr() & ~kStatus;
#elif defined(__aarch64__)
  uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return static_cast<uint32_t>(control);
#else
  return 0;
#endif
}

void set_float_control([[maybe_unused]] uint32_t control) {
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(control | (__builtin_ia32_stmxcsr() & kStatus));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(uint64_t{control}));
#endif
}

struct Flag {
  bool (*get)(const at::Context&);
  void (*set)(at::Context&, bool);
};
// Flags that affect pointwise operators, casts and norms, on the CPU and on CUDA.
constexpr std::array kFlags = {
    Flag{[](const at::Context& c) { return c.userEnabledMkldnn(); },
         [](at::Context& c, bool on) { c.setUserEnabledMkldnn(on); }},
    Flag{[](const at::Context& c) { return c.deterministicMkldnn(); },
         [](at::Context& c, bool on) { c.setDeterministicMkldnn(on); }},
    Flag{[](const at::Context& c) { return c.userEnabledCuDNN(); },
         [](at::Context& c, bool on) { c.setUserEnabledCuDNN(on); }},
    Flag{[](const at::Context& c) { return c.benchmarkCuDNN(); },
         [](at::Context& c, bool on) { c.setBenchmarkCuDNN(on); }},
    Flag{[](const at::Context& c) { return c.deterministicCuDNN(); },
         [](at::Context& c, bool on) { c.setDeterministicCuDNN(on); }},
    Flag{[](const at::Context& c) { return c.allowFP16ReductionCPU(); },
         [](at::Context& c, bool on) { c.setAllowFP16ReductionCPU(on); }},
    Flag{[](const at::Context& c) { return c.deterministicAlgorithms(); },
         [](at::Context& c, bool on) { c.setDeterministicAlgorithms(on, c.deterministicAlgorithmsWarnOnly()); }},
};

void set(const NumericState& wanted, const NumericState& now) {
  if (wanted.threads != now.threads) at::set_num_threads(wanted.threads);
  if (wanted.float_control != now.float_control) set_float_control(wanted.float_control);
  if (wanted.default_type != now.default_type)
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(static_cast<c10::ScalarType>(wanted.default_type)));
  if (wanted.products != now.products) set_product_precision(wanted.products);
  for (size_t i = 0; i < kFlags.size(); ++i) {
    const bool is_wanted = (wanted.flags >> i & 1) != 0;
    if (is_wanted != ((now.flags >> i & 1) != 0)) kFlags[i].set(at::globalContext(), is_wanted);
  }
}

}  // namespace

uint64_t NumericState::hash() const {
  const uint64_t of_flags = recompute::mixed(flags, static_cast<uint64_t>(default_type));
  return recompute::mixed(recompute::mixed(recompute::mixed(of_flags, float_control), static_cast<uint64_t>(threads)),
                          products);
}

NumericState numeric_state(bool of_product) {
  NumericState state;
  if (of_product) state.products = product_precision();
  state.threads = at::get_num_threads();
  state.float_control = float_control();
  state.default_type = static_cast<int8_t>(c10::get_default_dtype_as_scalartype());
  const at::Context& context = at::globalContext();
  for (size_t i = 0; i < kFlags.size(); ++i) state.flags |= uint32_t{kFlags[i].get(context)} << i;
  return state;
}

WithNumericState::WithNumericState(const NumericState& wanted)
    : was_(numeric_state(wanted.products != 0)), is_other_(was_ != wanted) {
  if (is_other_) set(wanted, was_);
}

WithNumericState::~WithNumericState() {
  if (is_other_) set(was_, numeric_state(was_.products != 0));
}

}  // namespace tapelens::rewrite
