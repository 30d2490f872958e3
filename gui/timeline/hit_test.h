// What is where in the timeline: from a place in the widget to a time, an allocation, an operator or a step, and back.
// Looks at what the frame was painted from; made for one event and not kept.
#pragma once

#include "gui/timeline/lanes.h"
#include "gui/timeline/scene.h"

namespace tapelens::gui {

struct HitTest {
  const Session& session;
  const Lanes& lanes;
  const Scene& scene;
  picture::ByteAxis bytes;  // of the lane of blocks, in pixels of the device; of no use before Part::blocks is there

  Time time_at(int x) const;
  size_t column_at(int x) const;                   // of scene.columns
  peak::Moment highest_at(int x) const;            // that the column shows
  AllocationId allocation_at(QPoint place) const;  // none: nothing is there
  uint32_t span_at(QPoint place) const;            // of picture::Tracks; UINT32_MAX: none
  const Interval* step_at(QPoint place) const;     // null: none
  QRect block_of(AllocationId allocation) const;   // empty: it has none
};

}  // namespace tapelens::gui
