// The requests that failed because a device had no memory left.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/model.h"
#include "analyzer/model/text.h"
#include "analyzer/peak/frame_names.h"

namespace tapelens::peak {

struct OutOfMemory {
  std::string device;
  model::Time time;
  model::Bytes bytes;                // size of the block
  model::Bytes allocated, reserved;  // totals of the allocator
  std::optional<model::Bytes> free;  // free bytes of the device, from its driver
  model::Bytes largest_hole;         // largest free block in the segments
  std::string op, module, source;
  std::vector<Frame> stack;
};

// In the order of time.
std::vector<OutOfMemory> out_of_memory(const model::Process& process, const model::Text& text);
// "cuda:0 had no room for 1.5 GiB, train.py:12 forward (Net.layer)".
std::string out_of_memory_text(const OutOfMemory& full);

}  // namespace tapelens::peak
