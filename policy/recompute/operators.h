// The operators that may run again, and the costs of operators, by a fixed table: measured times differ
// from run to run, and so would decisions that depend on them.
//
// The unit of cost is one pass over one byte. A result of a pointwise operator costs a few passes. A product costs its
// floating-point operations, divided by the number of operations in the time of one pass. On a GPU memory is the limit
// of pointwise operators, products are much faster, and each operator costs at least the start of its kernel. One table
// is for all GPUs: a plan must mean the same on another one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tapelens::recompute {

// An operator whose cost is that of its multiplications.
enum class Product : uint8_t { none, matrix, added_matrix, convolution, attention, recurrent };

// Deterministic, without random numbers, and only the first output matters. native_dropout is recomputed from its input
// and its mask, which is its second output.
struct Repeatable {
  uint32_t number = 0;     // 0: it must not run again; else the same in every process and for all overloads of a name
  uint32_t passes = 0;     // over each byte of the result on a CPU; 0: it costs its multiplications
  bool is_costly = false;  // more than one or two passes over memory: only the level `recompute` repeats it
  Product product = Product::none;
  explicit operator bool() const { return number != 0; }
};
// By the name in its schema: "aten::relu", "aten::relu_". Never costly.
Repeatable cheap(std::string_view name);
// Cheap or costly.
Repeatable repeatable(std::string_view name);

Product product(std::string_view name);

enum class Machine : uint8_t { cpu, gpu };
// The cost of a result of so many bytes, of an operator that passes over memory. The cost of products is below.
uint64_t cost(const Repeatable& op, uint64_t bytes, Machine machine);
// The arguments of a product.
struct Factors {
  std::span<const std::span<const int64_t>> sizes;  // those of its tensors, in order
  uint32_t element_bytes = 4;                       // an element of the first tensor
  Machine machine = Machine::cpu;
};
// The cost of a product. 0: the sizes do not fit such a product.
uint64_t cost(Product product, const Factors& factors);

}  // namespace tapelens::recompute
