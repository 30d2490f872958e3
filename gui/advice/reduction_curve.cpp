#include "gui/advice/reduction_curve.h"

#include <QEvent>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include "analyzer/text/format.h"
#include "gui/widgets/before_after.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

QString bytes(Bytes value) { return QString::fromStdString(text::bytes_text(value)); }
QString time(Time value) { return QString::fromStdString(text::time_text(value)); }

constexpr int kLines = 9;  // height, in lines of text

}  // namespace

ReductionCurve::ReductionCurve(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  const auto again = [this] {
    picture_.reset();
    describe();
    update();
  };
  connect(&session, &Session::opened, this, again);
  connect(&session, &Session::closed, this, again);
  connect(&session, &Session::whatIfChanged, this, again);
  connect(&session, &Session::viewChanged, this, [this, again](const ViewState& before) {
    if (before.subject != session_.view().subject) again();
  });
  describe();
}

QSize ReductionCurve::sizeHint() const {
  return {60 * fontMetrics().averageCharWidth(), kLines * fontMetrics().height()};
}
QSize ReductionCurve::minimumSizeHint() const {
  return {30 * fontMetrics().averageCharWidth(), (kLines - 3) * fontMetrics().height()};
}

ReductionCurve::~ReductionCurve() = default;

QRectF ReductionCurve::plot() const {
  return QRectF(rect()).marginsRemoved(BeforeAfter::margins(QFontMetrics(small_font())));
}

void ReductionCurve::find_picture() {
  const int width = std::max(1, static_cast<int>(plot().width() * devicePixelRatioF()));
  if (picture_ && picture_->columns() == width) return;
  picture_ = std::make_unique<const BeforeAfter>(session_.subject(), session_.document()->facts().duration,
                                                 session_.what_if().get(), width);
}

void ReductionCurve::paintEvent(QPaintEvent*) {
  if (session_.document() == nullptr) return;
  find_picture();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(small_font());
  picture_->paint(painter, plot(), tr("without what is ticked"));
}

void ReductionCurve::describe() {
  setAccessibleName(tr("Memory over time"));
  if (session_.document() == nullptr) return;
  QString text = tr("The peak is %1.").arg(bytes(session_.subject().device.peak));
  if (const auto& what_if = session_.what_if())
    text += tr(" Without the ticked findings it is %1.").arg(bytes(what_if->after));
  setAccessibleDescription(text);
}

bool ReductionCurve::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || session_.document() == nullptr || !picture_) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QRectF area = plot();
  const double share = (help->pos().x() - area.left()) / area.width();
  if (share < 0 || share >= 1) {
    QToolTip::hideText();
    return true;
  }
  QString text = tr("at %1\n%2 recorded").arg(time(picture_->time_at(share)), bytes(picture_->recorded_at(share)));
  if (const auto without = picture_->without_at(share))
    text += tr("\n%1 without the ticked findings").arg(bytes(*without));
  QToolTip::showText(help->globalPos(), text, this);
  return true;
}

void ReductionCurve::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) update();
  QWidget::changeEvent(event);
}

}  // namespace tapelens::gui
