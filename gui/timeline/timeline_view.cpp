#include "gui/timeline/timeline_view.h"

#include <QFontMetrics>
#include <QPaintEvent>
#include <algorithm>
#include <cmath>

#include "gui/models/facts.h"
#include "gui/models/out_of_memory.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

TimelineView::TimelineView(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setAccessibleName(tr("Timeline"));
  connect(&session, &Session::opened, this, [this] {
    bytes_.reset();
    chosen_.reset();
    lay_out();
  });
  connect(&session, &Session::closed, this, [this] {
    scene_.reset();
    lanes_.reset();
    hovered_ = {};
    out_of_memory_.clear();
    refresh();
  });
  connect(&session, &Session::viewChanged, this, &TimelineView::follow);
  connect(&session, &Session::made, this, [this](Part part) {
    if (part == Part::tracks) {
      lay_out();
    } else {
      refresh();
    }
  });
  connect(&session, &Session::whatIfChanged, this, &TimelineView::refresh);
  connect(&session, &Session::foundChanged, this, &TimelineView::refresh);
  connect(&session, &Session::rangeChanged, this, [this] {
    if (!session_.selected_range() && drag_ == Drag::none) clear_chosen();
  });
  if (session.document() != nullptr) lay_out();
}

QSize TimelineView::minimumSizeHint() const { return {480, lanes_ ? lanes_->least_height : 400}; }

void TimelineView::follow(const ViewState& before) {
  if (before.subject != session_.view().subject) {
    bytes_.reset();
    hovered_ = {};
    lay_out();
    return;
  }
  const ViewState& now = session_.view();
  // The selection is painted over the frame, so it needs no new frame.
  if (before.axis != now.axis) whole_.clear();
  if (before.range != now.range || before.by != now.by || before.axis != now.axis || before.step != now.step) refresh();
  update();
}

void TimelineView::lay_out() {
  if (session_.document() == nullptr) return;
  const QFontMetrics metrics(small_font());
  lanes_ = std::make_unique<Lanes>(session_, size(), metrics.height(), metrics.horizontalAdvance("1023.9 MiB") + 14);
  whole_.clear();
  updateGeometry();
  setMinimumHeight(lanes_->least_height);
  refresh();
}

void TimelineView::refresh() {
  is_stale_ = true;
  scene_.reset();
  update();
}

const Scene& TimelineView::scene() {
  if (!scene_) {
    scene_ = std::make_unique<Scene>(session_, lanes_->picture_left(), lanes_->picture_width(), devicePixelRatioF());
  }
  return *scene_;
}

picture::ByteAxis TimelineView::byte_axis() const {
  const picture::Blocks& blocks = *session_.subject().blocks;
  const int height = std::max(1, static_cast<int>(std::lround(lanes_->blocks.height() * devicePixelRatioF())));
  const auto [begin, end] = bytes_.value_or(std::pair<int64_t, int64_t>{0, std::max<int64_t>(1, blocks.shown())});
  return {begin, end, height};
}

HitTest TimelineView::hit() const {
  return {session_, *lanes_, *scene_, session_.has(Part::blocks) ? byte_axis() : picture::ByteAxis{}};
}

// ---- painting

void TimelineView::render() {
  const double ratio = devicePixelRatioF();
  const QSize wanted(static_cast<int>(std::ceil(width() * ratio)), static_cast<int>(std::ceil(height() * ratio)));
  if (frame_.size() != wanted) frame_ = QImage(wanted, QImage::Format_RGB32);
  frame_.setDevicePixelRatio(ratio);
  if (lanes_) {
    ImageSurface surface(frame_);
    paint_lanes(surface);
  } else {
    frame_.fill(theme().window);
  }
  is_stale_ = false;
}

