// Segments as strips of their blocks; scrolls vertically, and zooms from all segments to single blocks.
#pragma once

#include <QAbstractScrollArea>
#include <memory>
#include <optional>
#include <unordered_map>

#include "gui/models/session.h"
#include "gui/picture/segment_map.h"

namespace tapelens::gui {

class MapView final : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit MapView(Session& session, QWidget* parent = nullptr);

  void show_moment(std::shared_ptr<const MomentSet> moment);
  void show_segment(uint32_t segment);  // marks the segment and scrolls to it
  void zoom(double factor);             // factor of the detail; 0: shows everything at once, if possible
  const picture::SegmentMap* map() const { return map_.get(); }  // null: nothing is shown
  QRect rect_of(AllocationId allocation) const;  // in the viewport, its first piece; empty if it is not shown

 Q_SIGNALS:
  void selected(uint32_t allocation);  // 0: none
  void activated(uint32_t allocation);

 protected:
  bool viewportEvent(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  struct BlockIndex {
    uint32_t segment, block;
  };
  struct Anchor {
    QPoint at;
    uint32_t segment;
    int64_t byte;
  };
  void lay_out();
  void show_allocation();
  void set_scale(double bytes_per_pixel, QPoint fixed);
  void scroll_to(int row);
  void paint_row(QPainter& painter, int row);
  void paint_heading(QPainter& painter, const picture::SegmentMap::Group& group);
  void paint_piece(QPainter& painter, const picture::SegmentMap::Piece& piece);
  void paint_block(QPainter& painter, const peak::BlockAt& block, const QRect& where, bool begins_here);
  void paint_marks(QPainter& painter);
  picture::SegmentMap::Hit place_at(QPoint place) const;
  QString tip_of(const picture::SegmentMap::Hit& place) const;
  void step(int by);                           // to the next block by address
  void step_row(int by);                       // to the block below or above
  QRect strip(int row, int x0, int x1) const;  // in the viewport

  Session& session_;
  std::shared_ptr<const MomentSet> moment_;
  std::unordered_map<uint32_t, const report::Allocation*> known_;  // by allocation
  std::unordered_map<uint32_t, BlockIndex> places_;                // by allocation
  std::unique_ptr<const picture::SegmentMap> map_;
  double scale_ = 0;  // bytes a pixel; 0: everything at once
  double shown_scale_ = 1;
  uint32_t marked_ = UINT32_MAX;  // segment
  std::optional<Anchor> anchor_;  // center of the zoom
  int row_height_ = 1, gutter_ = 0;
};

}  // namespace tapelens::gui
