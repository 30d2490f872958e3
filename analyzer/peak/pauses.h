// The long stretches of a run in which nothing happens on a device: imports, compilation, waits for data, the end of
// the program. Pictures draw them narrow, so that the rest is wide enough to read.
#pragma once

#include <vector>

#include "analyzer/model/model.h"

namespace tapelens::peak {

struct Pauses {
  // In the order of time, without overlaps. Empty: the pauses are too short to matter.
  std::vector<model::Interval> all;
  // In a picture of the whole run, each pause is as wide as this time, in ns. It is at most a third of any pause.
  double narrow = 0;
};

// A stretch is a pause if it has no allocation or free of the device, no operator that uses or allocates its memory,
// and no border of a step, and if it is at least three times as long as it is drawn. The pauses take at least half of
// [0, process.duration), and have 16 events on average between two of them. Stretches below 1/4096 of the recording are
// never pauses. The function keeps the longest of these pauses: as few as make the rest at least half as wide as all of
// them would, and those that are similarly long. Takes one pass over the events.
Pauses find_pauses(const model::Process& process, model::DeviceId device);

}  // namespace tapelens::peak
