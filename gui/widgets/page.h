// A page of the window. A folder gui/NAME/, listed in gui/pages.cmake, derives one and defines make_NAME_page(), which
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
  // What an export as a picture shows.
  virtual QWidget* picture() { return this; }
  // The same onto any painter, as lines where that can be done.
  virtual void paint_picture(QPainter& painter) { picture()->render(&painter); }
  // What an export as CSV and a copy write, as it is shown: filtered and sorted. Null: the page has no table.
  virtual QAbstractItemModel* table() { return nullptr; }
  // Where its splitters and columns are; kept from one run to the next.
  virtual QByteArray save_state() const { return {}; }
  virtual void restore_state(const QByteArray&) {}
  // Whether something that it shall show is still being worked out by itself (not by the session).
  virtual bool is_busy() const { return false; }
  // Keys go to it from now on.
  virtual void take_focus() { setFocus(); }
  // Puts the cursor where a filter or a search is typed.
  virtual void find() = 0;
};

}  // namespace tapelens::gui
