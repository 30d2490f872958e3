#include <QEvent>
#include <QScrollBar>
#include <QTextBlock>
#include <algorithm>

#include "gui/widgets/source_pane.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

DiffView::DiffView(QWidget* parent) : QPlainTextEdit(parent) {
  setReadOnly(true);
  setLineWrapMode(QPlainTextEdit::NoWrap);
  setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  setTabChangesFocus(true);
  setFont(mono_font());
  setAccessibleName(tr("Patch"));
}

void DiffView::show_diff(const QString& diff) {
  setPlainText(diff.endsWith('\n') ? diff.chopped(1) : diff);
  tint();
}

void DiffView::fit(int most_lines) {
  const int lines = std::clamp(document()->blockCount(), 1, most_lines);
  const int margins = 2 * frameWidth() + static_cast<int>(2 * document()->documentMargin());
  const int bar = horizontalScrollBar()->sizeHint().height();
  setFixedHeight(lines * fontMetrics().lineSpacing() + margins + bar);
}

void DiffView::tint() {
  QList<QTextEdit::ExtraSelection> grounds;
  for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
    const QString line = block.text();
    const bool is_head = line.startsWith("+++") || line.startsWith("---");
    QTextEdit::ExtraSelection ground;
    if (is_head || line.startsWith("@@")) {
      ground.format.setForeground(theme().faint);
    } else if (line.startsWith('+')) {
      ground.format.setBackground(theme().added);
    } else if (line.startsWith('-')) {
      ground.format.setBackground(theme().removed);
    } else {
      continue;
    }
    ground.format.setProperty(QTextFormat::FullWidthSelection, true);
    ground.cursor = QTextCursor(block);
    if (is_head || line.startsWith("@@")) ground.cursor.select(QTextCursor::LineUnderCursor);
    grounds.append(ground);
  }
  setExtraSelections(grounds);
}

void DiffView::changeEvent(QEvent* event) {
  QPlainTextEdit::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) tint();
}

}  // namespace tapelens::gui
