#include "gui/widgets/grouping_bar.h"

#include <QAbstractButton>
#include <QApplication>
#include <QButtonGroup>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QToolButton>
#include <algorithm>
#include <array>

#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

constexpr int kArrow = 14;  // between two chips
constexpr std::array kAll = {peak::By::module, peak::By::field, peak::By::stack,    peak::By::source,
                             peak::By::node,   peak::By::op,    peak::By::category, peak::By::step};

QString by_text(peak::By by) { return QString::fromUtf8(peak::by_name(by)); }

}  // namespace

// Keys: Ctrl+Left and Ctrl+Right move the chip, Delete removes it, Left and Right go to the next one.
class GroupingBar::Chip : public QAbstractButton {
 public:
  Chip(GroupingBar& bar, peak::By of) : QAbstractButton(&bar), by(of), bar_(bar) {
    setText(by_text(of));
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::OpenHandCursor);
    setMouseTracking(true);
  }
  const peak::By by;

  QSize sizeHint() const override {
    const QFontMetrics metrics(font());
    return {metrics.horizontalAdvance(text()) + 2 * kGap + cross_width(), metrics.height() + kGap};
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF box = QRectF(rect()).adjusted(1, 1, -1, -1);
    painter.setBrush(isDown() || bar_.dragged_ == this ? theme().selection : theme().raised);
    painter.setPen(QPen(hasFocus() ? theme().accent : theme().line, hasFocus() ? 2 : 1));
    painter.drawRoundedRect(box, 5, 5);
    painter.setPen(theme().text);
    painter.drawText(box.adjusted(kGap, 0, -cross_width(), 0), Qt::AlignVCenter | Qt::AlignLeft, text());
    if (bar_.chips_.size() < 2) return;
    painter.setPen(QPen(is_over_cross_ ? theme().text : theme().faint, 1.3));
    const QPointF middle(box.right() - cross_width() / 2.0, box.center().y());
    const double arm = QFontMetrics(font()).height() / 5.0;
    painter.drawLine(middle + QPointF(-arm, -arm), middle + QPointF(arm, arm));
    painter.drawLine(middle + QPointF(-arm, arm), middle + QPointF(arm, -arm));
  }

  void mousePressEvent(QMouseEvent* event) override {
    QAbstractButton::mousePressEvent(event);
    pressed_ = event->position().toPoint();
  }
  void mouseMoveEvent(QMouseEvent* event) override {
    const QPoint at = event->position().toPoint();
    const bool over = at.x() >= width() - cross_width();
    if (over != is_over_cross_) update();
    is_over_cross_ = over;
    if (!(event->buttons() & Qt::LeftButton)) return;
    if (bar_.dragged_ == this || (at - pressed_).manhattanLength() >= QApplication::startDragDistance()) {
      setCursor(Qt::ClosedHandCursor);
      bar_.drag(this, mapToParent(at).x() - pressed_.x());
    }
  }
  void mouseReleaseEvent(QMouseEvent* event) override {
    QAbstractButton::mouseReleaseEvent(event);
    setCursor(Qt::OpenHandCursor);
    if (bar_.dragged_ == this) return bar_.drag(nullptr, 0);
    const QPoint at = event->position().toPoint();
    if (rect().contains(at) && at.x() >= width() - cross_width() && pressed_.x() >= width() - cross_width())
      bar_.remove(place());
  }
  void leaveEvent(QEvent* event) override {
    is_over_cross_ = false;
    update();
    QAbstractButton::leaveEvent(event);
  }
  void keyPressEvent(QKeyEvent* event) override {
    const size_t at = place();
    const bool moves = event->modifiers().testFlag(Qt::ControlModifier);
    const bool is_last = at + 1 == bar_.chips_.size();
    if (event->key() == Qt::Key_Left && at > 0) return moves ? bar_.move(at, at - 1) : bar_.focus(at - 1);
    if (event->key() == Qt::Key_Right && !is_last) return moves ? bar_.move(at, at + 1) : bar_.focus(at + 1);
    if (event->key() == Qt::Key_Delete) return bar_.remove(at);
    QAbstractButton::keyPressEvent(event);
  }

 private:
  size_t place() const { return static_cast<size_t>(std::ranges::find(bar_.chips_, this) - bar_.chips_.begin()); }
  int cross_width() const { return bar_.chips_.size() < 2 ? 0 : QFontMetrics(font()).height() + 2; }

  GroupingBar& bar_;
  QPoint pressed_;
  bool is_over_cross_ = false;
};

GroupingBar::GroupingBar(QWidget* parent)
    : QWidget(parent),
      add_(new QToolButton(this)),
      top_down_(new QToolButton(this)),
      bottom_up_(new QToolButton(this)) {
  setAccessibleName(QStringLiteral("Order of groupings"));
  add_->setText(QStringLiteral("+"));
  add_->setPopupMode(QToolButton::InstantPopup);
  add_->setStyleSheet(QStringLiteral("QToolButton::menu-indicator { image: none; }"));
  add_->setToolTip(QStringLiteral("Group within these by something else"));
  add_->setAccessibleName(QStringLiteral("Add a grouping"));
  add_->setFocusPolicy(Qt::StrongFocus);
  add_->setMenu(new QMenu(add_));
  connect(add_->menu(), &QMenu::aboutToShow, this, [this] { fill_menu(); });
  auto* ends = new QButtonGroup(this);
  top_down_->setText(QStringLiteral("Top-down"));
  top_down_->setToolTip(QStringLiteral("The first grouping at the top"));
  bottom_up_->setText(QStringLiteral("Bottom-up"));
  bottom_up_->setToolTip(QStringLiteral("The last grouping at the top: the same thing from all places summed"));
  for (QToolButton* button : {top_down_, bottom_up_}) {
    button->setCheckable(true);
    button->setFocusPolicy(Qt::StrongFocus);
    ends->addButton(button);
  }
  top_down_->setChecked(true);
  connect(bottom_up_, &QToolButton::toggled, this, [this](bool on) {
    if (on == groupings_.is_bottom_up) return;
    groupings_.is_bottom_up = on;
    Q_EMIT changed();
  });
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  make_chips();
}

