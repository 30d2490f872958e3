#include "gui/steps/step_bars.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "analyzer/text/format.h"
#include "gui/models/visible_text.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

constexpr int kFew = 12;  // steps: up to this many bars show their bytes and number

}  // namespace

StepBars::StepBars(const StepsTable& table, QWidget* parent) : QWidget(parent), table_(table) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(QStringLiteral("Peak of each step"));
  connect(&table, &QAbstractItemModel::modelReset, this, [this] {
    width_ = hovered_ = current_ = -1;
    updateGeometry();
    update();
  });
}

// Few steps need only a low table, so the bars get the rest of the height.
QSize StepBars::sizeHint() const {
  return {fontMetrics().averageCharWidth() * 40, fontMetrics().height() * (is_few() ? 14 : 6)};
}

bool StepBars::is_few() const { return !table_.steps().empty() && table_.steps().size() <= kFew; }

QRect StepBars::plot() const {
  return QRect(0, kGap, width(), height() - QFontMetrics(small_font()).height() - kGap - 6);
}

const std::vector<StepBars::Bar>& StepBars::bars() const {
  if (width_ == width()) return bars_;
  width_ = width();
  bars_.clear();
  const auto count = static_cast<int64_t>(table_.steps().size());
  if (count == 0 || width_ <= 0) return bars_;
  const int64_t room = width_;
  for (int64_t row = 0; row < count; ++row) {
    const int x0 = static_cast<int>(row * room / count);
    const int x1 = std::max(x0 + 1, static_cast<int>((row + 1) * room / count));
    const auto at = static_cast<int>(row);
    if (bars_.empty() || bars_.back().x0 != x0) {
      bars_.push_back({x0, x1, at, at});
      continue;
    }
    Bar& bar = bars_.back();
    bar.last = at;
    bar.x1 = x1;
    if (table_.number(static_cast<size_t>(row), StepsTable::peak) >
        table_.number(static_cast<size_t>(bar.row), StepsTable::peak))
      bar.row = at;
  }
  return bars_;
}

int StepBars::bar_at(double x) const {
  const auto& all = bars();
  const auto at = std::ranges::find_if(all, [&](const Bar& bar) { return bar.x0 <= x && x < bar.x1; });
  return at == all.end() ? -1 : static_cast<int>(at - all.begin());
}

int StepBars::bar_of(int row) const {
  const auto& all = bars();
  const auto at = std::ranges::lower_bound(all, row, {}, &Bar::last);
  return row < 0 || at == all.end() ? -1 : static_cast<int>(at - all.begin());
}

void StepBars::set_current(int row) {
  current_ = row;
  if (row >= 0) setAccessibleDescription(tip({0, 0, row, row}, row).replace(QLatin1Char('\n'), QStringLiteral(", ")));
  update();
}

QString StepBars::tip(const Bar& bar, int first) const {
  const report::Step& step = table_.steps()[static_cast<size_t>(bar.row)];
  QString text = QStringLiteral("Step %1\nPeak %2").arg(step.index).arg(visible(text::bytes_text(step.peak)));
  if (first != bar.last) {
    text += QStringLiteral(", the largest of steps %1 to %2")
                .arg(table_.steps()[static_cast<size_t>(first)].index)
                .arg(table_.steps()[static_cast<size_t>(bar.last)].index);
  }
  const QString note = table_.index(bar.row, StepsTable::note).data().toString();
  return note.isEmpty() ? text : text + QLatin1Char('\n') + note;
}

