// What the allocator of a device held over time, a column a pixel: lines over the live bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/peak/device_memory.h"
#include "gui/picture/axis.h"

namespace tapelens::picture {

using model::Bytes;

// A curve with the largest values of its blocks, and of blocks of those, so that a column costs what it shows and not
// what happened in it.
class Line {
 public:
  // The curve stays where it is.
  explicit Line(const peak::StepCurve& curve);

  bool is_flat() const { return curve_.time.empty(); }  // always 0
  // The most in each column, what was there at its begin included.
  void columns(const TimeAxis& axis, std::vector<Bytes>& out) const;

 private:
  static constexpr size_t kBlock = 16;
  int64_t most(size_t first, size_t last) const;

  const peak::StepCurve& curve_;
  std::vector<std::vector<int64_t>> most_;  // of kBlock values, of kBlock of those, and so on
};

struct DeviceLines {
  explicit DeviceLines(const peak::DeviceMemory& of);
  DeviceLines(const DeviceLines&) = delete;
  DeviceLines& operator=(const DeviceLines&) = delete;

  const peak::DeviceMemory& memory;
  peak::StepCurve active_bytes;  // allocated and waiting; nothing, if no block ever waited
  Line allocated, active, reserved;
  Bytes most;  // of all of them
};

}  // namespace tapelens::picture
