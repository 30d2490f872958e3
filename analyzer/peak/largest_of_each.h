// The curve of a device as few numbers, for callers that do not need a Timeline.
#pragma once

#include <vector>

#include "analyzer/model/model.h"

namespace tapelens::peak {

// Returns Timeline::largest of each interval. It takes one pass over the events, without a Timeline's memory. The
// intervals are in order and do not overlap.
std::vector<model::Bytes> largest_of_each(const model::Process& process, model::DeviceId device,
                                          const std::vector<model::Interval>& intervals);

}  // namespace tapelens::peak
