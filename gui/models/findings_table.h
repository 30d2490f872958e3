// What the checks found as rows, in the order of the advice: ticked or not, as the session says.
#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <QString>
#include <memory>
#include <vector>

#include "gui/models/session.h"

namespace tapelens::gui {

// "rewrite, lossless", "patch", "by hand": how it is fixed, in a word or two.
QString fixing_text(const advise::Finding& finding);
// What is known of the results of a program that is fixed so, in a sentence or two.
QString guarantee_text(const advise::Finding& finding);
// "12.0 MiB", "3.1 MiB with others", "none", "rises by 1.0 MiB": by how much the peak falls.
QString reduction_text(const advise::Finding& finding);

class FindingsTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column : uint8_t { title, reduction, bytes, fixing, severity, where, times, check, kColumns };
  enum Role : int { sort_role = Qt::UserRole, id_role };

  explicit FindingsTable(Session& session, QObject* parent = nullptr);

  const advise::Finding& finding(int row) const { return advice().findings[static_cast<size_t>(row)]; }
  int row_of(const QString& id) const;  // -1: there is no such finding
  bool is_empty() const { return rowCount() == 0; }
  // Ids of those that a rewrite fixes.
  QSet<QString> rewritable() const;
  // The level, as `--apply` takes it, whose rewrites fix those of `ticked` that a rewrite fixes, and nothing else;
  // empty: there is none, or none is ticked.
  QString level_of_all(const QSet<QString>& ticked) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

 private:
  const advise::Advice& advice() const { return advised_->advice; }
  void show();
  QVariant text(const advise::Finding& finding, int column) const;

  Session& session_;
  std::shared_ptr<const Document> document_;  // what is pointed to is of
  const Advised* advised_ = nullptr;
};

// Sorted by any column, and by the order of the advice until one is chosen; filtered as matches() says.
class FindingsFilter : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  explicit FindingsFilter(FindingsTable& table, QObject* parent = nullptr);
  void set_filter(const QString& filter);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  FindingsTable& table_;
  QString filter_;
};

}  // namespace tapelens::gui
