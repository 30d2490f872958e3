// The memory of all ranks over the steps: a band from minimum to maximum, and the median as a line.
#pragma once

#include <QWidget>
#include <memory>

#include "analyzer/ranks/job.h"

namespace tapelens::gui {

class EnvelopeView : public QWidget {
  Q_OBJECT
 public:
  explicit EnvelopeView(QWidget* parent = nullptr);
  void show_job(std::shared_ptr<const ranks::Job> job);  // null shows no ranks
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QRectF plot() const;
  double step_of(size_t point) const;
  void paint_axes(QPainter& painter, int64_t top) const;

  std::shared_ptr<const ranks::Job> job_;
};

}  // namespace tapelens::gui
