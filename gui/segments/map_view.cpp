#include "gui/segments/map_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "analyzer/text/format.h"
#include "gui/models/facts.h"
#include "gui/models/peak_table.h"
#include "gui/models/segments_table.h"
#include "gui/models/visible_text.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {
constexpr double kZoomStep = 1.5;
constexpr int kLabelWidth = 64;      // width from which a block has a label
constexpr double kMostDetail = 8;    // bytes a pixel: a block of 512 is wide enough to click
constexpr double kMostPixels = 1e7;  // total width of all strips
}  // namespace

MapView::MapView(Session& session, QWidget* parent) : QAbstractScrollArea(parent), session_(session) {
  setAccessibleName(tr("Segments and their blocks"));
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  connect(&session, &Session::foundChanged, viewport(), qOverload<>(&QWidget::update));
  connect(&session, &Session::viewChanged, this, [this](const ViewState& before) {
    if (before.allocation != session_.view().allocation) show_allocation();
  });
}

void MapView::show_allocation() {
  viewport()->update();
  const AllocationId now = session_.view().allocation;
  const auto at = places_.find(now.value);
  if (at == places_.end()) return setAccessibleDescription({});
  const peak::SegmentAt& segment = moment_->segments[at->second.segment];
  const peak::BlockAt& block = segment.blocks[at->second.block];
  const auto begin = static_cast<int64_t>(block.address - segment.address);
  if (rect_of(now).isEmpty()) scroll_to(map_->row_of(at->second.segment, begin));
  setAccessibleDescription(tip_of({at->second.segment, begin, &block}).replace('\n', ", "));
}

void MapView::show_moment(std::shared_ptr<const MomentSet> moment) {
  map_.reset();
  moment_ = std::move(moment);
  known_.clear();
  places_.clear();
  marked_ = UINT32_MAX;
  anchor_.reset();
  if (moment_) {
    for (const report::Allocation& a : moment_->described.allocations) known_[a.id] = &a;
    for (uint32_t s = 0; s < moment_->segments.size(); ++s) {
      const auto& blocks = moment_->segments[s].blocks;
      for (uint32_t b = 0; b < blocks.size(); ++b) places_[blocks[b].allocation.value] = {s, b};
    }
  }
  lay_out();
}

void MapView::lay_out() {
  const QFontMetrics metrics(small_font());
  row_height_ = metrics.height() + 8;
  gutter_ = metrics.horizontalAdvance("0x7d0000000000") + 2 * kGap;
  map_.reset();
  if (moment_ && !moment_->segments.empty()) {
    const int width = std::max(picture::SegmentMap::kLeast, viewport()->width() - gutter_ - kGap);
    const int rows = std::max(1, viewport()->height() / row_height_);
    shown_scale_ = scale_ > 0 ? scale_ : picture::SegmentMap::scale_for(moment_->segments, width, rows);
    map_ = std::make_unique<const picture::SegmentMap>(moment_->segments, width, shown_scale_);
  }
  const int all = map_ ? map_->rows() * row_height_ : 0;
  verticalScrollBar()->setRange(0, std::max(0, all - viewport()->height()));
  verticalScrollBar()->setPageStep(viewport()->height());
  verticalScrollBar()->setSingleStep(row_height_);
  viewport()->update();
}

// ---- geometry

QRect MapView::strip(int row, int x0, int x1) const {
  return {gutter_ + x0, row * row_height_ - verticalScrollBar()->value() + 2, x1 - x0, row_height_ - 4};
}

picture::SegmentMap::Hit MapView::place_at(QPoint place) const {
  if (!map_ || place.x() < gutter_) return {};
  return map_->at((place.y() + verticalScrollBar()->value()) / row_height_, place.x() - gutter_);
}

QRect MapView::rect_of(AllocationId allocation) const {
  const auto at = places_.find(allocation.value);
  if (!map_ || at == places_.end()) return {};
  const peak::SegmentAt& segment = moment_->segments[at->second.segment];
  const peak::BlockAt& block = segment.blocks[at->second.block];
  const auto begin = static_cast<int64_t>(block.address - segment.address);
  for (const auto& r : map_->rectangles(at->second.segment, begin, begin + block.rounded.value)) {
    const QRect seen = strip(r.row, r.x0, r.x1).intersected(viewport()->rect());
    if (!seen.isEmpty()) return seen;
  }
  return {};
}

