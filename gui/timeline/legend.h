// The groups of the curve that are drawn somewhere, with their colours and patterns, and what each has at the peak: for
// categories what `tapelens report` says of it.
#pragma once

#include <QWidget>

#include "gui/models/session.h"

namespace tapelens::gui {

class Legend final : public QWidget {
 public:
  explicit Legend(Session& session, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  static constexpr uint8_t kAllocated = 254, kReserved = 255;
  struct Entry {
    QString words;
    QRect where;
    uint8_t group;  // or, of a line over the curve, kAllocated and kReserved
  };
  std::vector<Entry> entries(int width) const;

  Session& session_;
};

}  // namespace tapelens::gui
