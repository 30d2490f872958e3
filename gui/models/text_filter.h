// A filter of rows by the words of a text, as matches() does.
#pragma once

#include <QSortFilterProxyModel>
#include <QString>

namespace tapelens::gui {

class TextFilter : public QSortFilterProxyModel {
 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;

  void set_filter(const QString& filter) {
    if (filter == filter_) return;
#if QT_VERSION >= QT_VERSION_CHECK(6, 10, 0)
    beginFilterChange();
    filter_ = filter;
    endFilterChange();
#else
    filter_ = filter;
    invalidateFilter();  // deprecated since the functions above exist
#endif
  }

 protected:
  const QString& filter() const { return filter_; }

 private:
  QString filter_;
};

}  // namespace tapelens::gui
