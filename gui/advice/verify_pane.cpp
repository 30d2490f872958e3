#include "gui/advice/verify_pane.h"

#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QToolButton>

#include "gui/widgets/theme.h"

namespace tapelens::gui {

VerifyPane::VerifyPane(QWidget* parent)
    : QWidget(parent), title_(new QLabel), effect_(new QLabel), text_(new QLabel), close_(new QToolButton) {
  setAccessibleName(tr("Verify result"));
  QFont bold = font();
  bold.setWeight(QFont::DemiBold);
  title_->setFont(bold);
  for (QLabel* label : {title_, effect_, text_}) {
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
  }
  title_->setWordWrap(false);
  effect_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  close_->setText(tr("Hide"));
  close_->setToolTip(tr("Hide the verify result"));
  connect(close_, &QToolButton::clicked, this, &VerifyPane::clear);
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(kMargin, kGap / 2, kGap / 2, kGap / 2);
  grid->setHorizontalSpacing(2 * kGap);
  grid->setVerticalSpacing(2);
  grid->addWidget(title_, 0, 0);
  grid->addWidget(effect_, 0, 1);
  grid->addWidget(close_, 0, 2, Qt::AlignTop);
  grid->addWidget(text_, 1, 0, 1, 3);
  grid->setColumnStretch(1, 1);
  hide();
}

void VerifyPane::open(const QString& path) {
  path_ = path;
  read_ = read_verify_result(path);
  effect_->setVisible(read_.result.has_value());
  if (read_.result) {
    title_->setText(tr("Verify: %1").arg(verdict_title(*read_.result)));
    effect_->setText(verdict_effect(*read_.result));
    text_->setText(verdict_text(*read_.result));
  } else {
    title_->setText(tr("No verify result"));
    text_->setText(read_.problem);
  }
  setToolTip(path_);
  paint_title();
  show();
}

void VerifyPane::clear() {
  path_.clear();
  hide();
}

QColor VerifyPane::color() const {
  if (!read_.result) return theme().warning;
  return read_.result->is_identical ? theme().what_if : theme().error;
}

void VerifyPane::paint_title() {
  QPalette palette = title_->palette();
  palette.setColor(QPalette::WindowText, color());
  title_->setPalette(palette);
  update();
}

void VerifyPane::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().raised);
  painter.setPen(theme().line);
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
  painter.fillRect(QRect(0, 0, kGap / 2, height()), color());
}

void VerifyPane::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && !path_.isEmpty()) paint_title();
}

}  // namespace tapelens::gui
