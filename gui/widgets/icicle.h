// A tree of groups as an icicle: the root at the top, each group as wide as its bytes, with its children below it. The
// tree of two compared runs has the colours of growth.
#pragma once

#include <QAbstractScrollArea>
#include <memory>
#include <vector>

#include "gui/models/group_tree.h"

namespace tapelens::gui {

class IcicleView : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit IcicleView(QWidget* parent = nullptr);

  // Keeps the zoom if the other tree has the same node.
  void show_tree(std::shared_ptr<const GroupTree> tree, const QString& root_name);
  const GroupTree& tree() const { return *tree_; }
  uint32_t current() const { return current_; }
  uint32_t zoomed() const { return zoomed_; }
  // Marks a node, and scrolls to it if it is within the zoomed node.
  void set_current(uint32_t node);
  void zoom_to(uint32_t node);
  // The node at a place of the viewport; of several small ones the biggest. The current node if the place is empty.
  uint32_t node_at(QPoint place) const;
  QString description(uint32_t node) const;  // its path, bytes and share

  QSize sizeHint() const override;

 Q_SIGNALS:
  void selected(uint32_t node);  // by the mouse or a key
  void zoomChanged(uint32_t node);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  // One painted piece: a node, or several that are each less than a pixel wide.
  struct Piece {
    int x0, x1;
    uint32_t depth;  // from the top
    uint32_t node;   // of several: the biggest
    uint32_t count;  // number of nodes
  };
  void place();
  void place_children(uint32_t node, double x0, double x1);
  void paint(QPainter& painter, const Piece& piece) const;
  QRect rectangle(const Piece& piece) const;
  const Piece* piece_at(QPoint position) const;
  const Piece* piece_of(uint32_t node) const;
  QString tip(const Piece& piece) const;
  QString growth_tip(const Piece& piece) const;
  QString label(uint32_t node) const;
  QColor color(const Piece& piece) const;
  int row_height() const;
  void choose(uint32_t node);
  void step(int by);
  void describe();

  std::shared_ptr<const GroupTree> tree_ = std::make_shared<GroupTree>();
  QString root_name_;
  uint32_t zoomed_ = GroupTree::kRoot, current_ = GroupTree::kRoot;
  std::vector<Piece> pieces_;
  uint32_t rows_ = 1;
  int hovered_ = -1;  // index into pieces_
};

}  // namespace tapelens::gui
