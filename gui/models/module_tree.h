// The bytes of each module at the peak of a phase, as a tree. A module's bytes include those of the modules below it.
#pragma once

#include <QAbstractItemModel>
#include <QString>
#include <memory>
#include <vector>

#include "analyzer/report/modules.h"

namespace tapelens::gui {

// Qt::EditRole returns bytes as numbers and modules by their full path, for programs.
class ModuleTree : public QAbstractItemModel {
  Q_OBJECT
 public:
  // The columns from `kinds` on: one for each category with bytes in some phase.
  enum Column : uint8_t { module, shares, bytes, kinds };
  enum Role : int {
    largest_role = Qt::UserRole,  // id of the largest allocation in the module
    parts_role,                   // QList<qint64>: bytes of the columns from `kinds` on
    most_role,                    // qint64: bytes of the largest module
  };

  using QAbstractItemModel::QAbstractItemModel;

  // `owner` keeps the tables alive. Null shows no table.
  void show(std::shared_ptr<const void> owner, const std::vector<report::ModuleTable>* tables);
  // Shows one of the tables.
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
    model::Bytes itself;  // bytes of `sum` that are in no child
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
  std::vector<Node> nodes_{1};  // the first is the root
};

}  // namespace tapelens::gui
