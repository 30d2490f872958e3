// The mouse and the keyboard in the timeline.
#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QNativeGestureEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "analyzer/text/format.h"
#include "gui/models/facts.h"
#include "gui/models/out_of_memory.h"
#include "gui/timeline/scene.h"
#include "gui/timeline/timeline_view.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {
constexpr double kZoomStep = 1.25;  // for one step of the wheel
constexpr double kPanStep = 0.1;    // share of the shown range
}  // namespace

// ---- the mouse

void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (!lanes_ || event->button() != Qt::LeftButton) return;
  scene();
  pressed_ = dragged_ = event->pos();
  has_moved_ = false;
  const LaneKind lane = lanes_->at(pressed_);
  if (lane == LaneKind::minimap) {
    drag_ = Drag::minimap;
    mouseMoveEvent(event);
  } else if ((event->modifiers() & Qt::ShiftModifier) != 0) {
    drag_ = Drag::choose;
    chosen_from_ = hit().time_at(pressed_.x());
  } else {
    drag_ = Drag::pan;
  }
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  if (!lanes_) return;
  const QPoint place = event->pos();
  cursor_ = place;
  scene();
  if (drag_ == Drag::none) {
    hover(place);
    return;
  }
  if (!has_moved_ && drag_ != Drag::minimap &&
      (place - pressed_).manhattanLength() < QApplication::startDragDistance()) {
    return;
  }
  has_moved_ = true;
  QToolTip::hideText();
  const Time whole = session_.document()->facts().duration;
  switch (drag_) {
    case Drag::pan:
      setCursor(Qt::ClosedHandCursor);
      look_at(picture::panned(scene_->axis, (dragged_.x() - place.x()) * scene_->ratio, whole));
      break;
    case Drag::choose: {
      const Time to = hit().time_at(place.x());
      chosen_ = Interval{std::min(chosen_from_, to), std::max(chosen_from_, to)};
      Q_EMIT hintChanged();
      update();
      break;
    }
    case Drag::minimap: {
      const QRect& map = lanes_->minimap;
      const double x = std::clamp(place.x() - map.left(), 0, map.width());
      const Time time = minimap_axis(session_, map.width(), 1).time_of(x);
      look_at(picture::panned(scene_->axis, scene_->axis.x_of(time) - scene_->axis.width / 2.0, whole));
      break;
    }
    case Drag::none:
      break;
  }
  dragged_ = place;
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  if (!lanes_ || event->button() != Qt::LeftButton) return;
  const Drag was = drag_;
  drag_ = Drag::none;
  unsetCursor();
  if (was == Drag::choose && has_moved_) session_.select_range(chosen_);
  if (!has_moved_ && was != Drag::minimap) click(event->pos());
  update();
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (!lanes_) return;
  scene();
  const QPoint place = event->pos();
  switch (lanes_->at(place)) {
    case LaneKind::bands:
      if (const Interval* step = hit().step_at(place)) show_interval(*step);
      break;
    case LaneKind::track:
      if (const uint32_t span = hit().span_at(place); span != UINT32_MAX) {
        Interval when = picture::span_time(session_.subject().of.process, span);
        when.end = std::min(when.end, session_.document()->facts().duration);
        show_interval(when);
      }
      break;
    case LaneKind::blocks:
      if (const AllocationId id = hit().allocation_at(place)) {
        const Process& p = session_.subject().of.process;
        show_interval({p.allocations.time[id], std::min(p.freed(id), p.duration)});
      }
      break;
    default:
      zoom(4);
  }
}

void TimelineView::click(QPoint place) {
  ViewState next = session_.view();
  clear_chosen();
  if (const model::OutOfMemoryId request = out_of_memory_at(place)) {
    session_.look(at_out_of_memory(session_, request));
    return;
  }
  switch (lanes_->at(place)) {
    case LaneKind::blocks:
      next.allocation = hit().allocation_at(place);
      break;
    case LaneKind::curve:
    case LaneKind::axis:
      next.at = hit().highest_at(place.x());
      if (next.at->time == session_.subject().device.when.time) next.at.reset();
      break;
    case LaneKind::bands: {
      const Interval* step = hit().step_at(place);
      const model::Bands& bands = session_.subject().of.bands;
      next.step = step == nullptr ? UINT32_MAX : bands.first_step + static_cast<uint32_t>(step - bands.steps.data());
      break;
    }
    case LaneKind::other:
      for (const Lanes::Other& other : lanes_->others) {
        if (!other.where.contains(place)) continue;
        next.subject = other.subject;
        next.allocation = {};
        next.at.reset();
        next.step = UINT32_MAX;
      }
      break;
    default:
      return;
  }
  session_.look(next);
}