void StepBars::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().surface);
  const QRect box = plot();
  painter.fillRect(0, box.bottom() + 1, width(), 1, theme().line);
  if (table_.largest() < 0) return;
  const double most =
      static_cast<double>(std::max<qint64>(1, table_.number(static_cast<size_t>(table_.largest()), StepsTable::peak)));
  const auto& all = bars();
  const int marked = bar_of(current_);
  // Gaps between all bars or none: with bars of 3 or 4 pixels, some gaps would form a pattern.
  const int gap = is_few() ? kGap : all.back().x1 >= 5 * static_cast<int>(all.size()) ? 1 : 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const Bar& bar = all[i];
    const auto row = static_cast<size_t>(bar.row);
    const int height =
        std::max(1, static_cast<int>(static_cast<double>(table_.number(row, StepsTable::peak)) / most * box.height()));
    const bool is_marked = static_cast<int>(i) == marked;
    QColor color = theme().category(peak::HolderKind::save);
    if (!table_.outstanding().peak[row].isEmpty()) color = theme().warning;
    if (static_cast<int>(i) == hovered_ && !is_marked) color = theme().accent;
    if (is_marked) {
      painter.fillRect(bar.x0, box.top(), bar.x1 - bar.x0, box.height() + 1, theme().selection);
      // The mark below makes a thin bar visible.
      painter.fillRect((bar.x0 + bar.x1) / 2 - 3, box.bottom() + 1, 7, 3, theme().accent);
      color = theme().accent;
    }
    painter.fillRect(bar.x0, box.bottom() + 1 - height, bar.x1 - bar.x0 - gap, height, color);
    // Marks outliers by shape as well as color.
    if (!table_.outstanding().peak[row].isEmpty())
      painter.fillRect(bar.x0, box.top() - 5, std::max(2, bar.x1 - bar.x0 - gap), 3, theme().warning);
  }
  painter.setFont(small_font());
  painter.setPen(theme().faint);
  if (is_few()) {
    for (const Bar& bar : all) {
      const QRect place(bar.x0, box.bottom() + 3, bar.x1 - bar.x0 - gap, height() - box.bottom() - 3);
      const QString number = QStringLiteral("step %1").arg(table_.steps()[static_cast<size_t>(bar.row)].index);
      painter.drawText(place, Qt::AlignHCenter | Qt::AlignTop,
                       painter.fontMetrics().elidedText(number, Qt::ElideRight, place.width()));
    }
    paint_bytes(painter);
  } else {
    paint_ends(painter);
  }
  if (hasFocus()) {
    painter.setPen(QPen(theme().accent, 1));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

// The peak of each step, inside the bar if it is high enough, else above it.
void StepBars::paint_bytes(QPainter& painter) const {
  const QRect box = plot();
  const auto most =
      static_cast<double>(std::max<qint64>(1, table_.number(static_cast<size_t>(table_.largest()), StepsTable::peak)));
  const int line = painter.fontMetrics().height();
  for (const Bar& bar : bars()) {
    const auto row = static_cast<size_t>(bar.row);
    const auto bytes = table_.number(row, StepsTable::peak);
    const int height = static_cast<int>(static_cast<double>(bytes) / most * box.height());
    const QString text = visible(text::bytes_text({bytes}));
    const QRect place(bar.x0, box.bottom() + 1 - height + (height > 2 * line ? kGap / 2 : -line),
                      bar.x1 - bar.x0 - kGap, line);
    if (painter.fontMetrics().horizontalAdvance(text) > place.width()) continue;
    QColor ground = theme().category(peak::HolderKind::save);
    if (!table_.outstanding().peak[row].isEmpty()) ground = theme().warning;
    if (bar.row == current_) ground = theme().accent;
    painter.setPen(height > 2 * line ? text_on(ground) : theme().text);
    painter.drawText(place, Qt::AlignCenter, text);
  }
}

void StepBars::paint_ends(QPainter& painter) const {
  const QRect box = plot();
  const QRect below(kGap / 2, box.bottom() + 3, width() - kGap, height() - box.bottom() - 3);
  painter.drawText(below, Qt::AlignLeft | Qt::AlignTop, QStringLiteral("step %1").arg(table_.steps().front().index));
  painter.drawText(below, Qt::AlignRight | Qt::AlignTop, QString::number(table_.steps().back().index));
}

void StepBars::mousePressEvent(QMouseEvent* event) {
  const int at = bar_at(event->position().x());
  if (event->button() == Qt::LeftButton && at >= 0) Q_EMIT selected(bars()[static_cast<size_t>(at)].row);
}

void StepBars::mouseDoubleClickEvent(QMouseEvent* event) {
  const int at = bar_at(event->position().x());
  if (event->button() == Qt::LeftButton && at >= 0) Q_EMIT activated(bars()[static_cast<size_t>(at)].row);
}

void StepBars::mouseMoveEvent(QMouseEvent* event) {
  const int at = bar_at(event->position().x());
  if (at != hovered_) update();
  hovered_ = at;
}

void StepBars::leaveEvent(QEvent*) {
  hovered_ = -1;
  update();
}

void StepBars::keyPressEvent(QKeyEvent* event) {
  const int last = table_.rowCount() - 1;
  const auto go = [&](int row) {
    if (last >= 0) Q_EMIT selected(std::clamp(row, 0, last));
  };
  switch (event->key()) {
    case Qt::Key_Left:
      return go(current_ - 1);
    case Qt::Key_Right:
      return go(current_ + 1);
    case Qt::Key_Home:
      return go(0);
    case Qt::Key_End:
      return go(last);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (current_ >= 0) Q_EMIT activated(current_);
      return;
    default:
      QWidget::keyPressEvent(event);
  }
}

void StepBars::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) update();
  QWidget::changeEvent(event);
}

void StepBars::focusInEvent(QFocusEvent*) { update(); }
void StepBars::focusOutEvent(QFocusEvent*) { update(); }

bool StepBars::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int at = bar_at(help->pos().x());
  if (at < 0) {
    QToolTip::hideText();
    return true;
  }
  const Bar& bar = bars()[static_cast<size_t>(at)];
  QToolTip::showText(help->globalPos(), tip(bar, at == 0 ? 0 : bars()[static_cast<size_t>(at - 1)].last + 1), this,
                     QRect(bar.x0, 0, bar.x1 - bar.x0, height()));
  return true;
}

}  // namespace tapelens::gui
