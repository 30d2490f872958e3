// A page of the window. Each folder gui/NAME/ in gui/pages.cmake derives one, and defines the make_NAME_page() that
// gui/pages.h declares.
#pragma once

#include <QByteArray>
#include <QPainter>
#include <QString>
#include <QWidget>

#include "gui/pages.h"

class QAbstractItemModel;

namespace tapelens::gui {

class Page : public QWidget {
 public:
  using QWidget::QWidget;
  virtual QString title() const = 0;  // "Peak"
  // The widget that a picture export renders.
  virtual QWidget* picture() { return this; }
  // Paints the same onto any painter, as vectors if possible.
  virtual void paint_picture(QPainter& painter) { picture()->render(&painter); }
  // The table that CSV export and copy write, filtered and sorted as shown. Null: the page has no table.
  virtual QAbstractItemModel* table() { return nullptr; }
  // The state of splitters and columns, kept between runs.
  virtual QByteArray save_state() const { return {}; }
  virtual void restore_state(const QByteArray&) {}
  // Whether the page itself (not the session) is still computing data that it will show.
  virtual bool is_busy() const { return false; }
  // Gives the page the keyboard focus.
  virtual void take_focus() { setFocus(); }
  // Puts the cursor into the filter or search field.
  virtual void find() = 0;
};

}  // namespace tapelens::gui
