// Stands in for values that are never read: a tensor of the same shape over zeros that take no memory.
#pragma once

#include "profiler/rewrite/geometry.h"
#include "profiler/rewrite/rewrite.h"

namespace tapelens::rewrite {

// All never-read tensors share one region of zeros. On the CPU these are unbacked read-only pages. On a GPU the driver
// maps one page of its memory repeatedly (device_zeros.h). With `poison`, decode() instead returns memory filled with
// NaN (integers: 0), so that an unexpected read shows in a gradient.
class StandIn final : public Encoding {
 public:
  StandIn(const at::Tensor& tensor, bool poison) : geometry_(tensor), poison_(poison) {}
  at::Tensor decode() const override;
  uint64_t bytes() const override { return 0; }

  // Whether a stand-in of this size is possible on the device.
  static bool has_room(c10::Device device, uint64_t bytes);

 private:
  Geometry geometry_;
  bool poison_;
};

}  // namespace tapelens::rewrite
