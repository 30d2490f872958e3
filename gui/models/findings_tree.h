// What the checks found, as `tapelens advise` has it: the entries in the order in which to do them, each with the
// findings that it fixes; ticked or not, as the session says.
#pragma once

#include <QAbstractItemModel>
#include <QSortFilterProxyModel>
#include <QString>
#include <memory>

#include "gui/models/session.h"

namespace tapelens::gui {

// Entries, and below one that fixes several findings each of them. Qt::EditRole is for programs: bytes as numbers.
class FindingsTree : public QAbstractItemModel {
  Q_OBJECT
 public:
  enum Column : uint8_t { number, where, title, change, after, fixing, bytes, severity, times, check, kColumns };
  enum Role : int { sort_role = Qt::UserRole, id_role, severity_role, is_small_role };

  explicit FindingsTree(Session& session, QObject* parent = nullptr);

  bool is_empty() const { return rowCount() == 0; }
  const advise::Advice& advice() const { return advised_->advice; }  // only while there are rows
  const advise::Entry& entry(const QModelIndex& index) const;
  // Of an entry the first one, which gives it its words.
  const advise::Finding& finding(const QModelIndex& index) const;
  // Of an entry's first finding the entry; invalid: there is no such finding.
  QModelIndex index_of(const QString& id) const;
  // Whether a column says the same in all rows.
  bool is_constant(Column column) const;

  // Ids of those that a rewrite fixes, and of those that `tapelens advise` calls automatic.
  QSet<QString> rewritable() const;
  QSet<QString> automatic() const;
  // What makes `tapelens run` or `verify` fix those of `ticked` that a rewrite fixes, and nothing else: "--apply
  // bitwise"; empty: nothing does, or none is ticked.
  QString applying(const QSet<QString>& ticked) const;

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

 private:
  void show();
  QSet<QString> ids_of(const QModelIndex& index) const;
  check::Severity severity_of(const QModelIndex& index) const;
  QString text(const QModelIndex& index) const;
  QVariant value(const QModelIndex& index) const;  // to sort by
  QString tip(const QModelIndex& index) const;

  Session& session_;
  std::shared_ptr<const Document> document_;  // what is pointed to is of
  const Advised* advised_ = nullptr;
};

// Sorted by any column, and by the order of the advice until one is chosen; filtered as matches() says. An entry is
// shown with all of its findings if it matches, else with those that do.
class FindingsFilter : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  explicit FindingsFilter(FindingsTree& tree, QObject* parent = nullptr);
  void set_filter(const QString& filter);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  FindingsTree& tree_;
  QString filter_;
};

}  // namespace tapelens::gui
