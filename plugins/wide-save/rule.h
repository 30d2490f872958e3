// Saved fields that the backward reads as one of two values for each element, or as small integers. The check and the
// rewrite both use these rules.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "policy/catalog.h"

namespace tapelens::plugins::wide_save {

inline constexpr policy::RewriteInfo kRewrite{
    .id = "wide-save", .level = policy::Level::encoded, .title = "masks as bits, indices as small integers"};

struct Field {
  std::string_view type, name;  // "ReluBackward0", "result"
};
// The backward only reads whether each element lies in an interval.
inline constexpr std::array kMasks = {
    Field{"ReluBackward0", "result"},   Field{"LeakyReluBackward0", "self"}, Field{"LeakyReluBackward1", "result"},
    Field{"HardtanhBackward0", "self"}, Field{"ThresholdBackward0", "self"}, Field{"HardsigmoidBackward0", "self"},
    Field{"ClampBackward1", "self"},    Field{"ClampMinBackward0", "self"},  Field{"ClampMaxBackward0", "self"},
};

// Nodes whose `result1` has positions in the last `dimensions` dimensions of the pooled tensor.
struct Pool {
  std::string_view type;
  size_t dimensions;
};
inline constexpr std::array kPools = {
    Pool{"MaxPool2DWithIndicesBackward0", 2}, Pool{"MaxPool3DWithIndicesBackward0", 3},
    Pool{"AdaptiveMaxPool2DBackward0", 2},    Pool{"AdaptiveMaxPool3DBackward0", 3},
    Pool{"FractionalMaxPool2DBackward0", 2},  Pool{"FractionalMaxPool3DBackward0", 3},
};

enum class Kind : uint8_t {
  none,
  mask,           // kMasks, if the elements are floating point
  noise,          // 0 or one other number, from a dropout
  bools,          // elements are bools
  pool_indices,   // kPools
  other_indices,  // int64 indices from sorting, selecting or gathering
};
constexpr Kind kind_of(std::string_view type, std::string_view field) {
  if (std::ranges::any_of(kMasks, [&](const Field& of) { return of.type == type && of.name == field; })) {
    return Kind::mask;
  }
  if ((type == "MulBackward0" && field == "other") || (type == "NativeDropoutBackward0" && field == "result1")) {
    return Kind::noise;
  }
  if (field == "mask" || field == "condition") return Kind::bools;
  if (field == "result1" && std::ranges::find(kPools, type, &Pool::type) != kPools.end()) return Kind::pool_indices;
  return field == "indices" || field == "index" ? Kind::other_indices : Kind::none;
}

}  // namespace tapelens::plugins::wide_save