void TimelineView::leaveEvent(QEvent*) {
  cursor_.reset();
  hovered_ = {};
  Q_EMIT hintChanged();
  update();
}

void TimelineView::wheelEvent(QWheelEvent* event) {
  // Left of the pictures, the wheel scrolls the lanes.
  if (!lanes_ || event->position().x() < lanes_->picture_left()) {
    event->ignore();
    return;
  }
  event->accept();
  const Scene& s = scene();
  const Time whole = session_.document()->facts().duration;
  cursor_ = event->position().toPoint();
  const QPointF notches = QPointF(event->angleDelta()) / 120.0;
  const bool is_bytes = (event->modifiers() & Qt::ControlModifier) != 0 && lanes_->at(*cursor_) == LaneKind::blocks &&
                        session_.has(Part::blocks);
  if (is_bytes) {
    const picture::ByteAxis axis = byte_axis();
    const int64_t extent = std::max<int64_t>(1, session_.subject().blocks->extent());
    const double factor = std::pow(kZoomStep, notches.y());
    const int64_t at = axis.byte_of((event->position().y() - lanes_->blocks.top()) * s.ratio);
    const double share = static_cast<double>(at - axis.begin) / static_cast<double>(axis.end - axis.begin);
    const auto length = std::clamp<int64_t>(std::llround(static_cast<double>(axis.end - axis.begin) / factor),
                                            std::min<int64_t>(extent, 64), extent);
    const int64_t begin =
        std::clamp<int64_t>(at - std::llround(share * static_cast<double>(length)), 0, extent - length);
    bytes_.emplace(begin, begin + length);
    // Zooming out stops at the initial range; one more step shows the small allocations.
    const int64_t shown = session_.subject().blocks->shown();
    if (axis.end - axis.begin < shown && length >= shown) bytes_.reset();
    refresh();
    return;
  }
  const double across = (event->modifiers() & Qt::ShiftModifier) != 0 ? notches.y() + notches.x() : notches.x();
  if (across != 0) {
    look_at(picture::panned(s.axis, -across * kPanStep * s.axis.width, whole));
  } else if (notches.y() != 0) {
    const double x = (event->position().x() - lanes_->picture_left()) * s.ratio;
    look_at(picture::zoomed(s.axis, std::clamp(x, 0.0, 1.0 * s.axis.width), std::pow(kZoomStep, notches.y()), whole));
  }
}

bool TimelineView::event(QEvent* event) {
  if (event->type() == QEvent::NativeGesture && lanes_) {
    auto* gesture = static_cast<QNativeGestureEvent*>(event);
    if (gesture->gestureType() == Qt::ZoomNativeGesture) {
      cursor_ = gesture->position().toPoint();
      zoom(std::exp(gesture->value()));
      return true;
    }
  }
  return QWidget::event(event);
}

// ---- the keyboard

void TimelineView::keyPressEvent(QKeyEvent* event) {
  if (!lanes_) return;
  switch (event->key()) {
    case Qt::Key_W:
    case Qt::Key_Up:
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return zoom(kZoomStep * kZoomStep);
    case Qt::Key_S:
    case Qt::Key_Down:
    case Qt::Key_Minus:
      return zoom(1 / (kZoomStep * kZoomStep));
    case Qt::Key_A:
    case Qt::Key_Left:
      return pan(-kPanStep);
    case Qt::Key_D:
    case Qt::Key_Right:
      return pan(kPanStep);
    case Qt::Key_P:
      return show_peak();
    case Qt::Key_F:
    case Qt::Key_Home:
      return show_all();
    case Qt::Key_BracketLeft:
      return next_step(-1);
    case Qt::Key_BracketRight:
      return next_step(1);
    case Qt::Key_Comma:
      return next_allocation(-1);
    case Qt::Key_Period:
      return next_allocation(1);
    case Qt::Key_O:
      return next_out_of_memory((event->modifiers() & Qt::ShiftModifier) != 0 ? -1 : 1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (chosen_) {
        show_interval(*chosen_);
        clear_chosen();
      }
      return;
    case Qt::Key_Escape: {
      clear_chosen();
      ViewState next = session_.view();
      next.allocation = {};
      next.at.reset();
      next.step = UINT32_MAX;
      session_.look(next);
      update();
      return;
    }
    case Qt::Key_Slash:
      Q_EMIT search();
      return;
    default:
      QWidget::keyPressEvent(event);
  }
}

void TimelineView::resizeEvent(QResizeEvent*) { lay_out(); }

void TimelineView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) lay_out();
  QWidget::changeEvent(event);
}

