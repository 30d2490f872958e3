// Saves that give the same gradients with one bit for each element, or with a narrower integer.
#include "profiler/rewrite/rewrite.h"

#include <torch/csrc/autograd/generated/Functions.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "plugins/wide-save/rule.h"
#include "profiler/observe/torch_minor.h"
#include "profiler/rewrite/encodings.h"

namespace tapelens::rewrite {
namespace {

namespace generated = torch::autograd::generated;
using namespace plugins::wide_save;
constexpr double kMost = 3e38, kInfinity = std::numeric_limits<double>::infinity();

template <class Node>
const Node& as(const Save& save) {
  return static_cast<const Node&>(save.node);
}

// An open interval: the gradient passes between the bounds. `inside` must be neither of them.
ValueInterval open(double low, double high) { return {low, high, false, low + (high - low) / 2, high, true}; }

ValueInterval clamped(std::optional<double> low, std::optional<double> high) {
  const double from = low.value_or(-kInfinity), to = high.value_or(kInfinity);
  const double inside = low && high ? *low + (*high - *low) / 2
                        : low       ? *low + std::abs(*low) + 1
                                    : *high - std::abs(*high) - 1;
  return {from, to, observe::kClampPassesAtBounds, inside, high ? kInfinity : -kInfinity};
}

double number(const at::Scalar& scalar) {
  return scalar.isFloatingPoint() || scalar.isIntegral(true) ? scalar.toDouble() : NAN;
}
std::optional<double> number(const std::optional<at::Scalar>& scalar) {
  return scalar ? std::optional(number(*scalar)) : std::nullopt;
}

// The condition on an element that the backward of each of kMasks reads. The results of CUDA's kernels for NaN come
// from their source (aten/src/ATen/native/cuda/Activation*Kernel.cu). The backward of clamp uses comparisons on every
// device.
struct Asked {
  std::string_view type;
  ValueInterval (*interval)(const Save& save);
};
constexpr ValueInterval kNone{0, 0, false, 0, 0};
constexpr std::array kAsked = {
    Asked{"ReluBackward0", [](const Save&) { return ValueInterval{0, kInfinity, false, 1, 0, true}; }},
    Asked{"LeakyReluBackward0",
          [](const Save&) {
            return ValueInterval{0, kInfinity, false, 1, -1};
          }},
    // An in-place operator keeps its result, which is positive where its input was, if the slope is not negative.
    Asked{"LeakyReluBackward1",
          [](const Save& s) {
            return number(as<generated::LeakyReluBackward1>(s).negative_slope) >= 0
                       ? ValueInterval{0, kInfinity, false, 1, -1}
                       : kNone;
          }},
    Asked{"HardtanhBackward0",
          [](const Save& s) {
            const auto& node = as<generated::HardtanhBackward0>(s);
            return open(number(node.min_val), number(node.max_val));
          }},
    Asked{"ThresholdBackward0",
          [](const Save& s) {
            const double at = number(as<generated::ThresholdBackward0>(s).threshold);
            return ValueInterval{at, kInfinity, false, kMost, at, true};
          }},
    Asked{"HardsigmoidBackward0",
          [](const Save&) {
            return ValueInterval{-3, 3, false, 0, 3};
          }},
    Asked{"ClampBackward1",
          [](const Save& s) {
            const auto& node = as<generated::ClampBackward1>(s);
            return clamped(number(node.min), number(node.max));
          }},
    Asked{"ClampMinBackward0",
          [](const Save& s) { return clamped(number(as<generated::ClampMinBackward0>(s).min), std::nullopt); }},
    Asked{"ClampMaxBackward0",
          [](const Save& s) { return clamped(std::nullopt, number(as<generated::ClampMaxBackward0>(s).max)); }},
};

constexpr const Asked* asked(std::string_view type) {
  const auto* at = std::ranges::find(kAsked, type, &Asked::type);
  return at == kAsked.end() ? nullptr : at;
}
static_assert(std::ranges::all_of(kMasks, [](const Field& field) { return asked(field.type) != nullptr; }));

class Masks final : public Rewrite {
 public:
  RewriteInfo info() const override { return kRewrite; }
  bool is_for(c10::DeviceType device) const override { return is_cpu_or_has_streams(device); }
  bool may_match(std::string_view type, std::string_view field) const override {
    return kind_of(type, field) == Kind::mask;
  }
  bool matches(const Save& save) const override {
    return c10::isFloatingType(save.tensor.scalar_type()) && save.tensor.is_non_overlapping_and_dense();
  }
  std::unique_ptr<Encoding> encode(const Save& save) const override {
    return encode_between(save.tensor, asked(save.type)->interval(save));
  }
};

// The factors of dropout, which are 0 or one other number; masks of where and masked_fill.
class TwoValues final : public Rewrite {
 public:
  RewriteInfo info() const override { return kRewrite; }
  bool is_for(c10::DeviceType device) const override { return is_cpu_or_has_streams(device); }
  bool may_match(std::string_view type, std::string_view field) const override {
    const Kind kind = kind_of(type, field);
    return kind == Kind::noise || kind == Kind::bools;
  }
  bool matches(const Save& save) const override {
    if (!save.tensor.is_non_overlapping_and_dense()) return false;
    if (save.tensor.is_cuda() && save.tensor.scalar_type() != at::kBool)
      return false;  // reading the values would wait
                     // for the GPU
    return save.type == "MulBackward0" ? save.outer_operator.find("dropout") != std::string_view::npos
                                       : save.tensor.scalar_type() == at::kBool;
  }
  std::unique_ptr<Encoding> encode(const Save& save) const override { return encode_two_valued(save.tensor); }
};

class Indices final : public Rewrite {
 public:
  RewriteInfo info() const override { return kRewrite; }
  bool is_for(c10::DeviceType device) const override { return is_cpu_or_has_streams(device); }
  bool may_match(std::string_view type, std::string_view field) const override {
    const Kind kind = kind_of(type, field);
    return kind == Kind::pool_indices || kind == Kind::other_indices;
  }
  bool matches(const Save& save) const override {
    if (save.tensor.is_cuda() && kind_of(save.type, save.field) != Kind::pool_indices) return false;
    return save.tensor.scalar_type() == at::kLong && save.tensor.is_non_overlapping_and_dense();
  }
  std::unique_ptr<Encoding> encode(const Save& save) const override {
    return encode_narrow(save.tensor, plane_of(save));
  }

 private:
  // The exclusive upper bound of a pool's indices, from the sizes of the pooled tensor's gradient. 0: unknown.
  static int64_t plane_of(const Save& save) {
    const auto pool = std::ranges::find(kPools, save.type, &Pool::type);
    if (pool == kPools.end()) return 0;
    const torch::autograd::Edge& edge = save.node.next_edge(0);
    if (!edge.is_valid() || edge.input_nr >= edge.function->num_inputs()) return 0;
    const auto& metadata = edge.function->input_metadata(edge.input_nr);
    if (metadata.is_nested_tensor()) return 0;
    const auto sizes = metadata.shape_as_dim_vector();
    if (sizes.size() < pool->dimensions) return 0;
    int64_t plane = 1;
    for (size_t i = sizes.size() - pool->dimensions; i < sizes.size(); ++i) {
      const auto size = sizes[i].maybe_as_int();
      if (!size) return 0;
      plane *= *size;
    }
    return plane;
  }
};

}  // namespace
}  // namespace tapelens::rewrite

TAPELENS_REWRITES(tapelens::rewrite::Masks, tapelens::rewrite::TwoValues, tapelens::rewrite::Indices)
