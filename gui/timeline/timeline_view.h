// The timeline: lanes over one time axis. A frame is painted once and reused; marks that follow the cursor are painted
// over.
#pragma once

#include <QImage>
#include <QPoint>
#include <QWidget>
#include <memory>
#include <optional>

#include "gui/timeline/lanes.h"
#include "gui/timeline/scene.h"

namespace tapelens::gui {

class TimelineView final : public QWidget {
  Q_OBJECT
 public:
  explicit TimelineView(Session& session, QWidget* parent = nullptr);

  QSize sizeHint() const override { return {1200, 700}; }
  QSize minimumSizeHint() const override;

  // Paints everything onto any painter, for SVG.
  void paint_on(QPainter& painter);

  // One line about the place under the cursor, or about the range selected with shift and the mouse; empty: nothing.
  QString hint() const;
  QString tip_at(QPoint place) const;  // needs scene()
  const std::optional<Interval>& chosen_range() const { return chosen_; }

  void zoom(double factor);  // around the cursor, or the center
  void pan(double share);    // `share` of the shown range
  void show_peak();
  void show_all();
  void show_interval(Interval interval);
  void show_time(Time time);                      // moves it to the middle
  void show_allocation(AllocationId allocation);  // selects it and makes its lifetime visible
  void next_step(int by);
  void next_allocation(int by);  // by birth, among those with a visible block
  void next_out_of_memory(int by);

  const Lanes& lanes() const { return *lanes_; }
  const Scene& scene();

 Q_SIGNALS:
  void hintChanged();
  void search();  // `/`

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void follow(const ViewState& before);
  void lay_out();
  void refresh();  // repaints the next frame
  void render();
  void paint_lanes(Surface& surface);
  void paint_names(QPainter& painter);
  void paint_marks(QPainter& painter);
  void paint_out_of_memory(QPainter& painter);
  void paint_chosen(QPainter& painter);
  void paint_life(QPainter& painter, AllocationId allocation, bool is_selected);
  const picture::TimeScale* scale() const { return session_.subject().scale(session_.view().axis); }
  void look_at(Interval range, bool is_step = true);
  void click(QPoint place);
  void clear_chosen();
  void hover(QPoint place);
  model::OutOfMemoryId out_of_memory_at(QPoint place) const;
  bool is_small_line(QPoint place) const;

  picture::ByteAxis byte_axis() const;  // needs Part::blocks
  HitTest hit() const;                  // needs scene()

  Session& session_;
  std::unique_ptr<Lanes> lanes_;  // null without an open recording
  std::unique_ptr<Scene> scene_;
  QImage frame_;
  std::vector<Bytes> whole_;  // the minimap's columns
  struct RequestMark {
    QRect where;
    model::OutOfMemoryId request;
  };
  std::vector<RequestMark> out_of_memory_;  // painted marks
  bool is_stale_ = true;

  std::optional<std::pair<int64_t, int64_t>> bytes_;  // shown range of the lane of blocks; none: all
  enum class Drag : uint8_t { none, pan, choose, minimap } drag_ = Drag::none;
  QPoint pressed_, dragged_;
  bool has_moved_ = false;
  std::optional<Interval> chosen_;
  Time chosen_from_;
  std::optional<QPoint> cursor_;
  AllocationId hovered_;
};

}  // namespace tapelens::gui
