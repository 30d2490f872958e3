#include <QPainter>
#include <QTextBlock>

#include "gui/widgets/source_pane.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

class Gutter : public QWidget {
 public:
  explicit Gutter(SourceView& view) : QWidget(&view), view_(view) {}
  QSize sizeHint() const override { return {view_.gutter_width(), 0}; }

 protected:
  void paintEvent(QPaintEvent* event) override { view_.paint_gutter(event->rect()); }

 private:
  SourceView& view_;
};

}  // namespace

SourceView::SourceView(QWidget* parent) : QPlainTextEdit(parent), gutter_(new Gutter(*this)) {
  setReadOnly(true);
  setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  setLineWrapMode(QPlainTextEdit::NoWrap);
  setFont(mono_font());
  setFrameShape(QFrame::NoFrame);
  setTabChangesFocus(true);
  setTabStopDistance(fontMetrics().horizontalAdvance(QLatin1Char(' ')) * 4);
  new PythonColors(document());
  connect(this, &QPlainTextEdit::updateRequest, this, [this](const QRect& part, int moved) {
    if (moved != 0) {
      gutter_->scroll(0, moved);
    } else {
      gutter_->update(0, part.y(), gutter_->width(), part.height());
    }
  });
}

void SourceView::show_source(const QString& text, int first, int line) {
  first_ = first;
  line_ = line;
  setPlainText(text);
  setViewportMargins(gutter_width(), 0, 0, 0);
  place_gutter();
  mark();
  gutter_->update();
}

void SourceView::mark() {
  const QTextBlock block = document()->findBlockByNumber(line_ - first_);
  if (line_ <= 0 || !block.isValid()) return setExtraSelections({});
  const QTextCursor cursor(block);
  QTextEdit::ExtraSelection selection;
  selection.format.setBackground(theme().selection);
  selection.format.setProperty(QTextFormat::FullWidthSelection, true);
  selection.cursor = cursor;
  setExtraSelections({selection});
  setTextCursor(cursor);
  centerCursor();
}

int SourceView::gutter_width() const {
  const qsizetype digits = QString::number(first_ + blockCount()).size();
  return fontMetrics().horizontalAdvance(QLatin1Char('9')) * static_cast<int>(digits) + 2 * kGap;
}

void SourceView::paint_gutter(const QRect& part) {
  QPainter painter(gutter_);
  painter.fillRect(part, theme().window);
  painter.setFont(font());
  QTextBlock block = firstVisibleBlock();
  for (; block.isValid(); block = block.next()) {
    const QRectF box = blockBoundingGeometry(block).translated(contentOffset());
    if (box.top() > part.bottom()) break;
    if (box.bottom() < part.top()) continue;
    const int line = block.blockNumber() + first_;
    if (line == line_) {
      painter.fillRect(QRectF(0, box.top(), gutter_->width(), box.height()), theme().selection);
      painter.fillRect(QRectF(0, box.top(), 3, box.height()), theme().accent);
    }
    painter.setPen(line == line_ ? theme().text : theme().faint);
    painter.drawText(QRectF(0, box.top(), gutter_->width() - kGap, fontMetrics().height()), Qt::AlignRight,
                     QString::number(line));
  }
}

void SourceView::place_gutter() {
  const QRect inside = contentsRect();
  gutter_->setGeometry(inside.left(), inside.top(), gutter_width(), inside.height());
}

void SourceView::resizeEvent(QResizeEvent* event) {
  QPlainTextEdit::resizeEvent(event);
  place_gutter();
  // Keeps the line in the center during layout.
  if (line_ > 0) centerCursor();
}

void SourceView::changeEvent(QEvent* event) {
  QPlainTextEdit::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  mark();
  if (auto* colors = document()->findChild<QSyntaxHighlighter*>()) colors->rehighlight();
}

}  // namespace tapelens::gui
