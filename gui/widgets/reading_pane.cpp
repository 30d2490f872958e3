#include "gui/widgets/reading_pane.h"

#include <QEvent>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/widgets/theme.h"

namespace tapelens::gui {

ReadingPane::ReadingPane(const QString& ask, QWidget* parent)
    : QWidget(parent),
      message_(new QLabel(this)),
      problem_(new QLabel(this)),
      progress_(new QProgressBar(this)),
      cancel_(new QPushButton(tr("Cancel"), this)),
      ask_(new QPushButton(ask, this)) {
  for (QLabel* label : {message_, problem_}) {
    label->setAlignment(Qt::AlignCenter);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
  }
  problem_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  progress_->setRange(0, 1000);
  progress_->setTextVisible(false);
  progress_->setMaximumWidth(60 * fontMetrics().averageCharWidth());
  progress_->setAccessibleName(tr("How much is read"));
  connect(ask_, &QPushButton::clicked, this, &ReadingPane::asked);
  connect(cancel_, &QPushButton::clicked, this, &ReadingPane::cancelled);
  auto* column = new QVBoxLayout(this);
  column->setSpacing(kGap);
  column->addStretch();
  column->addWidget(message_);
  column->addWidget(problem_);
  for (QWidget* one : std::initializer_list<QWidget*>{progress_, cancel_, ask_})
    column->addWidget(one, 0, Qt::AlignHCenter);
  column->addStretch();
  paint_problem();
}

void ReadingPane::show_state(const QString& message, const QString& problem, bool is_reading) {
  message_->setText(message);
  problem_->setText(problem);
  problem_->setVisible(!is_reading && !problem.isEmpty());
  progress_->setVisible(is_reading);
  progress_->setValue(0);
  cancel_->setVisible(is_reading);
  ask_->setVisible(!is_reading);
}

void ReadingPane::show_progress(double share) { progress_->setValue(static_cast<int>(progress_->maximum() * share)); }

void ReadingPane::show_message(const QString& message) { message_->setText(message); }

void ReadingPane::set_askable(bool on) { ask_->setEnabled(on); }

void ReadingPane::paint_problem() {
  QPalette palette = problem_->palette();
  palette.setColor(QPalette::WindowText, theme().error);
  problem_->setPalette(palette);
}

void ReadingPane::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) paint_problem();
}

}  // namespace tapelens::gui
