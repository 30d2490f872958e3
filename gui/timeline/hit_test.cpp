#include <algorithm>

#include "gui/timeline/lanes.h"

namespace tapelens::gui {

Time HitTest::time_at(int x) const {
  return scene.axis.time_of(std::clamp((x - lanes.picture_left()) * scene.ratio, 0.0, 1.0 * scene.axis.width));
}

size_t HitTest::column_at(int x) const {
  return static_cast<size_t>(
      std::clamp<double>((x - lanes.picture_left()) * scene.ratio, 0, static_cast<double>(scene.columns.size()) - 1));
}

peak::Moment HitTest::highest_at(int x) const {
  return scene.subject.timeline.moment_after_first(scene.columns[column_at(x)].events);
}

AllocationId HitTest::allocation_at(QPoint place) const {
  if (!session.has(Part::blocks) || lanes.at(place) != LaneKind::blocks) return {};
  const int64_t byte = bytes.byte_of((place.y() - lanes.blocks.top() + 0.5) * scene.ratio);
  const picture::Blocks& blocks = *scene.subject.blocks;
  if (const AllocationId here = blocks.at(time_at(place.x()), byte)) return here;
  // For blocks narrower than a pixel, a column shows those that are alive at its highest time.
  return blocks.at(highest_at(place.x()).time, byte);
}

uint32_t HitTest::span_at(QPoint place) const {
  for (const Lanes::Thread& thread : lanes.threads) {
    if (!thread.where.contains(place)) continue;
    const auto row = static_cast<size_t>((place.y() - thread.where.top()) / lanes.row_height);
    if (row < thread.track->rows.size()) return picture::Tracks::at(thread.track->rows[row], time_at(place.x()));
  }
  return UINT32_MAX;
}

const Interval* HitTest::step_at(QPoint place) const {
  const auto& steps = scene.subject.of.bands.steps;
  const Time time = time_at(place.x());
  const auto at = std::ranges::find_if(steps, [&](const Interval& step) { return step.contains(time); });
  return at == steps.end() ? nullptr : &*at;
}

QRect HitTest::block_of(AllocationId allocation) const {
  const Subject& subject = scene.subject;
  if (!allocation || !session.has(Part::blocks) || subject.blocks->place(allocation) < 0) return {};
  const Process& p = subject.of.process;
  const int64_t place = subject.blocks->place(allocation);
  const double top = bytes.y_of(place + p.allocations.bytes[allocation].value) / scene.ratio,
               bottom = bytes.y_of(place) / scene.ratio;
  const double x0 = scene.x_of(p.allocations.time[allocation]),
               x1 = scene.x_of(std::min(p.freed(allocation), p.duration));
  const QRect& lane = lanes.blocks;
  const QRectF r(QPointF(std::max(x0, lane.left() - 2.0), lane.top() + top),
                 QPointF(std::min(x1, lane.right() + 2.0), lane.top() + bottom));
  return r.toAlignedRect().intersected(lane.adjusted(-2, 0, 2, 0));
}

}  // namespace tapelens::gui
