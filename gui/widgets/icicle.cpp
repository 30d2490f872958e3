#include "gui/widgets/icicle.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "analyzer/text/format.h"
#include "gui/models/facts.h"
#include "gui/models/visible_text.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

IcicleView::IcicleView(QWidget* parent) : QAbstractScrollArea(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  setAccessibleName(QStringLiteral("Icicle of what was alive"));
}

void IcicleView::show_tree(std::shared_ptr<const GroupTree> tree, const QString& root_name) {
  const uint32_t zoomed = tree_->same_place(*tree, zoomed_);
  current_ = tree_->same_place(*tree, current_);
  const bool moved = zoomed != zoomed_;
  tree_ = std::move(tree);
  root_name_ = root_name;
  zoomed_ = zoomed;
  place();
  describe();
  // Nodes have other indices in another tree.
  if (moved || zoomed_ != GroupTree::kRoot) Q_EMIT zoomChanged(zoomed_);
}

void IcicleView::set_current(uint32_t node) {
  if (node >= tree_->size()) return;
  current_ = node;
  if (const Piece* piece = piece_of(node)) {
    const int top = static_cast<int>(piece->depth) * row_height();
    QScrollBar* bar = verticalScrollBar();
    if (top < bar->value()) bar->setValue(top);
    if (top + row_height() > bar->value() + viewport()->height())
      bar->setValue(top + row_height() - viewport()->height());
  }
  describe();
  viewport()->update();
}

void IcicleView::zoom_to(uint32_t node) {
  if (node >= tree_->size() || node == zoomed_) return;
  zoomed_ = node;
  if (!tree_->is_within(current_, node)) current_ = node;
  place();
  describe();
  Q_EMIT zoomChanged(node);
}

QSize IcicleView::sizeHint() const { return {fontMetrics().averageCharWidth() * 60, row_height() * 8}; }
int IcicleView::row_height() const { return fontMetrics().height() + kGap; }

void IcicleView::place() {
  pieces_.clear();
  hovered_ = -1;
  rows_ = 1;
  const int width = viewport()->width();
  // The path to the zoomed node; each of its nodes has the full width.
  std::vector<uint32_t> way;
  for (uint32_t at = zoomed_;; at = tree_->node(at).parent) {
    way.push_back(at);
    if (at == GroupTree::kRoot) break;
  }
  for (size_t i = 0; i < way.size(); ++i)
    pieces_.push_back({0, width, static_cast<uint32_t>(i), way[way.size() - 1 - i], 1});
  rows_ = static_cast<uint32_t>(way.size());
  if (tree_->node(zoomed_).bytes > 0) place_children(zoomed_, 0, width);
  // By row, then from left to right, which is the order of the arrow keys.
  std::ranges::stable_sort(
      pieces_, [](const Piece& a, const Piece& b) { return a.depth != b.depth ? a.depth < b.depth : a.x0 < b.x0; });
  const int height = static_cast<int>(rows_) * row_height();
  verticalScrollBar()->setPageStep(viewport()->height());
  verticalScrollBar()->setSingleStep(row_height());
  verticalScrollBar()->setRange(0, std::max(0, height - viewport()->height()));
  viewport()->update();
}

// Children are sorted by size. All children from the first one below a pixel on are one piece.
void IcicleView::place_children(uint32_t node, double x0, double x1) {
  const GroupTree::Node& parent = tree_->node(node);
  if (parent.bytes <= 0) return;
  const double scale = (x1 - x0) / static_cast<double>(parent.bytes);
  double x = x0;
  int64_t left = 0;
  for (size_t i = 0; i < parent.children.size(); ++i) {
    const uint32_t child = parent.children[i];
    const double width = static_cast<double>(tree_->node(child).bytes) * scale;
    rows_ = std::max(rows_, tree_->node(child).depth + 1);
    if (width < 1) {
      for (size_t rest = i; rest < parent.children.size(); ++rest) left += tree_->node(parent.children[rest]).bytes;
      const int begin = static_cast<int>(std::lround(x));
      const int end = std::max(begin + 1, static_cast<int>(std::lround(x + static_cast<double>(left) * scale)));
      const auto count = static_cast<uint32_t>(parent.children.size() - i);
      pieces_.push_back({begin, end, tree_->node(child).depth, child, count});
      return;
    }
    pieces_.push_back({static_cast<int>(std::lround(x)), static_cast<int>(std::lround(x + width)),
                       tree_->node(child).depth, child, 1});
    place_children(child, x, x + width);
    x += width;
  }
}

QRect IcicleView::rectangle(const Piece& piece) const {
  // Leaves a line of background between them.
  return QRect(piece.x0, static_cast<int>(piece.depth) * row_height() - verticalScrollBar()->value(),
               std::max(1, piece.x1 - piece.x0 - (piece.x1 - piece.x0 > 3 ? 1 : 0)), row_height() - 1);
}

