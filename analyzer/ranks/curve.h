// The memory of a device over a run in at most 256 numbers. Points are parts of steps, not of seconds, so that runs of
// different speed and length are comparable.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/model/steps.h"

namespace tapelens::ranks {

struct Curve {
  static constexpr size_t kMostPoints = 256;
  static constexpr int kFinest = 5, kCoarsest = -32;

  // A step has 2^exponent points; if negative, a point covers 2^-exponent steps.
  int exponent = 0;
  uint64_t first = 0;         // number of the first point: step 0 begins with point 0
  std::vector<int64_t> most;  // the most live bytes at each point

  friend bool operator==(const Curve&, const Curve&) = default;
};

// `steps` must be consecutive.
Curve curve_of(const model::Process& process, model::DeviceId device, const std::vector<model::Step>& steps);

// With fewer points; `exponent` is at most the curve's.
Curve coarser(const Curve& curve, int exponent);

// Minimum, median and maximum of several curves, over the points that any of them covers. As coarse as the coarsest
// curve.
struct Envelope {
  int exponent = 0;
  uint64_t first = 0;
  std::vector<int64_t> least, median, most;
};
Envelope envelope_of(const std::vector<const Curve*>& curves);

}  // namespace tapelens::ranks
