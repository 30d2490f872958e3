// Tensors of the simulated GPU as CPU tensors: its memory is memory of this process.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstddef>
#include <optional>
#include <span>

#include "profiler/fake_kernels/regions.h"
#include "simulated/known/known.h"

namespace tapelens::fake_kernels {

// The interface to the simulated GPU's library: which of its bytes are known. Set before the first hook.
extern const simulated::KnownTable* g_device;
// Null if the library is not loaded, or from another installation.
const simulated::KnownTable* find_device();

enum class Sort : uint8_t {
  undefined,
  host,
  device,
  other,  // a subclass, a fake, batched or functional tensor, a sparse, nested or quantized one, one without memory
};
Sort sort_of(const at::Tensor& tensor);

// Requires a tensor of Sort::device or Sort::host.
Extent extent_of(const at::Tensor& tensor);
// Whether its extent, including gaps between elements, has at most simulated::kKeptBytes.
bool is_small(const at::Tensor& tensor);

// A CPU tensor with the same geometry, whose extent begins at `memory`.
at::Tensor alias(const at::Tensor& tensor, char* memory);

// For a small tensor on the device: all of its elements, without the gaps between them.
bool is_known(const at::Tensor& tensor);
void set_known(const at::Tensor& tensor, bool known);
// For a tensor of any size: from its first byte to its last.
void set_unknown(const at::Tensor& tensor);

// Calls take(tensor, number of the argument) for each tensor of a call, also in lists. False if an argument's kind
// cannot be moved to another device.
template <class Take>
bool each_tensor(std::span<const c10::IValue> arguments, Take take) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::IValue& value = arguments[i];
    if (value.isTensor()) {
      take(value.toTensor(), i);
    } else if (value.isList()) {
      for (const c10::IValue& element : value.toListRef())
        if (element.isTensor()) take(element.toTensor(), i);
    } else if (value.isGenerator() || value.isStorage() || value.isStream() || value.isObject() ||
               value.isCustomClass() || value.isSymInt() || value.isSymFloat() || value.isSymBool()) {
      return false;
    }
  }
  return true;
}

// The same arguments with `change(tensor)` in place of each tensor, and the CPU in place of each CUDA device.
template <class Change>
c10::IValue changed(const c10::IValue& value, Change change) {
  if (value.isTensor()) return change(value.toTensor());
  if (value.isDevice() && value.toDevice().is_cuda()) return c10::Device(c10::kCPU);
  if (!value.isList()) return value;
  const auto elements = value.toListRef();
  if (std::ranges::none_of(elements, [](const c10::IValue& element) { return element.isTensor(); })) return value;
  c10::impl::GenericList list(value.toList().elementType());
  for (const c10::IValue& element : elements)
    list.push_back(element.isTensor() ? c10::IValue(change(element.toTensor())) : element);
  return list;
}

}  // namespace tapelens::fake_kernels