const IcicleView::Piece* IcicleView::piece_at(QPoint position) const {
  const auto depth = static_cast<uint32_t>(std::max(0, position.y() + verticalScrollBar()->value()) / row_height());
  const auto at = std::ranges::find_if(
      pieces_, [&](const Piece& p) { return p.depth == depth && p.x0 <= position.x() && position.x() < p.x1; });
  return at == pieces_.end() ? nullptr : &*at;
}

const IcicleView::Piece* IcicleView::piece_of(uint32_t node) const {
  const auto at = std::ranges::find_if(pieces_, [&](const Piece& p) { return p.node == node; });
  return at == pieces_.end() ? nullptr : &*at;
}

uint32_t IcicleView::node_at(QPoint place) const {
  const Piece* piece = viewport()->rect().contains(place) ? piece_at(place) : nullptr;
  return piece != nullptr ? piece->node : current_;
}

QString IcicleView::description(uint32_t node) const { return tip({0, 0, tree_->node(node).depth, node, 1}); }

QString IcicleView::label(uint32_t node) const {
  return node == GroupTree::kRoot ? root_name_ : tree_->node(node).name;
}

QString IcicleView::growth_tip(const Piece& piece) const {
  const GroupTree::Node& node = tree_->node(piece.node);
  Bytes before = node.before, after = node.after;
  QString head = piece.node == GroupTree::kRoot ? root_name_ : tree_->path(piece.node);
  if (piece.count > 1) {
    const GroupTree::Node& parent = tree_->node(node.parent);
    before = after = Bytes{};
    for (size_t i = node.place; i < parent.children.size(); ++i) {
      before += tree_->node(parent.children[i]).before;
      after += tree_->node(parent.children[i]).after;
    }
    head = QStringLiteral("%1 small groups").arg(visible(text::count_text(piece.count)));
  }
  return QStringLiteral("%1\n%2 in A, %3 in B (%4): %5")
      .arg(head, visible(text::bytes_text(before)), visible(text::bytes_text(after)), signed_bytes(after - before),
           QString::fromLatin1(compare::label(compare::growth_of(before, after))));
}

QString IcicleView::tip(const Piece& piece) const {
  const GroupTree::Node& node = tree_->node(piece.node);
  const model::Bytes whole{tree_->node(GroupTree::kRoot).bytes};
  if (node.growth) return growth_tip(piece);
  if (piece.count > 1) {
    const GroupTree::Node& parent = tree_->node(node.parent);
    model::Bytes bytes;
    uint64_t allocations = 0;
    for (size_t i = node.place; i < parent.children.size(); ++i) {
      bytes += model::Bytes{tree_->node(parent.children[i]).bytes};
      allocations += tree_->node(parent.children[i]).allocations;
    }
    return QStringLiteral("%1 small groups\n%2, %3 of all, %4\nZoom in to see them")
        .arg(QString::fromStdString(text::count_text(piece.count)), QString::fromStdString(text::bytes_text(bytes)),
             QString::fromStdString(text::percent_text(bytes, whole)),
             QString::fromStdString(text::plural(allocations, "allocation", "allocations")));
  }
  const QString path = piece.node == GroupTree::kRoot ? root_name_ : tree_->path(piece.node);
  return QStringLiteral("%1\n%2, %3 of all, %4")
      .arg(path, QString::fromStdString(text::bytes_text({node.bytes})),
           QString::fromStdString(text::percent_text({node.bytes}, whole)),
           QString::fromStdString(text::plural(node.allocations, "allocation", "allocations")));
}

QColor IcicleView::color(const Piece& piece) const {
  if (piece.node == GroupTree::kRoot) return theme().grid;
  const GroupTree::Node& node = tree_->node(piece.node);
  if (node.growth) return theme().growth(*node.growth);
  if (piece.count > 1) return theme().group(Theme::kGroupColors);
  return theme().category(node.main);
}

void IcicleView::paint(QPainter& painter, const Piece& piece) const {
  const QRect box = rectangle(piece);
  const QColor ground = color(piece);
  painter.fillRect(box, ground);
  const QRect inner = box.adjusted(kGap / 2 + 1, 0, -kGap / 2, 0);
  if (piece.count > 1 || inner.width() < fontMetrics().averageCharWidth() * 3) return;
  const QColor ink = piece.node == GroupTree::kRoot ? theme().text : text_on(ground);
  painter.setPen(ink);
  const QString name = label(piece.node);
  const GroupTree::Node& node = tree_->node(piece.node);
  const QString bytes = node.growth ? signed_bytes(node.after - node.before) : visible(text::bytes_text({node.bytes}));
  const int room = inner.width() - fontMetrics().horizontalAdvance(bytes) - 2 * kGap;
  if (room >= fontMetrics().horizontalAdvance(name)) {
    painter.drawText(inner, Qt::AlignVCenter | Qt::AlignLeft, name);
    painter.drawText(inner, Qt::AlignVCenter | Qt::AlignRight, bytes);
  } else {
    painter.drawText(inner, Qt::AlignVCenter | Qt::AlignLeft, fitted(fontMetrics(), name, inner.width()));
  }
}

