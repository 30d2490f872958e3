// The geometry of the timeline's lanes, and the objects at a place in them.
#pragma once

#include <QRect>
#include <QSize>
#include <vector>

#include "gui/models/session.h"
#include "gui/timeline/scene.h"

namespace tapelens::gui {

enum class LaneKind : uint8_t { none, minimap, axis, bands, curve, blocks, other, track };

struct Lanes {
  Lanes(const Session& session, QSize size, int text_height, int gutter);

  int gutter = 0;  // width left of the pictures, for names and marks
  QRect minimap, axis, bands, curve, blocks;
  struct Other {
    QRect where;
    size_t subject;
  };
  std::vector<Other> others;
  struct Thread {
    QRect where;
    const picture::Track* track;
  };
  std::vector<Thread> threads;
  int row_height = 0;    // height of a thread's rows
  int least_height = 0;  // least height that fits all lanes

  LaneKind at(QPoint place) const;
  int bottom() const;  // the lowest lane's
  int picture_left() const { return curve.left(); }
  int picture_width() const { return curve.width(); }
};

// Finds objects of the timeline: from a place in the widget to a time, an allocation, an operator or a step, and back.
// Uses the data of the painted frame; made for one event only.
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
