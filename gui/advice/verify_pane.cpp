#include "gui/advice/verify_pane.h"

#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QToolButton>

#include "gui/models/visible_text.h"
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
  auto read = read_verify_result(path);
  verdict_ = read ? std::optional(std::move(*read)) : std::nullopt;
  effect_->setVisible(verdict_.has_value());
  if (verdict_) {
    title_->setText(tr("Verify: %1").arg(verdict_title(*verdict_)));
    effect_->setText(verdict_effect(*verdict_));
    text_->setText(verdict_text(*verdict_));
  } else {
    title_->setText(tr("No verify result"));
    text_->setText(visible(read.error().message));
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
  if (!verdict_) return theme().warning;
  return verdict_->answer() == verify::Answer::identical ? theme().what_if : theme().error;
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
