// The curve of a device in few numbers, for whoever wants no more of it than that.
#pragma once

#include <vector>

#include "analyzer/model/model.h"

namespace tapelens::peak {

// What Timeline::largest answers of each interval, in one pass over the events and without its memory. Intervals follow
// one another.
std::vector<model::Bytes> largest_of_each(const model::Process& process, model::DeviceId device,
                                          const std::vector<model::Interval>& intervals);

}  // namespace tapelens::peak
