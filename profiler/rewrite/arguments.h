// The tensors in an operator's arguments and results.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "profiler/rewrite/storage_versions.h"

namespace tapelens::rewrite {

// Calls take(tensor) for each tensor of an argument: a tensor, or lists of tensors.
template <class Take>
void each_tensor(const c10::IValue& argument, const Take& take) {
  if (argument.isTensor()) {
    if (argument.toTensor().defined()) take(argument.toTensor());
  } else if (argument.isList()) {
    for (const c10::IValue& element : argument.toListRef()) {
      if (!element.isTensor() && !element.isList()) break;
      each_tensor(element, take);
    }
  }
}

// Calls take(storage) for the storage of each.
template <class Take>
void each_storage(const c10::IValue& argument, const Take& take) {
  each_tensor(argument, [&](const at::Tensor& tensor) {
    if (!tensor.has_storage()) return;
    // A functorch wrapper answers for its wrapped tensor, and itself has no storage.
    if (auto* storage = storage_of(tensor)) take(*storage);
  });
}

}  // namespace tapelens::rewrite
