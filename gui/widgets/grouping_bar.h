// The order of groupings as draggable chips, and the direction in which they apply.
#pragma once

#include <QWidget>
#include <vector>

#include "gui/models/group_tree.h"

class QToolButton;

namespace tapelens::gui {

class GroupingBar : public QWidget {
  Q_OBJECT
 public:
  explicit GroupingBar(QWidget* parent = nullptr);

  const Groupings& groupings() const { return groupings_; }
  void set_groupings(const Groupings& groupings);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 Q_SIGNALS:
  void changed();  // by the mouse or a key

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  class Chip;
  void make_chips();
  void place();
  void fill_menu();
  void move(size_t from, size_t to);  // while the chip is dragged
  void remove(size_t at);
  void drag(Chip* chip, int left);
  void focus(size_t at);

  Groupings groupings_;
  std::vector<Chip*> chips_;
  Chip* dragged_ = nullptr;
  QToolButton* add_;
  QToolButton* top_down_;
  QToolButton* bottom_up_;
};

}  // namespace tapelens::gui
