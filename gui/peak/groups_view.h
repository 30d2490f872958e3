// The allocations at one time in nested groups, as an icicle or a tree. The user drags the groupings into order.
#pragma once

#include <QWidget>
#include <memory>

#include "gui/models/group_tree.h"

class QLabel;
class QStackedWidget;
class QToolButton;
class QTreeView;

namespace tapelens::gui {

class Session;

class GroupingBar;
class IcicleView;

class GroupsView : public QWidget {
  Q_OBJECT
 public:
  explicit GroupsView(QWidget* parent = nullptr);

  // Null shows no groups. `wanted`: selects the counted rows; empty: all.
  // The context menu of the tree. The session outlives the view.
  void add_menu(Session& session);
  void show_peak(std::shared_ptr<const report::Peak> peak, GroupTree::Rows wanted);
  const GroupTree& tree() const { return *tree_; }
  // Marks the group of a row; -1 marks none.
  void mark_row(int row);
  uint32_t zoomed() const;
  void zoom_to(uint32_t node);

  const Groupings& groupings() const;
  void set_groupings(const Groupings& groupings);
  bool shows_tree() const;
  void show_as_tree(bool on);

 Q_SIGNALS:
  void selected(int row);  // the biggest allocation of the group
  void zoomChanged();

 private:
  void build();
  void show_view();
  void mark_node(uint32_t node);

  std::shared_ptr<const report::Peak> peak_;
  GroupTree::Rows wanted_;
  std::shared_ptr<const GroupTree> tree_ = std::make_shared<GroupTree>();
  GroupTreeModel* model_;
  GroupingBar* bar_;
  QToolButton* as_tree_;
  QStackedWidget* views_;
  IcicleView* icicle_;
  QTreeView* tree_view_;
  int row_ = -1;
};

}  // namespace tapelens::gui
