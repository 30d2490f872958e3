// The groups that are visible in the curve, with their colors and patterns, and their bytes at the peak. For categories
// these are the numbers of `tapelens report`.
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
    uint8_t group;  // or kAllocated or kReserved, for a line over the curve
  };
  std::vector<Entry> entries(int width) const;

  Session& session_;
};

}  // namespace tapelens::gui
