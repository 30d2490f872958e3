// The entries in the order of `tapelens advise`, each with the findings that it fixes. The session stores the ticks.
#pragma once

#include <QAbstractItemModel>
#include <QString>
#include <memory>

#include "analyzer/advise/advice.h"
#include "gui/models/session.h"
#include "gui/models/text_filter.h"

namespace tapelens::gui {

// Entries; an entry that fixes several findings has them as children. Qt::EditRole returns bytes as numbers, for
// programs.
class FindingsTree : public QAbstractItemModel {
  Q_OBJECT
 public:
  enum Column : uint8_t { number, where, title, change, after, fixing, bytes, severity, times, check, kColumns };
  enum Role : int { sort_role = Qt::UserRole, id_role, severity_role, is_small_role };

  explicit FindingsTree(Session& session, QObject* parent = nullptr);

  bool is_empty() const { return rowCount() == 0; }
  const advise::Advice& advice() const { return advised_->advice; }  // requires rows
  const advise::Entry& entry(const QModelIndex& index) const;
  // Returns the first finding for an entry, whose text the entry shows.
  const advise::Finding& finding(const QModelIndex& index) const;
  // Returns the entry for an entry's first finding; invalid if the finding does not exist.
  QModelIndex index_of(const QString& id) const;
  // Whether a column has the same text in all rows.
  bool is_constant(Column column) const;

  // The ids of findings that a rewrite fixes, and of those that `tapelens advise` calls automatic.
  QSet<QString> rewritable() const;
  QSet<QString> automatic() const;
  // The options with which `tapelens run` or `verify` fixes exactly the rewritable findings in `ticked`: "--apply
  // bitwise". Empty if no options do, or if no finding is ticked.
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
  QVariant value(const QModelIndex& index) const;  // sort key
  QString tip(const QModelIndex& index) const;

  Session& session_;
  std::shared_ptr<const Document> document_;  // owns the data of advised_
  const Advised* advised_ = nullptr;
};

// Sorts by any column; initially in the order of the advice. Filters as matches() does. An entry that matches shows all
// of its findings, another one only those that match.
class FindingsFilter : public TextFilter {
  Q_OBJECT
 public:
  explicit FindingsFilter(FindingsTree& tree, QObject* parent = nullptr);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  FindingsTree& tree_;
};

// ---- findings and their entries as text, for tables and panes

// The kind of fix: "automatic", "patch", "code change", "alternative". `first`: the first finding of the entry.
QString fixing_text(const advise::Entry& entry, const advise::Finding& first);
// The guarantee for the results of the fixed program, in a sentence or two.
QString guarantee_text(const advise::Finding& finding);
// The change of the peak if only this finding is fixed: "−12.0 MiB", "−3.1 MiB with others", "0 B", "+1.0 MiB".
QString change_text(const advise::Finding& finding);
// "train.py:42 in Net.layer1", "train.py:42 main" outside of modules
QString where_text(const advise::Finding& finding);
// The level of the rewrite that fixes a finding; -1 if none does.
int rewrite_level(const advise::Finding& finding);

}  // namespace tapelens::gui
