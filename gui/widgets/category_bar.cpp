#include "gui/widgets/category_bar.h"

#include <QHelpEvent>
#include <QPainter>
#include <QPainterPath>
#include <QStringList>
#include <QToolTip>
#include <algorithm>

#include "analyzer/text/format.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

CategoryBar::CategoryBar(QWidget* parent) : QWidget(parent) {
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  setAccessibleName(QStringLiteral("Bytes by category"));
}

void CategoryBar::show_categories(std::vector<peak::Category> categories, model::Bytes whole) {
  std::ranges::stable_sort(categories, std::ranges::greater{}, &peak::Category::bytes);
  const int before = heightForWidth(width());
  categories_ = std::move(categories);
  whole_ = whole;
  QStringList said;
  for (const peak::Category& c : categories_) said.append(category_label(c.kind) + QLatin1Char(' ') + numbers(c));
  setAccessibleDescription(said.join(QStringLiteral(", ")));
  if (heightForWidth(width()) != before) updateGeometry();
  update();
}

QString CategoryBar::numbers(const peak::Category& category) const {
  return QString::fromStdString(text::bytes_text(category.bytes) + "  " + text::percent_text(category.bytes, whole_));
}

// The legend wraps: each line has as many entries as fit.
std::vector<CategoryBar::Entry> CategoryBar::entries(int width) const {
  std::vector<Entry> out;
  const int line = fontMetrics().height(), swatch = fontMetrics().ascent();
  int x = 0, y = bar_height() + kGap;
  for (const peak::Category& category : categories_) {
    const int name = fontMetrics().horizontalAdvance(category_label(category.kind));
    const int number = fontMetrics().horizontalAdvance(numbers(category));
    const int whole = swatch + kGap / 2 + name + kGap + number;
    if (x > 0 && x + whole > width) {
      x = 0;
      y += line + kGap / 2;
    }
    out.push_back({QRect(x, y + (line - swatch) / 2, swatch, swatch), QRect(x + swatch + kGap / 2, y, name + 2, line),
                   QRect(x + swatch + kGap / 2 + name + kGap, y, number + 2, line)});
    x += whole + 3 * kGap;
  }
  return out;
}

int CategoryBar::heightForWidth(int width) const {
  const auto all = entries(std::max(1, width));
  return all.empty() ? bar_height() : all.back().name.bottom() + 1;
}

QSize CategoryBar::sizeHint() const {
  const int width = fontMetrics().averageCharWidth() * 80;
  return {width, heightForWidth(this->width() > 0 ? this->width() : width)};
}

int CategoryBar::width_of(const peak::Category& category) const {
  if (whole_.value <= 0) return 0;
  return static_cast<int>(static_cast<double>(category.bytes.value) / static_cast<double>(whole_.value) * width());
}

void CategoryBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRect bar(0, 0, width(), bar_height());
  QPainterPath round;
  round.addRoundedRect(bar, 4, 4);
  painter.fillPath(round, theme().grid);
  painter.setClipPath(round);
  int x = 0;
  for (const peak::Category& category : categories_) {
    const bool is_last = &category == &categories_.back();
    const QRect part(x, 0, is_last ? width() - x : std::max(1, width_of(category)), bar.height());
    painter.fillRect(part, theme().category(category.kind));
    if (x > 0) painter.fillRect(x, 0, 1, bar.height(), theme().window);
    x += part.width();
  }
  painter.setClipping(false);
  const auto places = entries(width());
  for (size_t i = 0; i < places.size(); ++i) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme().category(categories_[i].kind));
    painter.drawRoundedRect(places[i].swatch, 2, 2);
    painter.setPen(theme().text);
    painter.drawText(places[i].name, Qt::AlignVCenter | Qt::AlignLeft, category_label(categories_[i].kind));
    painter.setPen(theme().faint);
    painter.drawText(places[i].numbers, Qt::AlignVCenter | Qt::AlignLeft, numbers(categories_[i]));
  }
}

void CategoryBar::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (event->oldSize().width() != event->size().width()) updateGeometry();
}

void CategoryBar::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange) updateGeometry();
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) update();
  QWidget::changeEvent(event);
}

bool CategoryBar::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  int x = 0;
  for (const peak::Category& category : categories_) {
    const QRect part(x, 0, std::max(1, width_of(category)), bar_height());
    x += part.width();
    if (!part.contains(help->pos())) continue;
    QString words = category_label(category.kind) + QLatin1Char('\n') + numbers(category);
    if (category.allocations > 0)  // 0: not counted
      words += QStringLiteral(", ") +
               QString::fromStdString(text::plural(category.allocations, "allocation", "allocations"));
    QToolTip::showText(help->globalPos(), words, this, part);
    return true;
  }
  QToolTip::hideText();
  return true;
}

}  // namespace tapelens::gui
