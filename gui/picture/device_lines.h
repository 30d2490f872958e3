// The memory of a device's allocator over time, one column a pixel: lines over the live bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/peak/device_memory.h"
#include "gui/picture/axis.h"

namespace tapelens::picture {

using model::Bytes;

// A curve with the maximum of each block of values, and of blocks of those. The cost of a column does not depend on the
// number of its events.
class Line {
 public:
  // The curve must outlive this object.
  explicit Line(const peak::StepCurve& curve);

  bool is_flat() const { return curve_.time.empty(); }  // always 0
  // The maximum of each column, including the value at its begin.
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
  peak::StepCurve active_bytes;  // allocated and waiting; empty if no block ever waited
  Line allocated, active, reserved;
  Bytes most;  // maximum of all
};

}  // namespace tapelens::picture
