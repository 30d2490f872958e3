#include "policy/recompute/operators.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tapelens::recompute {

namespace {

struct Entry {
  std::string_view name;
  uint32_t passes;
};
// Also with a trailing underscore. 2: reads one tensor and writes one; 3: reads two. Then operators that cost more than
// memory passes.
constexpr std::array kCheap = {
    Entry{"aten::relu", 2},
    Entry{"aten::relu6", 2},
    Entry{"aten::leaky_relu", 2},
    Entry{"aten::hardtanh", 2},
    Entry{"aten::hardswish", 2},
    Entry{"aten::hardsigmoid", 2},
    Entry{"aten::threshold", 2},
    Entry{"aten::neg", 2},
    Entry{"aten::abs", 2},
    Entry{"aten::square", 2},
    Entry{"aten::clamp", 2},
    Entry{"aten::clamp_min", 2},
    Entry{"aten::clamp_max", 2},
    Entry{"aten::_to_copy", 2},
    Entry{"aten::clone", 2},
    Entry{"aten::reciprocal", 2},
    Entry{"aten::sqrt", 2},
    Entry{"aten::rsqrt", 2},
    Entry{"aten::mul", 3},
    Entry{"aten::div", 3},
    Entry{"aten::add", 3},
    Entry{"aten::sub", 3},
    Entry{"aten::rsub", 3},
    Entry{"aten::where", 3},
    Entry{"aten::masked_fill", 3},
    Entry{"aten::sigmoid", 4},
    Entry{"aten::exp", 4},
    Entry{"aten::silu", 4},
    Entry{"aten::elu", 4},
    Entry{"aten::glu", 6},
    Entry{"aten::native_layer_norm", 4},
    Entry{"aten::native_batch_norm", 4},
    Entry{"aten::native_group_norm", 4},
    Entry{"aten::_fused_rms_norm", 4},
    Entry{"aten::gelu", 6},
    Entry{"aten::tanh", 6},
    Entry{"aten::softplus", 8},
    Entry{"aten::mish", 8},
    Entry{"aten::pow", 4},
    Entry{"aten::cudnn_batch_norm", 4},
    Entry{"aten::native_dropout", 3},
};

struct Multiplies {
  std::string_view name;
  Product product;
  bool may_repeat = true;  // its backward needs no other large output
};
constexpr std::array kProducts = {
    Multiplies{"aten::mm", Product::matrix},
    Multiplies{"aten::bmm", Product::matrix},
    Multiplies{"aten::addmm", Product::added_matrix},
    Multiplies{"aten::baddbmm", Product::added_matrix},
    Multiplies{"aten::convolution", Product::convolution},
    Multiplies{"aten::_scaled_dot_product_flash_attention_for_cpu", Product::attention},
    Multiplies{"aten::_scaled_dot_product_flash_attention", Product::attention},
    Multiplies{"aten::_scaled_dot_product_efficient_attention", Product::attention},
    Multiplies{"aten::_scaled_dot_product_cudnn_attention", Product::attention},
    Multiplies{"aten::mkldnn_rnn_layer", Product::recurrent, false},
};

// Several passes over memory, or reads that follow an index.
constexpr std::array kCostly = {
    Entry{"aten::_softmax", 8},
    Entry{"aten::_log_softmax", 8},
    Entry{"aten::embedding", 3},
    Entry{"aten::index_select", 3},
    Entry{"aten::gather", 4},
    Entry{"aten::avg_pool2d", 12},
    Entry{"aten::_adaptive_avg_pool2d", 12},
    Entry{"aten::max_pool2d_with_indices", 12},
    Entry{"aten::upsample_nearest2d", 3},
    Entry{"aten::upsample_bilinear2d", 8},
    Entry{"aten::constant_pad_nd", 3},
    Entry{"aten::cumsum", 4},
    Entry{"aten::log", 6},
    Entry{"aten::sin", 8},
    Entry{"aten::cos", 8},
};

// Floating-point operations in the time of one pass over one byte. CPU: about 50 per nanosecond versus 10 bytes per
// nanosecond. GPU: NVIDIA's data sheets (dense operations a second over bytes of memory a second) have 153 on an
// A100-80GB, 206 on an H200, 295 on an H100, 164 on an RTX 4090 for 16 bits. For 32 bits in the same order 10, 14, 20,
// 82 as PyTorch multiplies matrices, and 76, 103, 148, 82 with TF32, as it convolves. Programs reach about two thirds
// of that.
constexpr uint64_t kOfCpu = 6, kOfHalf = 128, kOfSingle = 12, kOfTf32 = 64, kOfDouble = 6;
uint64_t operations_each(Product product, const Factors& factors) {
  if (factors.machine == Machine::cpu) return kOfCpu;
  if (factors.element_bytes <= 2) return kOfHalf;
  if (factors.element_bytes > 4) return kOfDouble;
  return product == Product::convolution ? kOfTf32 : kOfSingle;
}
// Memory limits a GPU, not the computation of an element, which is the reason for more than three passes on a CPU. The
// costly operators read more than one element for each result.
uint64_t passes_of_gpu(const Repeatable& op) { return op.is_costly ? 3 : op.passes > 3 ? 2 : op.passes; }
// Bytes that a GPU reads while a kernel starts: about 2 microseconds, at 2 TB/s.
constexpr uint64_t kStartOfKernel = uint64_t{4} << 20;
// Sizes that fit in no memory are invalid: recordings may be forged.
constexpr int64_t kMost = int64_t{1} << 48;

// 0: too large, or negative sizes.
uint64_t times(std::span<const int64_t> sizes, uint64_t value = 1) {
  for (const int64_t size : sizes) {
    if (size < 0 || (size != 0 && value > static_cast<uint64_t>(kMost / size))) return 0;
    value *= static_cast<uint64_t>(size);
  }
  return value;
}
uint64_t times(uint64_t a, uint64_t b) {
  return b != 0 && a > std::numeric_limits<uint64_t>::max() / 2 / b ? 0 : a * b;
}

}  // namespace