void IcicleView::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), theme().surface);
  painter.setFont(font());
  if (tree_->node(GroupTree::kRoot).allocations == 0) {
    painter.setPen(theme().faint);
    painter.drawText(viewport()->rect(), Qt::AlignCenter, QStringLiteral("Nothing to show"));
    return;
  }
  const auto frame = [&](const Piece& piece, const QColor& ink, int width) {
    painter.setPen(QPen(ink, width, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rectangle(piece).adjusted(width / 2, width / 2, -(width + 1) / 2, -(width + 1) / 2));
  };
  for (const Piece& piece : pieces_) {
    if (rectangle(piece).intersects(viewport()->rect())) paint(painter, piece);
  }
  if (hovered_ >= 0) frame(pieces_[static_cast<size_t>(hovered_)], theme().text, 1);
  if (const Piece* piece = piece_of(current_); piece != nullptr && (current_ != GroupTree::kRoot || hasFocus()))
    frame(*piece, hasFocus() ? theme().accent : theme().text, hasFocus() ? 3 : 2);
}

void IcicleView::resizeEvent(QResizeEvent*) { place(); }

void IcicleView::choose(uint32_t node) {
  set_current(node);
  Q_EMIT selected(node);
}

void IcicleView::mousePressEvent(QMouseEvent* event) {
  const Piece* piece = piece_at(event->position().toPoint());
  if (event->button() == Qt::LeftButton && piece != nullptr) choose(piece->node);
}

void IcicleView::mouseDoubleClickEvent(QMouseEvent* event) {
  const Piece* piece = piece_at(event->position().toPoint());
  if (event->button() != Qt::LeftButton || piece == nullptr) return;
  // Zooming to the parent makes several small nodes visible.
  zoom_to(piece->count > 1 ? tree_->node(piece->node).parent : piece->node);
}

void IcicleView::mouseMoveEvent(QMouseEvent* event) {
  const Piece* piece = piece_at(event->position().toPoint());
  const int at = piece == nullptr ? -1 : static_cast<int>(piece - pieces_.data());
  if (at == hovered_) return;
  hovered_ = at;
  viewport()->update();
}

// Goes to the next piece of the same row.
void IcicleView::step(int by) {
  const Piece* piece = piece_of(current_);
  if (piece == nullptr) return choose(zoomed_);
  const auto next = piece - pieces_.data() + by;
  if (next < 0 || next >= static_cast<std::ptrdiff_t>(pieces_.size())) return;
  const Piece& other = pieces_[static_cast<size_t>(next)];
  if (other.depth == piece->depth) choose(other.node);
}

void IcicleView::keyPressEvent(QKeyEvent* event) {
  const GroupTree::Node& node = tree_->node(current_);
  switch (event->key()) {
    case Qt::Key_Left:
      return step(-1);
    case Qt::Key_Right:
      return step(1);
    case Qt::Key_Up:
      if (current_ != GroupTree::kRoot) choose(node.parent);
      return;
    case Qt::Key_Down:
      if (!node.children.empty()) choose(node.children.front());
      return;
    case Qt::Key_Home:
      return choose(zoomed_);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (!node.children.empty()) zoom_to(current_);
      return;
    case Qt::Key_Backspace:
    case Qt::Key_Escape:
      // Without a zoom, the window handles the key.
      if (zoomed_ == GroupTree::kRoot) return event->ignore();
      return zoom_to(tree_->node(zoomed_).parent);
    default:
      QAbstractScrollArea::keyPressEvent(event);
  }
}

bool IcicleView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const Piece* piece = piece_at(help->pos())) {
      QToolTip::showText(help->globalPos(), tip(*piece), viewport(), rectangle(*piece));
    } else {
      QToolTip::hideText();
    }
    return true;
  }
  if (event->type() == QEvent::Leave && hovered_ >= 0) {
    hovered_ = -1;
    viewport()->update();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

void IcicleView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange) place();
  if (event->type() == QEvent::PaletteChange) viewport()->update();
  QAbstractScrollArea::changeEvent(event);
}

void IcicleView::describe() {
  setAccessibleDescription(tip({0, 0, 0, current_, 1}).replace(QLatin1Char('\n'), QStringLiteral(", ")));
}

}  // namespace tapelens::gui