void MapView::scroll_to(int row) {
  const int top = row * row_height_, seen = verticalScrollBar()->value();
  if (top < seen || top + row_height_ > seen + viewport()->height())
    verticalScrollBar()->setValue(top - viewport()->height() / 3);
}

void MapView::show_segment(uint32_t segment) {
  if (!map_ || segment >= moment_->segments.size()) return;
  marked_ = segment;
  scroll_to(map_->row_of(segment, 0));
  viewport()->update();
}

// ---- painting

void MapView::paintEvent(QPaintEvent*) {
  QPainter p(viewport());
  p.fillRect(viewport()->rect(), theme().window);
  if (!map_) return;
  p.setFont(small_font());
  const int top = verticalScrollBar()->value();
  const int first = top / row_height_, last = std::min(map_->rows() - 1, (top + viewport()->height()) / row_height_);
  for (const picture::SegmentMap::Group& group : map_->groups()) {
    if (group.row >= first && group.row <= last) paint_heading(p, group);
  }
  for (int row = first; row <= last; ++row) paint_row(p, row);
  paint_marks(p);
  if (hasFocus()) {
    p.setPen(theme().accent);
    p.setBrush(Qt::NoBrush);
    p.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
  }
}

void MapView::paint_heading(QPainter& p, const picture::SegmentMap::Group& group) {
  const peak::SegmentAt& segment = moment_->segments[group.first_segment];
  const QRect r = strip(group.row, -gutter_ + 4, viewport()->width() - gutter_);
  const QString name = pool_words(segment.stream, segment.graph_pool, segment.user_pool);
  QFont bold = small_font();
  bold.setBold(true);
  p.setFont(bold);
  p.setPen(theme().text);
  p.drawText(r, Qt::AlignLeft | Qt::AlignVCenter, name);
  const int wide = p.fontMetrics().horizontalAdvance(name) + 2 * kGap;
  p.setFont(small_font());
  p.setPen(theme().faint);
  p.drawText(
      r.adjusted(wide, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
      tr("%1 in %2, ").arg(bytes_words(group.bytes), visible(text::plural(group.segments, "segment", "segments"))) +
          unused_words(group.bytes - group.used, group.largest_hole));
}

void MapView::paint_row(QPainter& p, int row) {
  const auto [first, last] = map_->pieces_of(row, row);
  if (first == last) return;
  const picture::SegmentMap::Piece& begin = map_->pieces()[first];
  p.setPen(theme().faint);
  p.drawText(strip(row, -gutter_ + 4, -kGap), Qt::AlignRight | Qt::AlignVCenter,
             address_words(moment_->segments[begin.segment].address + static_cast<uint64_t>(begin.begin)));
  for (size_t i = first; i < last; ++i) paint_piece(p, map_->pieces()[i]);
}

void MapView::paint_piece(QPainter& p, const picture::SegmentMap::Piece& piece) {
  const QRect whole = strip(piece.row, piece.x0, piece.x1);
  p.fillRect(whole, theme().surface);
  const peak::SegmentAt& segment = moment_->segments[piece.segment];
  map_->each_block(piece, [&](const peak::BlockAt& block, int x0, int x1) {
    const auto begin = static_cast<int64_t>(block.address - segment.address);
    paint_block(p, block, strip(piece.row, x0, x1), begin >= piece.begin);
  });
  // The outline of the segment, open at the side where it continues in another row.
  const QColor edge = piece.segment == marked_ ? theme().accent : theme().line;
  p.fillRect(QRect(whole.left(), whole.top() - 1, whole.width(), 1), edge);
  p.fillRect(QRect(whole.left(), whole.bottom() + 1, whole.width(), 1), edge);
  if (piece.begin == 0) p.fillRect(QRect(whole.left() - 1, whole.top() - 1, 1, whole.height() + 2), edge);
  if (piece.end == segment.bytes.value) p.fillRect(QRect(whole.right(), whole.top() - 1, 1, whole.height() + 2), edge);
}

void MapView::paint_block(QPainter& p, const peak::BlockAt& block, const QRect& where, bool begins_here) {
  const auto at = known_.find(block.allocation.value);
  const peak::HolderKind kind = at == known_.end() ? peak::HolderKind::program : at->second->category;
  const SearchResult* found = session_.found().get();
  const bool is_dimmed = found != nullptr && found->is_allocation[block.allocation.value] == 0;
  const QColor ground = is_dimmed ? theme().grid : theme().category(kind);
  p.fillRect(where, ground);
  if (block.waits) p.fillRect(where, QBrush(is_dimmed ? theme().line : theme().ink(kind), Qt::BDiagPattern));
  if (where.width() > 3) p.fillRect(QRect(where.right(), where.top(), 1, where.height()), theme().surface);
  if (is_dimmed || !begins_here || at == known_.end() || where.width() < kLabelWidth) return;
  const QRect words = where.adjusted(4, 0, -4, 0);
  const QString label = fitted(p.fontMetrics(), what_text(*at->second), words.width());
  // Text over a hatching needs a plain background.
  if (block.waits)
    p.fillRect(QRect(words.topLeft(), QSize(p.fontMetrics().horizontalAdvance(label), words.height())), ground);
  p.setPen(text_on(ground));
  p.drawText(words, Qt::AlignLeft | Qt::AlignVCenter, label);
}

void MapView::paint_marks(QPainter& p) {
  const auto at = places_.find(session_.view().allocation.value);
  if (at == places_.end()) return;
  const peak::SegmentAt& segment = moment_->segments[at->second.segment];
  const peak::BlockAt& block = segment.blocks[at->second.block];
  const auto begin = static_cast<int64_t>(block.address - segment.address);
  p.setBrush(Qt::NoBrush);
  for (const auto& r : map_->rectangles(at->second.segment, begin, begin + block.rounded.value)) {
    const QRect where = strip(r.row, r.x0, r.x1).adjusted(-1, -1, 0, 0);
    // Does not use the accent, which is too similar to the color of saved tensors.
    p.setPen(QPen(theme().surface, 4));
    p.drawRect(where);
    p.setPen(QPen(theme().text, 2));
    p.drawRect(where);
  }
}

// ---- mouse and keys

QString MapView::tip_of(const picture::SegmentMap::Hit& place) const {
  if (place.segment == UINT32_MAX) return {};
  const peak::SegmentAt& segment = moment_->segments[place.segment];
  const QString where = pool_words(segment.stream, segment.graph_pool, segment.user_pool);
  if (place.block == nullptr) {
    return tr("unused\nsegment of %1 at %2, %3\n")
               .arg(bytes_words(segment.bytes), address_words(segment.address), where) +
           unused_words(segment.bytes - segment.used, segment.largest_hole);
  }
  const AllocationId id = place.block->allocation;
  const auto f = facts_of(*session_.document(), session_.subject(), id, session_.has(Part::relations), 1);
  const auto known = known_.find(id.value);
  QString words = bytes_words(f.bytes) + "  " + (known == known_.end() ? f.what : what_text(*known->second));
  if (place.block->waits) words += "\n" + tr("given back by the program, another stream still uses it");
  for (const QString& line : {f.layout, f.op, f.module, f.source}) {
    if (!line.isEmpty()) words += "\n" + line;
  }
  return words + "\n" + tr("block of ") + f.block;
}

bool MapView::viewportEvent(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QAbstractScrollArea::viewportEvent(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QString words = tip_of(place_at(help->pos()));
  if (words.isEmpty()) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(help->globalPos(), plain_tip(words), viewport());
  }
  return true;
}

void MapView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const auto place = place_at(event->pos());
  marked_ = place.segment;
  Q_EMIT selected(place.block != nullptr ? place.block->allocation.value : 0);
  viewport()->update();
}

