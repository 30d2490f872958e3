// The recorded memory, and over it the memory without the ticked findings.
#pragma once

#include <QWidget>
#include <memory>

#include "gui/models/session.h"

namespace tapelens::gui {

class BeforeAfter;

class ReductionCurve : public QWidget {
  Q_OBJECT
 public:
  explicit ReductionCurve(Session& session, QWidget* parent = nullptr);
  ~ReductionCurve() override;
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void find_picture();  // recomputes the picture if the size or the subject has changed
  QRectF plot() const;
  void describe();

  Session& session_;
  std::unique_ptr<const BeforeAfter> picture_;
};

}  // namespace tapelens::gui
