// See guards.h.
#include "profiler/rewrite/guards.h"

namespace tapelens::rewrite::guards {

// The gradient of a view may be on its base: LibTorch's _fw_grad() handles that.
bool has_forward_gradient(const at::Tensor& tensor) { return tensor._fw_grad(0).defined(); }

}  // namespace tapelens::rewrite::guards
