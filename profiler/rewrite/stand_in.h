// What stands for values that nobody reads: a tensor of the same shape over zeros that take no memory.
#pragma once

#include "profiler/rewrite/geometry.h"
#include "profiler/rewrite/rewrite.h"

namespace tapelens::rewrite {

// Everything that is never read shares one region of zeros: on the CPU read-only pages that are not there; on a GPU one
// page of its memory, which is mapped again and again by the driver (device_zeros.h). With `poison` each decode is
// filled with NaN (integers: 0) instead, which shows at once in a gradient if it is read after all.
class StandIn final : public Encoding {
 public:
  StandIn(const at::Tensor& tensor, bool poison) : geometry_(tensor), poison_(poison) {}
  at::Tensor decode() const override;
  uint64_t bytes() const override { return 0; }

  // Whether a tensor with so many bytes can be stood in for on that device.
  static bool has_room(c10::Device device, uint64_t bytes);

 private:
  Geometry geometry_;
  bool poison_;
};

}  // namespace tapelens::rewrite