void TimelineView::paint_lanes(Surface& surface) {
  const Scene& s = scene();
  // Fills each pixel's background once, because a frame has eight megabytes.
  const Ground window{pixel(theme().window), 0, {}}, ground{pixel(theme().surface), 0, {}};
  const QRect& any = lanes_->curve;
  surface.fill(surface.device(QRect(0, 0, any.left(), height())), window);
  surface.fill(surface.device(QRect(any.left() + any.width(), 0, width() - any.left() - any.width(), height())),
               window);
  int y = 0;
  const auto lane = [&](const QRect& where, const Ground& filled) {
    surface.fill(surface.device(QRect(any.left(), y, any.width(), where.top() - y)), window);
    surface.fill(surface.device(where), filled);
    y = where.top() + where.height();
  };
  lane(lanes_->minimap, ground);
  lane(lanes_->axis, window);
  lane(lanes_->bands, window);
  lane(lanes_->curve, ground);
  lane(lanes_->blocks, ground);
  for (const Lanes::Other& other : lanes_->others) lane(other.where, ground);
  for (const Lanes::Thread& thread : lanes_->threads) lane(thread.where, ground);
  surface.fill(surface.device(QRect(any.left(), y, any.width(), height() - y)), window);
  paint_minimap(surface, session_, lanes_->minimap, whole_);
  paint_axis(surface, s, lanes_->axis);
  paint_bands(surface, s, lanes_->bands);
  paint_curve(surface, s, lanes_->curve);
  if (session_.has(Part::blocks)) paint_blocks(surface, s, byte_axis(), lanes_->blocks);
  for (const Lanes::Other& other : lanes_->others) {
    paint_other_curve(surface, s, session_.document()->subject(other.subject), other.where);
  }
  for (const Lanes::Thread& thread : lanes_->threads) {
    paint_track(surface, s, *thread.track, thread.where, lanes_->row_height);
  }
  paint_breaks(surface.painter(), s, lanes_->axis, lanes_->curve.top(), lanes_->bottom());
  paint_names(surface.painter());
}

void TimelineView::paint_names(QPainter& p) {
  p.setFont(small_font());
  p.setPen(theme().faint);
  const QFontMetrics metrics = p.fontMetrics();
  const int width = lanes_->gutter - 10;
  const auto name = [&](const QRect& lane, int row, const QString& text) {
    const QRect where(4, lane.top() + row * (metrics.height() + 2), width, metrics.height() + 2);
    p.drawText(where, Qt::AlignLeft | Qt::AlignVCenter, metrics.elidedText(text, Qt::ElideRight, width));
  };
  name(lanes_->minimap, 0, tr("whole run"));
  if (session_.view().axis == picture::AxisKind::events) name(lanes_->axis, 0, tr("events"));
  name(lanes_->bands, 0, tr("steps"));
  name(lanes_->bands, 1, tr("phases"));
  name(lanes_->blocks, 0, tr("allocations"));
  for (const Lanes::Other& other : lanes_->others) {
    const Subject& subject = session_.document()->subject(other.subject);
    name(other.where, 0, subject.label);
    name(other.where, 1, bytes_words(subject.device.peak));
  }
  for (const Lanes::Thread& thread : lanes_->threads) {
    name(thread.where, 0, tr("thread"));
    if (thread.track->rows.size() > 1) name(thread.where, 1, QString::number(thread.track->os_thread));
  }
  p.setPen(theme().text);
  name(lanes_->curve, 0, session_.subject().label);
  if (!session_.has(Part::blocks)) {
    p.setPen(theme().faint);
    p.drawText(lanes_->blocks, Qt::AlignCenter, tr("Laying out allocations …"));
  }
}

void TimelineView::paintEvent(QPaintEvent*) {
  if (is_stale_) render();
  QPainter painter(this);
  painter.drawImage(0, 0, frame_);
  if (lanes_) paint_marks(painter);
}

void TimelineView::paint_on(QPainter& painter) {
  painter.fillRect(rect(), theme().window);
  if (!lanes_) return;
  // In device independent pixels, the only ones that a vector picture has.
  const Scene as_shown(session_, lanes_->picture_left(), lanes_->picture_width(), 1);
  scene_ = std::make_unique<Scene>(as_shown);
  PainterSurface surface(painter);
  paint_lanes(surface);
  paint_marks(painter);
  refresh();
}

// ---- what is looked at

void TimelineView::look_at(Interval range, bool is_step) {
  ViewState next = session_.view();
  next.range = range;
  session_.look(next, is_step);
}