// ---- the cursor

void TimelineView::hover(QPoint place) {
  hovered_ = hit().allocation_at(place);
  if (const QString words = tip_at(place); words.isEmpty()) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(mapToGlobal(place) + QPoint(12, 12), words, this);
  }
  Q_EMIT hintChanged();
  update();
}

model::OutOfMemoryId TimelineView::out_of_memory_at(QPoint place) const {
  for (const RequestMark& mark : out_of_memory_) {
    if (mark.where.contains(place)) return mark.request;
  }
  return {};
}

// The clickable area is larger than the drawn line.
bool TimelineView::is_small_line(QPoint place) const {
  if (!session_.has(Part::blocks) || place.y() > lanes_->blocks.top() + 2 * kSmallLine) return false;
  const picture::Blocks& blocks = *session_.subject().blocks;
  return blocks.has_small() && byte_axis().end <= blocks.small_from();
}

QString TimelineView::tip_at(QPoint place) const {
  if (const model::OutOfMemoryId request = out_of_memory_at(place)) return out_of_memory_tip(session_, request);
  switch (lanes_->at(place)) {
    case LaneKind::blocks:
      if (is_small_line(place)) return small_tip(session_.subject());
      return hovered_ ? allocation_tip(session_, hovered_) : QString();
    case LaneKind::axis:
      return break_tip(*scene_, static_cast<int>(hit().column_at(place.x())));
    case LaneKind::curve: {
      const size_t column = hit().column_at(place.x());
      const QString pause = break_tip(*scene_, static_cast<int>(column));
      return pause.isEmpty() ? column_tip(*scene_, column) : pause;
    }
    case LaneKind::bands: {
      const Interval* step = hit().step_at(place);
      return step == nullptr ? QString() : step_tip(session_, *step, hit().time_at(place.x()));
    }
    case LaneKind::track: {
      const uint32_t span = hit().span_at(place);
      return span == UINT32_MAX ? QString() : span_tip(session_, span);
    }
    case LaneKind::other:
      for (const Lanes::Other& other : lanes_->others) {
        if (other.where.contains(place)) return subject_tip(session_.document()->subject(other.subject));
      }
      return {};
    default:
      return {};
  }
}

void TimelineView::clear_chosen() {
  if (!chosen_) return;
  chosen_.reset();
  session_.select_range({});
  Q_EMIT hintChanged();
  update();
}

QString TimelineView::hint() const {
  if (!lanes_ || !scene_) return {};
  const Subject& subject = session_.subject();
  if (chosen_) {
    const auto totals = subject.timeline.allocated(*chosen_);
    return tr("%1 chosen: %2, %3 in all, at most %4 alive. Enter zooms, Esc clears")
        .arg(time_words(Time{chosen_->end.ns - chosen_->begin.ns}),
             QString::fromStdString(text::plural(totals.allocations, "allocation", "allocations")),
             bytes_words(totals.bytes), bytes_words(subject.timeline.largest(*chosen_).bytes));
  }
  if (!cursor_ || cursor_->x() < lanes_->picture_left()) return {};
  const Time time = hit().time_at(cursor_->x());
  QString words =
      tr("%1: %2 alive").arg(time_words(time), bytes_words(subject.timeline.live(subject.timeline.at(time))));
  if (!subject.lines) return words;
  const peak::DeviceMemory& memory = subject.lines->memory;
  words += tr(", %1 allocated").arg(bytes_words(Bytes{memory.allocated.at(time)}));
  if (const int64_t waiting = memory.waiting.at(time); waiting > 0)
    words += tr(", %1 wait for a stream").arg(bytes_words(Bytes{waiting}));
  if (!subject.lines->reserved.is_flat())
    words += tr(", %1 reserved").arg(bytes_words(Bytes{memory.reserved.at(time)}));
  return words;
}

}  // namespace tapelens::gui
