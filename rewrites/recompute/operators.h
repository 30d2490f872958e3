// Which operators are cheap enough to be run again, and what operators cost, by a fixed table: times that are measured
// differ from run to run, and what is decided by them would, too.
//
// The unit of cost is one pass over one byte. What is made by a pointwise operator costs a few passes; a product costs
// its floating-point operations divided by those that are done in the time of such a pass.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tapelens::recompute {

// Deterministic, no random numbers, a pass over memory or two, the first output what matters. A native_dropout is made
// again of its input and the mask that it made, its second output.
struct Cheap {
  uint32_t number = 0;  // 0: it is none; else the same number in every process, for the overloads of one name alike
  uint32_t cost = 0;    // for each byte that it makes
  explicit operator bool() const { return number != 0; }
};
// By the name in its schema: "aten::relu", "aten::relu_".
Cheap cheap(std::string_view name);

// An operator whose cost is its multiplications.
enum class Product : uint8_t { none, matrix, added_matrix, convolution, attention, recurrent };
Product product(std::string_view name);
// `sizes`: of the tensors that it is called with, in their order. 0: not the sizes of such a product.
uint64_t cost(Product product, std::span<const std::span<const int64_t>> sizes);

}  // namespace tapelens::recompute