void MapView::mouseDoubleClickEvent(QMouseEvent* event) {
  const auto place = place_at(event->pos());
  if (event->button() == Qt::LeftButton && place.block != nullptr) Q_EMIT activated(place.block->allocation.value);
}

void MapView::zoom(double factor) {
  if (factor == 0) {
    scale_ = 0;
    return lay_out();
  }
  const QRect chosen = rect_of(session_.view().allocation);
  set_scale(shown_scale_ / factor, chosen.isEmpty() ? viewport()->rect().center() : chosen.center());
}

// The place under the cursor stays in its row.
void MapView::set_scale(double bytes_per_pixel, QPoint fixed) {
  if (!map_) return;
  // Repeated wheel steps keep the same anchor, because rows end elsewhere at each scale.
  if (!anchor_ || anchor_->at != fixed) {
    const auto place = place_at({std::max(fixed.x(), gutter_), fixed.y()});
    anchor_ = Anchor{fixed, place.segment, place.byte};
  }
  double bytes = 0;
  for (const peak::SegmentAt& segment : moment_->segments) bytes += static_cast<double>(segment.bytes.value);
  scale_ = std::max({kMostDetail, bytes / kMostPixels, bytes_per_pixel});
  lay_out();
  if (anchor_->segment == UINT32_MAX) return;
  const int row = map_->row_of(anchor_->segment, anchor_->byte);
  verticalScrollBar()->setValue(row * row_height_ - fixed.y() + row_height_ / 2);
}

