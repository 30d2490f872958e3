// Marks over a frame: the peak, the current time, the selection, the cursor.
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "gui/models/facts.h"
#include "gui/timeline/timeline_view.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

// A label with a background, beside x and inside `bounds`. Returns its place.
QRect flag(QPainter& p, const QRect& bounds, int x, int y, const QString& text, const QColor& color) {
  p.setFont(small_font());
  const QFontMetrics metrics = p.fontMetrics();
  QRect r(x + 5, y, metrics.horizontalAdvance(text) + 10, metrics.height() + 2);
  if (r.right() > bounds.right()) r.moveRight(x - 5);
  p.fillRect(r, theme().raised);
  p.setBrush(Qt::NoBrush);
  p.setPen(theme().line);
  p.drawRect(r.adjusted(0, 0, -1, -1));
  p.setPen(color);
  p.drawText(r, Qt::AlignCenter, text);
  return r;
}

}  // namespace

void TimelineView::paint_life(QPainter& p, AllocationId allocation, bool is_selected) {
  const QRect block = hit().block_of(allocation);
  if (block.isEmpty()) return;
  p.setBrush(Qt::NoBrush);
  p.setPen(QPen(theme().surface, is_selected ? 4 : 3));
  p.drawRect(block.adjusted(-1, -1, 0, 0));
  p.setPen(QPen(is_selected ? theme().accent : theme().text, is_selected ? 2 : 1));
  p.drawRect(block.adjusted(-1, -1, 0, 0));
  if (!session_.has(Part::relations)) return;
  // Marks saves (a triangle pointing down), uses (a dot) and releases by the backward (a triangle pointing up).
  const auto facts = facts_of(*session_.document(), session_.subject(), allocation, true);
  const int y = block.top() - 1;
  const QRect& lane = lanes_->blocks;
  const auto x_of = [&](Time time) { return scene_->x_of(time); };
  const auto is_seen = [&](double x) { return x >= lane.left() && x <= lane.right(); };
  p.setRenderHint(QPainter::Antialiasing);
  p.setPen(QPen(theme().surface, 1));
  p.setBrush(theme().text);
  for (const auto& use : facts.uses) {
    const double x = x_of(use.when.begin);
    if (is_seen(x)) p.drawEllipse(QPointF(x, y), 3, 3);
  }
  const auto triangle = [&](double x, int tip, const QColor& color) {
    if (!is_seen(x)) return;
    p.setBrush(color);
    const double base = y - 7 * tip;
    p.drawPolygon(QPolygonF{QPointF(x - 5, base), QPointF(x + 5, base), QPointF(x, base + 8 * tip)});
  };
  for (const auto& save : facts.saves) {
    triangle(x_of(save.time), 1, theme().accent);
    if (save.released != model::kNever) triangle(x_of(save.released), -1, theme().peak);
  }
  p.setRenderHint(QPainter::Antialiasing, false);
}

void TimelineView::paint_chosen(QPainter& p) {
  if (!chosen_) return;
  const int x0 = std::max(static_cast<int>(scene_->x_of(chosen_->begin)), lanes_->curve.left());
  const int x1 = std::min(static_cast<int>(scene_->x_of(chosen_->end)), lanes_->curve.right());
  if (x0 >= x1) return;
  QColor veil = theme().accent;
  veil.setAlpha(50);
  const QRect r(x0, lanes_->axis.top(), x1 - x0, lanes_->blocks.bottom() - lanes_->axis.top());
  p.fillRect(r, veil);
  p.setPen(theme().accent);
  p.drawLine(r.topLeft(), r.bottomLeft());
  p.drawLine(r.topRight(), r.bottomRight());
}

// A line at each failed request of the device, with a label if it does not cover another.
void TimelineView::paint_out_of_memory(QPainter& p) {
  const Scene& s = *scene_;
  const QRect& curve = lanes_->curve;
  const model::OutOfMemory& requests = session_.subject().of.process.out_of_memory;
  const auto time_of = [&](model::OutOfMemoryId request) { return requests.time[request]; };
  struct Mark {
    int x;
    model::OutOfMemoryId request;
  };
  std::vector<Mark> marks;  // the first in each pixel
  const auto& all = session_.subject().out_of_memory;
  for (auto at = std::ranges::lower_bound(all, s.axis.shown.begin, {}, time_of);
       at != all.end() && time_of(*at) < s.axis.shown.end; ++at) {
    const int x = static_cast<int>(s.x_of(time_of(*at)));
    if (marks.empty() || marks.back().x != x) marks.push_back({x, *at});
  }
  out_of_memory_.clear();
  for (const auto& [x, request] : marks) {
    p.setPen(QPen(theme().error, 1, Qt::DashDotLine));
    p.drawLine(x, curve.top(), x, lanes_->blocks.bottom());
    // A cross at the top is the clickable mark if no label fits.
    const QPointF middle(std::clamp(x + 0.5, curve.left() + 5.0, curve.right() - 5.0), curve.top() + 7.0);
    p.setRenderHint(QPainter::Antialiasing);
    p.setPen(QPen(theme().error, 3));
    p.drawLine(middle + QPointF(-4, -4), middle + QPointF(4, 4));
    p.drawLine(middle + QPointF(-4, 4), middle + QPointF(4, -4));
    p.setRenderHint(QPainter::Antialiasing, false);
    out_of_memory_.push_back({QRect(static_cast<int>(middle.x()) - 6, curve.top(), 13, 14), request});
  }
  const QFontMetrics metrics(small_font());
  const int y = curve.top() + 2 * (metrics.height() + 6);
  int free_from = INT_MIN;
  for (const auto& [x, request] : marks) {
    const QString words = tr("out of memory: %1").arg(bytes_words(requests.bytes[request]));
    const int wide = metrics.horizontalAdvance(words) + 15;
    const bool goes_left = x + wide > curve.right();
    if ((goes_left ? x - wide : x) < free_from) continue;
    out_of_memory_.push_back({flag(p, curve, x, y, words, theme().error), request});
    free_from = goes_left ? x : x + wide;
  }
}

