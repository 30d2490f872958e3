// The tables of a followed process: its largest holders, and its last steps.
#pragma once

#include <QAbstractTableModel>
#include <memory>

#include "gui/models/live.h"

namespace tapelens::gui {

// Rows change in place, so that a selected row and the scroll position stay. Only changed cells are drawn again: Qt
// draws the whole table again for a change of several cells.
class LiveTable : public QAbstractTableModel {
  Q_OBJECT
 public:
  using QAbstractTableModel::QAbstractTableModel;
  void show_figures(std::shared_ptr<const LiveFigures> figures);
  int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : rows_; }

 protected:
  virtual int count(const LiveFigures& figures) const = 0;
  virtual bool is_same(const LiveFigures& a, const LiveFigures& b, size_t row, int column) const = 0;
  const LiveFigures& figures() const { return *figures_; }

 private:
  std::shared_ptr<const LiveFigures> figures_;
  int rows_ = 0;
};

class LiveHolders final : public LiveTable {
  Q_OBJECT
 public:
  enum Column : uint8_t { bytes, category, name, line, module };
  using LiveTable::LiveTable;
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : module + 1; }
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 protected:
  int count(const LiveFigures& figures) const override { return static_cast<int>(figures.holders.size()); }
  bool is_same(const LiveFigures& a, const LiveFigures& b, size_t row, int column) const override;
};

class LiveSteps final : public LiveTable {
  Q_OBJECT
 public:
  enum Column : uint8_t { step, peak, end, change };
  using LiveTable::LiveTable;
  int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : change + 1; }
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 protected:
  int count(const LiveFigures& figures) const override { return static_cast<int>(figures.last_steps.size()); }
  bool is_same(const LiveFigures& a, const LiveFigures& b, size_t row, int column) const override;
};

}  // namespace tapelens::gui
