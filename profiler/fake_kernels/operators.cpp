#include "profiler/fake_kernels/operators.h"

#include <ATen/core/function_schema.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tapelens::fake_kernels {
namespace {

using What = OperatorTraits::What;

// Operators that allocate or inspect memory, and write no values.
constexpr std::string_view kNoValues[] = {"aten::resize_",
                                          "aten::_resize_output_",
                                          "aten::set_",
                                          "aten::record_stream",
                                          "aten::_pin_memory",
                                          "aten::is_set_to",
                                          "aten::_local_scalar_dense",
                                          "aten::_efficientzerotensor"};
constexpr std::string_view kOverwriting[] = {"aten::fill_", "aten::zero_", "aten::copy_", "aten::_foreach_zero_",
                                             "aten::_foreach_copy_"};

// In addition to pointwise operators: none of their integer tensors is an index.
constexpr std::string_view kNoIndices[] = {
    "aten::cat",  "aten::sum",  "aten::prod", "aten::cumsum",  "aten::any",    "aten::all",    "aten::max",
    "aten::min",  "aten::amax", "aten::amin", "aten::aminmax", "aten::argmax", "aten::argmin", "aten::isin",
    "aten::sort", "aten::topk", "aten::tril", "aten::triu",    "aten::flip",   "aten::roll"};

template <size_t count>
bool is_among(const std::string_view (&names)[count], std::string_view name) {
  return std::ranges::find(names, name) != std::end(names);
}

bool is_view(const c10::FunctionSchema& schema) {
  return std::ranges::any_of(schema.returns(), [](const c10::Argument& made) {
    return made.alias_info() != nullptr && !made.alias_info()->isWrite();
  });
}

bool is_random(const c10::OperatorHandle& op) {
  return op.hasTag(at::Tag::nondeterministic_seeded) ||
         std::ranges::any_of(op.schema().arguments(),
                             [](const c10::Argument& argument) { return argument.name() == "generator"; });
}

What what_of(const c10::OperatorHandle& op, std::string_view name, bool writes) {
  // The device library implements NCCL's collectives: it copies known values.
  if (name.starts_with("c10d::") || name.starts_with("_c10d_functional::")) return What::nothing;
  const bool is_of_pytorch = name.starts_with("aten::") || name.starts_with("prim::");
  // It consists of operators that are executed themselves. A third party's may launch its own kernels.
  if (!op.hasKernelForDispatchKey(c10::DispatchKey::CUDA) && name != "aten::copy_") {
    return writes && !is_of_pytorch ? What::opaque : What::nothing;
  }
  if (is_view(op.schema()) || name.starts_with("aten::empty") || is_among(kNoValues, name) || is_data_dependent(name))
    return What::nothing;
  if (is_random(op) || !op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU)) return What::opaque;
  return What::carried;
}

}  // namespace

OperatorTraits facts_of(const c10::OperatorHandle& op, uint32_t written) {
  OperatorTraits facts;
  const std::string_view name = op.schema().name();
  facts.op = op;
  facts.written = written;
  facts.what = what_of(op, name, written != 0);
  const auto& arguments = op.schema().arguments();
  facts.reads_written =
      !is_among(kOverwriting, name) &&
      std::ranges::none_of(arguments, [](const c10::Argument& argument) { return argument.is_out(); });
  facts.trusts_integers = !op.hasTag(at::Tag::pointwise) && !is_among(kOverwriting, name) &&
                          !is_among(kNoIndices, name) && !name.starts_with("aten::_foreach_") &&
                          !name.starts_with("aten::_amp_");
  facts.is_backward = name.ends_with("backward");
  facts.has_running_stats = name.ends_with("batch_norm") || name.ends_with("batch_norm_with_update");
  return facts;
}

std::optional<c10::OperatorHandle> operator_of(const at::RecordFunction& function) {
  const auto name = function.operator_name();
  return name ? c10::Dispatcher::singleton().findSchema(*name) : std::nullopt;
}

}  // namespace tapelens::fake_kernels
