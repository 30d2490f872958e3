// The ordinary tensors that a wrapper subclass consists of (DTensor, jagged nested tensors, quantized ones: any class
// with __tensor_flatten__), which have the memory that the wrapper itself has not.
#pragma once

#include <vector>

#include "profiler/observe/named_tensors.h"

namespace tapelens::observe {

// May it be a wrapper? Plain tensors are told apart by a bit of theirs.
inline bool may_be_wrapper(const c10::TensorImpl& tensor) { return tensor.is_python_dispatch(); }

// By path: "._local_tensor"; "._values._local_tensor" of a wrapper in a wrapper. Empty: not such a class, or one that
// would not say; also while a compiler traces. Runs the class's own __tensor_flatten__. For tensors that
// may_be_wrapper().
std::vector<NamedTensor> inner_tensors(Thread& thread, const at::Tensor& tensor);

}  // namespace tapelens::observe
