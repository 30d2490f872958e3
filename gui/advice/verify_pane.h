// The result of `tapelens verify` for a plan: the verdict in a strip across the page.
#pragma once

#include <QWidget>
#include <optional>

#include "gui/models/verifying.h"

class QLabel;
class QToolButton;

namespace tapelens::gui {

class VerifyPane : public QWidget {
  Q_OBJECT
 public:
  explicit VerifyPane(QWidget* parent = nullptr);
  // Shows the pane. An invalid file shows an error.
  void open(const QString& path);
  void clear();  // hides the pane

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  QColor color() const;  // color of the verdict
  void paint_title();

  QString path_;
  std::optional<verify::Verdict> verdict_;
  QLabel* title_;
  QLabel* effect_;
  QLabel* text_;
  QToolButton* close_;
};

}  // namespace tapelens::gui
