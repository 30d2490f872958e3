// What is to be done about an operator, by its name and schema.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <optional>

namespace tapelens::simulated {

struct OperatorTraits {
  enum class What : uint8_t {
    nothing,  // it makes no values: a view, a composite of others, what hands out memory
    carried,  // it has a kernel for CUDA, which does nothing, and one for the CPU, which is called in its stead
    opaque,   // nobody knows what its kernel for CUDA would write: random numbers, cuDNN, a third party's
  };
  What what = What::nothing;
  std::optional<c10::OperatorHandle> op;
  uint32_t written = 0;         // as observe::OperatorName
  bool reads_written = true;    // what it writes it also reads: add_ does, fill_ and out= do not
  bool trusts_integers = true;  // a kernel of the CPU may go out of bounds by the integers of a tensor
  bool is_backward = false;     // such a one has them from a forward that checked them, unless it was not carried out
  bool has_running_stats = false;  // arguments 3 and 4 are written, and the schema does not say so

  bool writes(size_t argument) const { return (written >> std::min<size_t>(argument, 31) & 1) != 0; }
};

OperatorTraits facts_of(const c10::OperatorHandle& op, uint32_t written);
std::optional<c10::OperatorHandle> operator_of(const at::RecordFunction& function);

// Operators whose results have as many elements as values say: see data_dependent.cpp.
bool is_data_dependent(std::string_view name);

}  // namespace tapelens::simulated
