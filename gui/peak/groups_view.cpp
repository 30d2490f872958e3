#include "gui/peak/groups_view.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QToolButton>
#include <QTreeView>
#include <QVBoxLayout>

#include "analyzer/text/format.h"
#include "gui/models/visible_text.h"
#include "gui/widgets/context_menu.h"
#include "gui/widgets/grouping_bar.h"
#include "gui/widgets/icicle.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

GroupsView::GroupsView(QWidget* parent)
    : QWidget(parent),
      model_(new GroupTreeModel(this)),
      bar_(new GroupingBar(this)),
      as_tree_(new QToolButton(this)),
      views_(new QStackedWidget(this)),
      icicle_(new IcicleView(this)),
      tree_view_(new QTreeView(this)) {
  as_tree_->setText(QStringLiteral("As a tree"));
  as_tree_->setCheckable(true);
  as_tree_->setFocusPolicy(Qt::StrongFocus);
  as_tree_->setToolTip(QStringLiteral("The same groups as a tree with numbers"));
  tree_view_->setModel(model_);
  tree_view_->setUniformRowHeights(true);
  tree_view_->setAccessibleName(QStringLiteral("Groups of what was alive"));
  tree_view_->header()->setStretchLastSection(false);
  tree_view_->header()->setSectionResizeMode(GroupTreeModel::name, QHeaderView::Stretch);
  tree_view_->header()->setSectionResizeMode(QHeaderView::Interactive);
  tree_view_->header()->setSectionResizeMode(GroupTreeModel::name, QHeaderView::Stretch);
  views_->addWidget(icicle_);
  views_->addWidget(tree_view_);
  auto* top = new QHBoxLayout;
  top->setSpacing(kGap);
  top->addWidget(bar_, 1);
  top->addWidget(as_tree_);
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(kGap);
  rows->addLayout(top);
  rows->addWidget(views_, 1);
  setTabOrder(bar_, as_tree_);

  connect(bar_, &GroupingBar::changed, this, [this] { build(); });
  connect(as_tree_, &QToolButton::toggled, this, [this] { show_view(); });
  connect(icicle_, &IcicleView::zoomChanged, this, [this] { Q_EMIT zoomChanged(); });
  const auto select = [this](uint32_t node) {
    if (tree_->node(node).allocations > 0) Q_EMIT selected(static_cast<int>(tree_->node(node).biggest));
  };
  connect(icicle_, &IcicleView::selected, this, select);
  connect(tree_view_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this, select](const QModelIndex& now) {
            if (!now.isValid()) return;
            icicle_->set_current(model_->node_at(now));
            select(model_->node_at(now));
          });
}

void GroupsView::add_menu(Session& session) {
  // A group: its largest allocation with its line, and its own name.
  const auto target_of_node = [this, &session](uint32_t id) {
    const GroupTree::Node& node = tree_->node(id);
    ContextTarget target;
    if (peak_ && node.allocations > 0) {
      target.allocation = AllocationId{peak_->allocations[node.biggest].id};
      target.line = target_of(session, target.allocation).line;
    }
    target.modules = {tree_->module_path(id)};
    if (node.by == peak::By::op) {
      target.op = node.name;
    } else if (id != GroupTree::kRoot && node.by != peak::By::module) {
      target.group = node.name;
    }
    return target;
  };
  add_context_menu(*tree_view_, &session,
                   [this, target_of_node](const QModelIndex& row) { return target_of_node(model_->node_at(row)); });
  add_context_menu(*icicle_, session, target_of_node);
}

void GroupsView::show_peak(std::shared_ptr<const report::Peak> peak, GroupTree::Rows wanted) {
  peak_ = std::move(peak);
  wanted_ = std::move(wanted);
  build();
}

void GroupsView::build() {
  tree_ = peak_ ? std::make_shared<const GroupTree>(*peak_, bar_->groupings(), wanted_) : std::make_shared<GroupTree>();
  {
    const QSignalBlocker quiet(tree_view_->selectionModel());
    model_->show(tree_);
    tree_view_->expandToDepth(0);
  }
  icicle_->show_tree(tree_, peak_ ? QStringLiteral("Alive on %1").arg(visible(peak_->device)) : QString());
  show_view();
  mark_row(row_);
}

// An empty icicle shows a message; an empty tree would not.
void GroupsView::show_view() {
  const bool has_groups = !tree_->node(GroupTree::kRoot).children.empty();
  views_->setCurrentIndex(as_tree_->isChecked() && has_groups ? 1 : 0);
}

void GroupsView::mark_row(int row) {
  row_ = row;
  if (row >= tree_->rows()) return;
  // A selected group that contains the row stays selected: a click on a group selects its biggest allocation.
  if (row >= 0 && icicle_->current() != GroupTree::kRoot && tree_->has(icicle_->current(), row)) return;
  mark_node(row < 0 ? GroupTree::kRoot : tree_->leaf_of(row));
}

void GroupsView::mark_node(uint32_t node) {
  icicle_->set_current(node);
  const QSignalBlocker quiet(tree_view_->selectionModel());
  const QModelIndex index = model_->index_of(node);
  tree_view_->setCurrentIndex(index);
  if (index.isValid()) tree_view_->scrollTo(index);
  tree_view_->viewport()->update();
}

uint32_t GroupsView::zoomed() const { return icicle_->zoomed(); }
void GroupsView::zoom_to(uint32_t node) { icicle_->zoom_to(node); }
const Groupings& GroupsView::groupings() const { return bar_->groupings(); }
bool GroupsView::shows_tree() const { return as_tree_->isChecked(); }
void GroupsView::show_as_tree(bool on) { as_tree_->setChecked(on); }

void GroupsView::set_groupings(const Groupings& groupings) {
  bar_->set_groupings(groupings);
  build();
}

}  // namespace tapelens::gui
