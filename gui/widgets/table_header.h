// A table's header with the mark of the sorted column above its title: beside it, it would lie on the end of a title
// that is aligned to the right.
#pragma once

#include <QHeaderView>

namespace tapelens::gui {

class TableHeader : public QHeaderView {
 public:
  explicit TableHeader(QWidget* parent = nullptr);

 protected:
  void initStyleOptionForIndex(QStyleOptionHeader* option, int section) const override;
  void paintSection(QPainter* painter, const QRect& rect, int section) const override;
  QSize sectionSizeFromContents(int section) const override;
};

}  // namespace tapelens::gui
