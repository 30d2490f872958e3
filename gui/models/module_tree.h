// What each module holds at the peak of a phase, as a tree of modules: of each the sum of all that is below it.
#pragma once

#include <QAbstractItemModel>
#include <QString>
#include <memory>
#include <vector>

#include "analyzer/report/modules.h"

namespace tapelens::gui {

// Qt::EditRole is for programs: bytes as numbers, modules by their whole path.
class ModuleTree : public QAbstractItemModel {
  Q_OBJECT
 public:
  // From kinds on one for each category that holds anything in some phase.
  enum Column : uint8_t { module, shares, bytes, kinds };
  enum Role : int {
    largest_role = Qt::UserRole,  // the id of the largest allocation in it
    parts_role,                   // QList<qint64>: the bytes of the columns from `kinds` on
    most_role,                    // qint64: the bytes of the largest module
  };

  using QAbstractItemModel::QAbstractItemModel;

  // The tables live as long as `owner`. Null: none.
  void show(std::shared_ptr<const void> owner, const std::vector<report::ModuleTable>* tables);
  // One of the tables.
  void show_table(size_t at);
  const report::ModuleTable* table() const { return tables_ == nullptr ? nullptr : &(*tables_)[at_]; }
  const std::vector<peak::HolderKind>& kinds_shown() const { return kinds_; }

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  struct Node {
    QString name, path;
    report::ModuleRow sum;
    model::Bytes itself;  // of `sum`: what is in none of its children
    uint32_t parent = 0, place = 0;
    std::vector<uint32_t> children;  // the most bytes first
  };
  void build();
  const Node& node(const QModelIndex& index) const { return nodes_[index.isValid() ? index.internalId() : 0]; }
  qint64 number(const Node& node, int column) const;
  QString tip(const Node& node) const;

  std::shared_ptr<const void> owner_;
  const std::vector<report::ModuleTable>* tables_ = nullptr;
  size_t at_ = 0;
  std::vector<peak::HolderKind> kinds_;
  std::vector<Node> nodes_{1};  // the first is around all of them
};

}  // namespace tapelens::gui