void TimelineView::zoom(double factor) {
  if (!lanes_) return;
  const Scene& s = scene();
  double x = s.axis.width / 2.0;
  if (cursor_ && cursor_->x() >= lanes_->picture_left()) x = (cursor_->x() - lanes_->picture_left()) * s.ratio;
  look_at(picture::zoomed(s.axis, x, factor, session_.document()->facts().duration));
}

void TimelineView::pan(double share) {
  if (!lanes_) return;
  const Scene& s = scene();
  look_at(picture::panned(s.axis, share * s.axis.width, session_.document()->facts().duration));
}

void TimelineView::show_all() {
  if (!lanes_) return;
  bytes_.reset();
  refresh();
  // The range with activity; a second time: the whole recording.
  const Interval busy = session_.subject().busy();
  look_at(session_.view().range == busy ? Interval{Time{0}, session_.document()->facts().duration} : busy);
}

void TimelineView::show_interval(Interval interval) {
  look_at(picture::with_room(scale(), interval, 0.02, session_.document()->facts().duration));
}

void TimelineView::show_time(Time time) {
  if (!lanes_) return;
  look_at(picture::centered(scale(), session_.view().range, time, session_.document()->facts().duration));
}

void TimelineView::show_peak() {
  if (!lanes_) return;
  const Subject& subject = session_.subject();
  ViewState next = session_.view();
  next.at.reset();
  const auto& steps = subject.of.bands.steps;
  const Time when = subject.device.when.time;
  const auto step = std::ranges::find_if(steps, [&](const Interval& s) { return s.contains(when); });
  if (step != steps.end()) next.range = *step;
  session_.look(next);
}

void TimelineView::show_allocation(AllocationId allocation) {
  if (!lanes_ || !allocation) return;
  const Process& p = session_.subject().of.process;
  const Interval life{p.allocations.time[allocation], std::min(p.freed(allocation), p.duration)};
  ViewState next = session_.view();
  next.allocation = allocation;
  const Interval shown = next.range;
  const bool is_seen = life.begin < shown.end && life.end > shown.begin;
  const bool is_too_small = scene().axis.columns_of(life) * 200 < scene().axis.width;
  if (!is_seen || is_too_small) {
    const Time whole = session_.document()->facts().duration;
    const Time end{std::max(life.end.ns, life.begin.ns + picture::kLeastShown)};
    next.range = picture::with_room(scale(), picture::inside({life.begin, end}, whole), 0.5, whole);
  }
  session_.look(next);
}

void TimelineView::next_step(int by) {
  if (!lanes_) return;
  const auto& steps = session_.subject().of.bands.steps;
  const uint32_t first = session_.subject().of.bands.first_step;
  ViewState next = session_.view();
  int64_t at = 0;
  if (next.step >= first && next.step - first < steps.size()) {
    at = std::clamp<int64_t>(int64_t{next.step - first} + by, 0, static_cast<int64_t>(steps.size()) - 1);
  } else {
    // The step at the center of the shown range.
    const Time middle = scene().axis.time_of(scene().axis.width / 2.0);
    const auto after = std::ranges::upper_bound(steps, middle, {}, &Interval::begin);
    at = std::max<int64_t>(0, after - steps.begin() - 1);
  }
  next.step = first + static_cast<uint32_t>(at);
  next.range = steps[static_cast<size_t>(at)];
  session_.look(next);
}

void TimelineView::next_out_of_memory(int by) {
  if (!lanes_) return;
  if (const model::OutOfMemoryId request = gui::next_out_of_memory(session_, by))
    session_.look(at_out_of_memory(session_, request));
}

void TimelineView::next_allocation(int by) {
  if (!lanes_ || !session_.has(Part::blocks)) return;
  const Subject& subject = session_.subject();
  const Process& p = subject.of.process;
  const auto rows = static_cast<int64_t>(p.allocations.rows());
  int64_t at = session_.view().allocation.value;
  if (at == 0) at = subject.timeline.at(session_.view().range.begin).last_allocation.value;
  for (at += by; at >= 1 && at <= rows; at += by) {
    const AllocationId id{static_cast<uint32_t>(at)};
    if (subject.blocks->place(id) >= 0 && !subject.blocks->is_small(id)) {
      show_allocation(id);
      return;
    }
  }
}

}  // namespace tapelens::gui