Repeatable cheap(std::string_view name) {
  const bool is_in_place = name.ends_with('_');
  const auto at = std::ranges::find(kCheap, is_in_place ? name.substr(0, name.size() - 1) : name, &Entry::name);
  if (at == kCheap.end()) return {};
  return {.number = static_cast<uint32_t>(2 * (at - kCheap.begin()) + (is_in_place ? 2 : 1)), .passes = at->passes};
}

Repeatable repeatable(std::string_view name) {
  if (const Repeatable known = cheap(name)) return known;
  constexpr uint32_t kFirst = 2 * kCheap.size() + 1, kFirstProduct = kFirst + kCostly.size();
  const auto at = std::ranges::find(kCostly, name, &Entry::name);
  if (at != kCostly.end())
    return {.number = kFirst + static_cast<uint32_t>(at - kCostly.begin()), .passes = at->passes, .is_costly = true};
  const auto product = std::ranges::find(kProducts, name, &Multiplies::name);
  if (product == kProducts.end() || !product->may_repeat) return {};
  return {.number = kFirstProduct + static_cast<uint32_t>(product - kProducts.begin()),
          .is_costly = true,
          .product = product->product};
}

Product product(std::string_view name) {
  const auto at = std::ranges::find(kProducts, name, &Multiplies::name);
  return at == kProducts.end() ? Product::none : at->product;
}

uint64_t cost(const Repeatable& op, uint64_t bytes, Machine machine) {
  if (machine == Machine::cpu || !op) return op.passes * bytes;
  return passes_of_gpu(op) * bytes + kStartOfKernel;
}

uint64_t cost(Product product, const Factors& factors) {
  const auto sizes = factors.sizes;
  const uint64_t start = factors.machine == Machine::gpu ? kStartOfKernel : 0, each = operations_each(product, factors);
  const auto units = [&](uint64_t multiplications) {
    return multiplications == 0 ? 0 : times(multiplications, 2) / each + start;
  };
  const size_t first = product == Product::added_matrix ? 1 : 0;
  if (sizes.size() < first + 2) return 0;
  const auto a = sizes[first], b = sizes[first + 1];
  if (a.empty() || b.empty()) return 0;
  switch (product) {
    case Product::matrix:
    case Product::added_matrix:
      return units(times(b.last(1), times(a)));
    case Product::convolution: {
      // Each place of each picture uses the whole weight once; strides are ignored.
      if (a.size() < 3 || b.size() != a.size()) return 0;
      return units(times(times(b), times(a.subspan(2), times(a.first(1)))));
    }
    case Product::attention:
      // Queries times keys, and the result times values.
      if (a.size() < 2 || b.size() < 2) return 0;
      return units(times(times(b.subspan(b.size() - 2, 1), times(a)), 2));
    case Product::recurrent:
      // Each place of each sequence uses both weights.
      if (a.size() != 3 || sizes.size() < 3) return 0;
      return units(times(times(a.first(2)), times(b) + times(sizes[2])));
    case Product::none:
      break;
  }
  return 0;
}

}  // namespace tapelens::recompute
