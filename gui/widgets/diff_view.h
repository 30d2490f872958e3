// A unified diff as read-only text; added and removed lines have a colored background.
#pragma once

#include <QPlainTextEdit>

namespace tapelens::gui {

class DiffView : public QPlainTextEdit {
  Q_OBJECT
 public:
  explicit DiffView(QWidget* parent = nullptr);
  void show_diff(const QString& diff);
  // Makes the view as high as its text, up to a number of lines; longer text scrolls.
  void fit(int most_lines);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void tint();
};

}  // namespace tapelens::gui
