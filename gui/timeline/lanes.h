// The geometry of the timeline's lanes.
#pragma once

#include <QRect>
#include <QSize>
#include <vector>

#include "gui/models/session.h"

namespace tapelens::gui {

enum class Lane : uint8_t { none, minimap, axis, bands, curve, blocks, other, track };

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

  Lane at(QPoint place) const;
  int picture_left() const { return curve.left(); }
  int picture_width() const { return curve.width(); }
};

}  // namespace tapelens::gui
