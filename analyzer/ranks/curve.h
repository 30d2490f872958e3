// The memory of a device over a run in at most 256 numbers, so that runs of other speed and length can be laid over
// each other: points are parts of steps, not of seconds.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/model/steps.h"

namespace tapelens::ranks {

struct Curve {
  static constexpr size_t kMostPoints = 256;
  static constexpr int kFinest = 5, kCoarsest = -32;

  // A step has 2^exponent points; with less than 0, a point is 2^-exponent steps.
  int exponent = 0;
  uint64_t first = 0;         // the number of the first point: step 0 begins with point 0
  std::vector<int64_t> most;  // bytes that were alive in each at most

  friend bool operator==(const Curve&, const Curve&) = default;
};

// Steps follow one another.
Curve curve_of(const model::Process& process, model::DeviceId device, const std::vector<model::Step>& steps);

// With fewer points; `exponent` is not greater than the curve's.
Curve coarser(const Curve& curve, int exponent);

// The least, the median and the most of several curves, as far as one of them reaches; as fine as the coarsest of them.
struct Envelope {
  int exponent = 0;
  uint64_t first = 0;
  std::vector<int64_t> least, median, most;
};
Envelope envelope_of(const std::vector<const Curve*>& curves);

}  // namespace tapelens::ranks
