// The treatment of an operator, by its name and schema.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <optional>

namespace tapelens::fake_kernels {

struct OperatorTraits {
  enum class What : uint8_t {
    nothing,  // it makes no values: a view, a composite of others, an allocation
    carried,  // its CUDA kernel does nothing; its CPU kernel is called instead
    opaque,   // the result of its CUDA kernel is unknown: random numbers, cuDNN, a third party's
  };
  What what = What::nothing;
  std::optional<c10::OperatorHandle> op;
  uint32_t written = 0;            // as observe::OperatorName
  bool reads_written = true;       // it also reads its written arguments: add_ does, fill_ and out= do not
  bool trusts_integers = true;     // a CPU kernel may access memory out of bounds if a tensor's integers are wrong
  bool is_backward = false;        // its integers come from a forward that checked them, unless that was not executed
  bool has_running_stats = false;  // arguments 3 and 4 are written, although the schema does not declare it

  bool writes(size_t argument) const { return (written >> std::min<size_t>(argument, 31) & 1) != 0; }
};

OperatorTraits facts_of(const c10::OperatorHandle& op, uint32_t written);
std::optional<c10::OperatorHandle> operator_of(const at::RecordFunction& function);

// Operators whose result sizes depend on values: see data_dependent.cpp.
bool is_data_dependent(std::string_view name);
// Installs kernels for them in front of CUDA's.
void replace_data_dependent();

}  // namespace tapelens::fake_kernels
