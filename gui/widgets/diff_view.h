// A unified diff as text: read only, its added and removed lines on a ground of their own.
#pragma once

#include <QPlainTextEdit>

namespace tapelens::gui {

class DiffView : public QPlainTextEdit {
  Q_OBJECT
 public:
  explicit DiffView(QWidget* parent = nullptr);
  void show_diff(const QString& diff);
  // As high as its text, up to a number of lines; the rest is scrolled to.
  void fit(int most_lines);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void tint();
};

}  // namespace tapelens::gui
