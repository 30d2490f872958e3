// The bytes at one time by category: one stacked bar with names below it.
#pragma once

#include <QWidget>
#include <vector>

#include "analyzer/peak/groups.h"

namespace tapelens::gui {

class CategoryBar : public QWidget {
  Q_OBJECT
 public:
  explicit CategoryBar(QWidget* parent = nullptr);

  void show_categories(std::vector<peak::Category> categories, model::Bytes whole);

  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {0, heightForWidth(width())}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Entry {
    QRect swatch, name, numbers;
  };
  int bar_height() const { return fontMetrics().height(); }
  std::vector<Entry> entries(int width) const;
  QString numbers(const peak::Category& category) const;
  int width_of(const peak::Category& category) const;

  std::vector<peak::Category> categories_;  // the most bytes first
  model::Bytes whole_;
};

}  // namespace tapelens::gui
