// The ordinary tensors that a wrapper subclass consists of and that own its memory. Wrapper subclasses are DTensor,
// jagged nested tensors, quantized tensors and any other class with __tensor_flatten__.
#pragma once

#include <vector>

#include "profiler/observe/named_tensors.h"

namespace tapelens::observe {

// Whether the tensor may be a wrapper. One bit of a tensor excludes plain tensors.
inline bool may_be_wrapper(const c10::TensorImpl& tensor) { return tensor.is_python_dispatch(); }

// The inner tensors by path: "._local_tensor"; "._values._local_tensor" for a wrapper in a wrapper. Empty if the class
// is not a wrapper, if its __tensor_flatten__ fails, or while a compiler traces. Runs the class's own
// __tensor_flatten__. Requires may_be_wrapper().
std::vector<NamedTensor> inner_tensors(Thread& thread, const at::Tensor& tensor);

}  // namespace tapelens::observe
