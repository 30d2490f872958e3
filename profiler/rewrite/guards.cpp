// See guards.h.
#include "profiler/rewrite/guards.h"

namespace tapelens::rewrite::guards {

// Of a view the gradient may be its base's: LibTorch knows.
bool has_forward_gradient(const at::Tensor& tensor) { return tensor._fw_grad(0).defined(); }

}  // namespace tapelens::rewrite::guards