void MapView::wheelEvent(QWheelEvent* event) {
  if ((event->modifiers() & Qt::ControlModifier) == 0) {
    anchor_.reset();
    return QAbstractScrollArea::wheelEvent(event);
  }
  event->accept();
  const double notches = event->angleDelta().y() / 120.0;
  set_scale(shown_scale_ / std::pow(kZoomStep, notches), event->position().toPoint());
}

void MapView::step(int by) {
  if (!map_) return;
  const auto& segments = moment_->segments;
  const auto at = places_.find(session_.view().allocation.value);
  int64_t segment = by > 0 ? 0 : static_cast<int64_t>(segments.size()) - 1, block = by > 0 ? 0 : INT64_MAX;
  if (at != places_.end()) {
    segment = at->second.segment;
    block = int64_t{at->second.block} + by;
  }
  for (; segment >= 0 && segment<static_cast<int64_t>(segments.size()); segment += by, block = by> 0 ? 0 : INT64_MAX) {
    const auto& blocks = segments[static_cast<size_t>(segment)].blocks;
    const int64_t last = static_cast<int64_t>(blocks.size()) - 1;
    if (block == INT64_MAX) block = last;
    if (block < 0 || block > last) continue;
    Q_EMIT selected(blocks[static_cast<size_t>(block)].allocation.value);
    return;
  }
}

void MapView::step_row(int by) {
  const QRect here = rect_of(session_.view().allocation);
  if (here.isEmpty()) return step(by);
  const int x = here.center().x() - gutter_;
  int row = (here.center().y() + verticalScrollBar()->value()) / row_height_ + by;
  for (; row >= 0 && row < map_->rows(); row += by) {
    // The nearest block of that row.
    const auto [first, last] = map_->pieces_of(row, row);
    int nearest = INT_MAX;
    AllocationId found;
    for (size_t i = first; i < last; ++i) {
      map_->each_block(map_->pieces()[i], [&](const peak::BlockAt& block, int x0, int x1) {
        const int distance = x < x0 ? x0 - x : std::max(0, x - x1 + 1);
        if (distance >= nearest) return;
        nearest = distance;
        found = block.allocation;
      });
    }
    if (!found || found == session_.view().allocation) continue;
    Q_EMIT selected(found.value);
    return;
  }
}

void MapView::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_Right:
      return step(event->key() == Qt::Key_Right ? 1 : -1);
    case Qt::Key_Up:
    case Qt::Key_Down:
      return step_row(event->key() == Qt::Key_Down ? 1 : -1);
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return zoom(kZoomStep);
    case Qt::Key_Minus:
      return zoom(1 / kZoomStep);
    case Qt::Key_0:
    case Qt::Key_F:
      return zoom(0);
    case Qt::Key_Escape:
      marked_ = UINT32_MAX;
      Q_EMIT selected(0);
      return viewport()->update();
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (session_.view().allocation) Q_EMIT activated(session_.view().allocation.value);
      return;
    default:
      QAbstractScrollArea::keyPressEvent(event);
  }
}

void MapView::resizeEvent(QResizeEvent*) { lay_out(); }

void MapView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) lay_out();
  QAbstractScrollArea::changeEvent(event);
}

void MapView::focusInEvent(QFocusEvent*) { viewport()->update(); }
void MapView::focusOutEvent(QFocusEvent*) { viewport()->update(); }

}  // namespace tapelens::gui