void GroupingBar::set_groupings(const Groupings& groupings) {
  if (groupings == groupings_) return;
  groupings_ = groupings;
  (groupings.is_bottom_up ? bottom_up_ : top_down_)->setChecked(true);
  make_chips();
}

void GroupingBar::make_chips() {
  for (Chip* chip : chips_) chip->deleteLater();
  for (Chip* chip : chips_) chip->hide();
  chips_.clear();
  QWidget* before = nullptr;
  for (const peak::By by : groupings_.levels) {
    chips_.push_back(new Chip(*this, by));
    Chip* chip = chips_.back();
    chip->setAccessibleName(QStringLiteral("Grouping %1: %2").arg(chips_.size()).arg(by_text(by)));
    chip->setToolTip(QStringLiteral("Drag to reorder. Keys: Ctrl+Left, Ctrl+Right, Delete"));
    if (before != nullptr) setTabOrder(before, chip);
    before = chip;
    chip->show();
  }
  for (QWidget* next : {add_, top_down_, bottom_up_}) {
    setTabOrder(before, next);
    before = next;
  }
  add_->setEnabled(chips_.size() < kAll.size());
  updateGeometry();
  place();
}

QSize GroupingBar::sizeHint() const {
  int width = add_->sizeHint().width() + top_down_->sizeHint().width() + bottom_up_->sizeHint().width() + 2 * kGap;
  int height = top_down_->sizeHint().height();
  for (const Chip* chip : chips_) {
    width += chip->sizeHint().width() + kArrow;
    height = std::max(height, chip->sizeHint().height());
  }
  return {width, height};
}

void GroupingBar::place() {
  int x = 0;
  const auto put = [&](QWidget* widget, int at) {
    const QSize size = widget->sizeHint();
    widget->setGeometry(at, (height() - size.height()) / 2, size.width(), size.height());
    return size.width();
  };
  for (Chip* chip : chips_) {
    x += (chip == dragged_ ? chip->width() : put(chip, x)) + kArrow;
  }
  x += put(add_, x) + kGap;
  const int ends = top_down_->sizeHint().width() + bottom_up_->sizeHint().width();
  x = std::max(x, width() - ends);
  x += put(top_down_, x);
  put(bottom_up_, x);
  update();
}

void GroupingBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme().faint, 1.4));
  int x = 0;
  for (size_t i = 0; i + 1 < chips_.size(); ++i) {
    x += chips_[i]->width();
    const QPointF tip(x + kArrow / 2.0 + 2, height() / 2.0);
    painter.drawLine(tip + QPointF(-4, -4), tip);
    painter.drawLine(tip + QPointF(-4, 4), tip);
    x += kArrow;
  }
}

void GroupingBar::resizeEvent(QResizeEvent*) { place(); }

void GroupingBar::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) {
    updateGeometry();
    place();
  }
  if (event->type() == QEvent::PaletteChange) update();
  QWidget::changeEvent(event);
}

void GroupingBar::fill_menu() {
  add_->menu()->clear();
  for (const peak::By by : kAll) {
    if (std::ranges::find(groupings_.levels, by) != groupings_.levels.end()) continue;
    add_->menu()->addAction(by_text(by), this, [this, by] {
      groupings_.levels.push_back(by);
      make_chips();
      focus(chips_.size() - 1);
      Q_EMIT changed();
    });
  }
}

void GroupingBar::move(size_t from, size_t to) {
  const auto rotate = [&](auto& all) {
    const auto at = [&](size_t i) { return all.begin() + static_cast<std::ptrdiff_t>(i); };
    if (from < to) {
      std::rotate(at(from), at(from + 1), at(to + 1));
    } else {
      std::rotate(at(to), at(from), at(from + 1));
    }
  };
  rotate(groupings_.levels);
  rotate(chips_);
  for (size_t i = 0; i < chips_.size(); ++i)
    chips_[i]->setAccessibleName(QStringLiteral("Grouping %1: %2").arg(i + 1).arg(chips_[i]->text()));
  place();
  Q_EMIT changed();
}

void GroupingBar::remove(size_t at) {
  if (chips_.size() < 2) return;  // at least one grouping stays
  groupings_.levels.erase(groupings_.levels.begin() + static_cast<std::ptrdiff_t>(at));
  make_chips();
  focus(std::min(at, chips_.size() - 1));
  Q_EMIT changed();
}

void GroupingBar::focus(size_t at) { chips_[at]->setFocus(Qt::TabFocusReason); }

// A chip swaps with its neighbor once its leading edge passes the neighbor's center. Thus a wide chip can pass a narrow
// one at the end of the row too.
void GroupingBar::drag(Chip* chip, int left) {
  dragged_ = chip;
  if (chip == nullptr) return place();
  chip->raise();
  chip->QWidget::move(std::clamp(left, 0, std::max(0, add_->x() - kArrow - chip->width())), chip->y());
  const auto at = static_cast<size_t>(std::ranges::find(chips_, chip) - chips_.begin());
  const auto middle = [&](size_t of) { return chips_[of]->geometry().center().x(); };
  if (at > 0 && chip->geometry().left() < middle(at - 1)) return move(at, at - 1);
  if (at + 1 < chips_.size() && chip->geometry().right() > middle(at + 1)) return move(at, at + 1);
  place();
}

}  // namespace tapelens::gui
