// Finds objects of the timeline: from a place in the widget to a time, an allocation, an operator or a step, and back.
// Uses the data of the painted frame; made for one event only.
#pragma once

#include "gui/timeline/lanes.h"
#include "gui/timeline/scene.h"

namespace tapelens::gui {

struct HitTest {
  const Session& session;
  const Lanes& lanes;
  const Scene& scene;
  picture::ByteAxis bytes;  // scale of the lane of blocks, in pixels of the device; invalid before Part::blocks exists

  Time time_at(int x) const;
  size_t column_at(int x) const;                   // index into scene.columns
  peak::Moment highest_at(int x) const;            // that the column shows
  AllocationId allocation_at(QPoint place) const;  // none: no allocation
  uint32_t span_at(QPoint place) const;            // of picture::Tracks; UINT32_MAX: no span
  const Interval* step_at(QPoint place) const;     // null: no step
  QRect block_of(AllocationId allocation) const;   // empty: no block
};

}  // namespace tapelens::gui
