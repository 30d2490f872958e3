#include "gui/advice/fit_pane.h"

#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QSlider>
#include <algorithm>

#include "analyzer/plan/plan_text.h"
#include "analyzer/text/format.h"
#include "gui/models/visible_text.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

constexpr size_t kMostLayers = 2;

QString layers_text(const std::vector<plan::Layer>& layers) {
  QStringList names;
  for (size_t i = 0; i < std::min(layers.size(), kMostLayers); ++i) names += visible(plan::layer_text(layers[i]));
  if (layers.size() > kMostLayers) names += FitPane::tr("%1 more").arg(layers.size() - kMostLayers);
  return names.join(", ");
}

}  // namespace

FitPane::FitPane(QWidget* parent)
    : QWidget(parent),
      title_(new QLabel(tr("Less memory for more time"))),
      effect_(new QLabel),
      layers_(new QLabel),
      line_(new QLabel),
      slider_(new QSlider(Qt::Horizontal)),
      copy_(new QPushButton(tr("Copy f&it command"))) {
  setAccessibleName(tr("Less memory for more time"));
  setToolTip(visible(plan::kCurveNote));
  QFont bold = font();
  bold.setWeight(QFont::DemiBold);
  title_->setFont(bold);
  for (QLabel* label : {effect_, layers_, line_}) {
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setWordWrap(true);
  }
  layers_->setMinimumHeight(2 * fontMetrics().lineSpacing());  // the slider moves nothing
  layers_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  line_->setFont(mono_font());
  slider_->setAccessibleName(tr("Size"));
  slider_->setPageStep(1);
  copy_->setToolTip(tr("Copy the command that runs the program in this memory"));
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(kMargin, kGap / 2, kGap / 2, kGap / 2);
  grid->setHorizontalSpacing(kGap);
  grid->setVerticalSpacing(2);
  grid->addWidget(title_, 0, 0);
  grid->addWidget(slider_, 0, 1);
  grid->addWidget(copy_, 0, 2);
  grid->addWidget(effect_, 1, 0, 1, 3);
  grid->addWidget(layers_, 2, 0, 1, 3);
  grid->addWidget(line_, 3, 0, 1, 3);
  grid->setColumnStretch(1, 1);
  connect(slider_, &QSlider::valueChanged, this, &FitPane::show_point);
  connect(copy_, &QPushButton::clicked, this, [this] { Q_EMIT copied(line_->text()); });
  hide();
}

void FitPane::show_curve(const plan::Curve* curve, const QString& command) {
  curve_ = curve != nullptr && curve->is_worth() ? curve : nullptr;
  command_ = command;
  setVisible(curve_ != nullptr);
  if (curve_ == nullptr) return;
  const QSignalBlocker blocked(slider_);
  slider_->setRange(1, static_cast<int>(curve_->points.size()) - 1);  // the first point has no rewrites
  slider_->setValue(1);
  slider_->setEnabled(curve_->points.size() > 2);
  show_point();
}

void FitPane::show_point() {
  if (curve_ == nullptr) return;
  const plan::CurvePoint& point = curve_->points[static_cast<size_t>(slider_->value())];
  const QString effect =
      tr("%1 %2 instead of %3, %4, with %5")
          .arg(curve_->is_reserved ? tr("Reserved") : tr("Peak"), visible(text::bytes_text(point.bytes)),
               visible(text::bytes_text(curve_->points.front().bytes)), visible(plan::added_text(*curve_, point)),
               visible(plan::name_of(point.choice)));
  effect_->setText(effect);
  layers_->setText(layers_text(point.layers));
  line_->setText(visible(plan::fit_command(point, command_.toStdString())));
  slider_->setAccessibleDescription(effect);
}

void FitPane::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().raised);
  painter.setPen(theme().line);
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

void FitPane::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) update();
}

}  // namespace tapelens::gui
