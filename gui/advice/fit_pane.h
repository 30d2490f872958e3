// Less memory for more time: a slider over the choices of `tapelens run --fit`, predicted from the recording.
#pragma once

#include <QWidget>

#include "analyzer/plan/curve.h"

class QLabel;
class QPushButton;
class QSlider;

namespace tapelens::gui {

class FitPane : public QWidget {
  Q_OBJECT
 public:
  explicit FitPane(QWidget* parent = nullptr);
  // Hides the pane if the curve is null or has no choice. `command`: of the recording; empty: not known. The curve must
  // live until the next call.
  void show_curve(const plan::Curve* curve, const QString& command);

 Q_SIGNALS:
  void copied(const QString& text);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void show_point();

  const plan::Curve* curve_ = nullptr;
  QString command_;
  QLabel *title_, *effect_, *layers_, *line_;
  QSlider* slider_;
  QPushButton* copy_;
};

}  // namespace tapelens::gui