void TimelineView::paint_marks(QPainter& p) {
  if (!scene_) scene();
  const Scene& s = *scene_;
  const Subject& subject = session_.subject();
  const QRect& curve = lanes_->curve;
  const auto is_seen = [&](Time time) { return s.axis.shown.contains(time); };
  p.setClipRect(QRect(lanes_->picture_left() - 2, 0, lanes_->picture_width() + 4, height()));

  // Marks the shown range.
  const QRect& map = lanes_->minimap;
  const picture::TimeAxis whole = minimap_axis(session_, map.width(), 1);
  const double from = map.left() + whole.x_of(s.axis.shown.begin), to = map.left() + whole.x_of(s.axis.shown.end);
  QColor shade = theme().window;
  shade.setAlpha(170);
  p.fillRect(QRectF(map.left(), map.top(), from - map.left(), map.height()), shade);
  p.fillRect(QRectF(to, map.top(), map.right() + 1 - to, map.height()), shade);
  p.setPen(QPen(theme().accent, 1));
  p.setBrush(Qt::NoBrush);
  p.drawRect(QRectF(from, map.top(), std::max(2.0, to - from), map.height() - 1));

  paint_out_of_memory(p);
  if (is_seen(subject.device.when.time)) {
    const int x = static_cast<int>(s.x_of(subject.device.when.time));
    const double scale = static_cast<double>(curve.height()) / static_cast<double>(s.top.value);
    const int y = curve.bottom() + 1 - static_cast<int>(static_cast<double>(subject.device.peak.value) * scale);
    p.setPen(QPen(theme().peak, 1, Qt::DashLine));
    p.drawLine(x, curve.top(), x, lanes_->blocks.bottom());
    p.setPen(Qt::NoPen);
    p.setBrush(theme().peak);
    p.drawPolygon(QPolygonF{QPointF(x - 5.0, y - 8.0), QPointF(x + 6.0, y - 8.0), QPointF(x + 0.5, y)});
    flag(p, curve, x, curve.top(), tr("peak %1").arg(bytes_words(subject.device.peak)), theme().peak);
  }
  if (const auto& what_if = session_.what_if(); what_if && is_seen(what_if->when)) {
    const double scale = static_cast<double>(curve.height()) / static_cast<double>(s.top.value);
    const int y = curve.bottom() + 1 - static_cast<int>(static_cast<double>(what_if->after.value) * scale);
    flag(p, curve, static_cast<int>(s.x_of(what_if->when)), y + 2,
         tr("%1 with what is ticked").arg(bytes_words(what_if->after)), theme().what_if);
  }
  if (const SearchResult* found = session_.found().get();
      found != nullptr && found->curve.most() > Bytes{} && is_seen(found->curve.when())) {
    const double scale = static_cast<double>(curve.height()) / static_cast<double>(s.top.value);
    const int y = curve.bottom() + 1 - static_cast<int>(static_cast<double>(found->curve.most().value) * scale);
    const int high = QFontMetrics(small_font()).height() + 2;
    flag(p, curve, static_cast<int>(s.x_of(found->curve.when())),
         std::clamp(y - high, curve.top(), curve.bottom() - high),
         tr("found: at most %1").arg(bytes_words(found->curve.most())), theme().accent);
  }
  const ViewState& view = session_.view();
  if (view.at && is_seen(view.at->time)) {
    const int x = static_cast<int>(s.x_of(view.at->time));
    p.setPen(QPen(theme().accent, 1));
    p.drawLine(x, lanes_->axis.bottom(), x, lanes_->blocks.bottom());
    flag(p, curve, x, curve.top() + QFontMetrics(small_font()).height() + 6,
         tr("%1 here").arg(bytes_words(subject.timeline.live(*view.at))), theme().accent);
  }
  paint_chosen(p);
  if (cursor_ && drag_ == Drag::none && cursor_->x() >= lanes_->picture_left()) {
    p.setPen(QPen(theme().faint, 1, Qt::DotLine));
    p.drawLine(cursor_->x(), lanes_->axis.top(), cursor_->x(), height());
  }
  if (hovered_ && hovered_ != view.allocation) paint_life(p, hovered_, false);
  paint_life(p, view.allocation, true);
  p.setClipping(false);
  if (hasFocus()) {
    p.setPen(theme().accent);
    p.setBrush(Qt::NoBrush);
    p.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

}  // namespace tapelens::gui
