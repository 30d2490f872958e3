#include "gui/modules/modules_page.h"

#include <QDataStream>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QStackedWidget>
#include <QStringList>
#include <QStyledItemDelegate>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/models/visible_text.h"
#include "gui/widgets/category_bar.h"
#include "gui/widgets/choice_bar.h"
#include "gui/widgets/context_menu.h"
#include "gui/widgets/table.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

constexpr qint32 kStateVersion = 1;
constexpr int kOpenLevels = 1;  // levels below the outermost modules that are open at first
// In average characters.
constexpr int kNameWidth = 44, kSharesWidth = 30, kNumberWidth = 15;

// Draws a bar: a module's bytes by category, relative to the largest module.
class SharesDelegate : public QStyledItemDelegate {
 public:
  explicit SharesDelegate(const ModuleTree& tree, QObject* parent = nullptr)
      : QStyledItemDelegate(parent), tree_(tree) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyledItemDelegate::paint(painter, option, index);  // the background: selected, hovered
    const auto parts = index.data(ModuleTree::parts_role).value<QList<qint64>>();
    const double most = static_cast<double>(std::max<qint64>(1, index.data(ModuleTree::most_role).toLongLong()));
    const QRectF box = QRectF(option.rect).adjusted(kGap / 2, 4, -kGap / 2, -4);
    if (box.width() <= 0 || box.height() <= 0) return;
    qint64 before = 0;
    for (qsizetype part = 0; part < parts.size(); ++part) {
      const double from = box.width() * static_cast<double>(before) / most;
      before += parts[part];
      const double to = box.width() * static_cast<double>(before) / most;
      if (to > from)
        painter->fillRect(QRectF(box.left() + from, box.top(), to - from, box.height()),
                          theme().category(tree_.kinds_shown()[static_cast<size_t>(part)]));
    }
  }

 private:
  const ModuleTree& tree_;  // defines the columns
};

}  // namespace

ModuleRows::ModuleRows(ModuleTree& tree, QObject* parent) : TextFilter(parent) {
  setSourceModel(&tree);
  setSortRole(Qt::EditRole);
  setRecursiveFilteringEnabled(true);
  setAutoAcceptChildRows(true);
}

bool ModuleRows::filterAcceptsRow(int row, const QModelIndex& parent) const {
  return matches(filter(), sourceModel()->index(row, ModuleTree::module, parent).data(Qt::EditRole).toString());
}

Page* make_modules_page(Session& session) { return new ModulesPage(session); }

ModulesPage::ModulesPage(Session& session, QWidget* parent)
    : Page(parent),
      session_(session),
      tree_(new ModuleTree(this)),
      rows_(new ModuleRows(*tree_, this)),
      headline_(new QLabel(this)),
      phases_(new ChoiceBar(QStringLiteral("Phase"), this)),
      categories_(new CategoryBar(this)),
      filter_(new QLineEdit(this)),
      states_(new QStackedWidget(this)),
      nothing_(new QLabel(this)),
      view_(new QTreeView(this)) {
  lay_out();
  add_context_menu(*view_, &session_, [](const QModelIndex& row) {
    ContextTarget target;
    target.allocation = AllocationId{row.data(ModuleTree::largest_role).toUInt()};
    target.modules = {row.siblingAtColumn(ModuleTree::module).data(Qt::EditRole).toString()};
    return target;
  });
  connect(phases_, &ChoiceBar::chosen, this, [this] { show_phase(); });
  connect(filter_, &QLineEdit::textChanged, this, [this] { filter(); });
  connect(filter_, &QLineEdit::returnPressed, view_, [this] { view_->setFocus(); });
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& now) { select(now); });
  connect(view_, &QTreeView::clicked, this, [this](const QModelIndex& row) { select(row); });
  connect(view_, &QTreeView::activated, this, [this](const QModelIndex& row) { show_at_peak(row); });
  for (const auto signal : {&Session::opened, &Session::closed})
    connect(&session_, signal, this, &ModulesPage::show_modules);
  connect(&session_, &Session::made, this, [this](Part part) {
    if (part == Part::modules) show_modules();
  });
  connect(&session_, &Session::viewChanged, this, [this](const ViewState& before) {
    if (before.subject != session_.view().subject) show_modules();
  });
  show_modules();
}

void ModulesPage::lay_out() {
  headline_->setFont(title_font());
  headline_->setWordWrap(true);
  headline_->setTextFormat(Qt::PlainText);
  headline_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  filter_->setPlaceholderText(QStringLiteral("Filter modules"));
  filter_->setAccessibleName(QStringLiteral("Filter modules"));
  filter_->setClearButtonEnabled(true);
  filter_->setMinimumWidth(fontMetrics().averageCharWidth() * 46);
  nothing_->setAlignment(Qt::AlignCenter);
  nothing_->setWordWrap(true);
  nothing_->setForegroundRole(QPalette::PlaceholderText);
  view_->setModel(rows_);
  view_->setHeader(new TableHeader(view_));
  view_->setUniformRowHeights(true);
  view_->setSortingEnabled(true);
  view_->sortByColumn(ModuleTree::bytes, Qt::DescendingOrder);
  view_->setAccessibleName(QStringLiteral("Modules"));
  view_->setColumnWidth(ModuleTree::module, kNameWidth * fontMetrics().averageCharWidth());
  view_->setColumnWidth(ModuleTree::shares, kSharesWidth * fontMetrics().averageCharWidth());
  view_->setItemDelegateForColumn(ModuleTree::shares, new SharesDelegate(*tree_, view_));
  auto* keys =
      new QLabel(QStringLiteral("A row has the sum of the modules below it. A click selects the largest "
                                "allocation in it, Enter shows that on the Peak page at this moment"));
  keys->setFont(small_font());
  keys->setForegroundRole(QPalette::PlaceholderText);
  keys->setWordWrap(true);

  auto* tools = new QHBoxLayout;
  tools->setSpacing(kGap);
  tools->addWidget(phases_, 1);
  tools->addWidget(filter_);
  auto* content = new QWidget;
  auto* inside = new QVBoxLayout(content);
  inside->setContentsMargins(0, 0, 0, 0);
  inside->setSpacing(kGap);
  inside->addWidget(headline_);
  inside->addLayout(tools);
  inside->addWidget(categories_);
  inside->addWidget(view_, 1);
  inside->addWidget(keys);
  states_->addWidget(nothing_);
  states_->addWidget(content);
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  all->addWidget(states_);
}

QAbstractItemModel* ModulesPage::table() { return tree_->table() == nullptr ? nullptr : rows_; }

void ModulesPage::find() {
  filter_->setFocus(Qt::ShortcutFocusReason);
  filter_->selectAll();
}

// Focus makes the first row current without selecting it, so other pages do not change.
void ModulesPage::take_focus() {
  const QSignalBlocker quiet(view_->selectionModel());
  view_->setFocus();
}

void ModulesPage::show_modules() {
  const bool is_there = session_.document() != nullptr && session_.has(Part::modules);
  const auto* tables = is_there ? session_.subject().modules.get() : nullptr;
  QStringList names;
  int chosen = 0;
  for (size_t at = 0; tables != nullptr && at < tables->size(); ++at) {
    const report::ModuleTable& table = (*tables)[at];
    QString name = visible(table.phase == model::Phase::other ? "outside of phases" : model::phase_name(table.phase));
    name = name.at(0).toUpper() + name.mid(1);
    names << (table.is_chosen ? name + QStringLiteral(": the peak") : name);
    if (table.is_chosen) chosen = static_cast<int>(at);
  }
  phases_->set_choices(names);
  tree_->show(session_.shared(), tables);
  const int letter = fontMetrics().averageCharWidth();
  for (int column = ModuleTree::bytes; column < tree_->columnCount(); ++column)
    view_->setColumnWidth(column, kNumberWidth * letter);
  nothing_->setText(session_.document() == nullptr ? QString() : QStringLiteral("Summing by module …"));
  states_->setCurrentIndex(tree_->table() == nullptr ? 0 : 1);
  if (chosen > 0) {
    phases_->set_current(chosen);  // this also shows it
  } else {
    show_phase();
  }
}

void ModulesPage::show_phase() {
  if (tree_->table() == nullptr) return;
  tree_->show_table(static_cast<size_t>(phases_->current()));
  const report::ModuleTable& table = *tree_->table();
  headline_->setText(session_.subject().name + QStringLiteral(", ") + visible(report::title_text(table)));
  categories_->show_categories(table.by_category, table.bytes);
  filter();
}

void ModulesPage::filter() {
  rows_->set_filter(filter_->text());
  if (filter_->text().isEmpty()) {
    view_->expandToDepth(kOpenLevels);
  } else {
    view_->expandAll();
  }
}

void ModulesPage::select(const QModelIndex& row) {
  if (!row.isValid()) return;
  ViewState next = session_.view();
  next.allocation = AllocationId{row.data(ModuleTree::largest_role).toUInt()};
  session_.look(next);
}

void ModulesPage::show_at_peak(const QModelIndex& row) {
  ViewState next = session_.view();
  next.page = PageId::peak;
  next.allocation = AllocationId{row.data(ModuleTree::largest_role).toUInt()};
  next.at.reset();
  if (!tree_->table()->is_chosen) next.at = tree_->table()->when;
  session_.look(next);
}

QByteArray ModulesPage::save_state() const {
  QByteArray state;
  QDataStream out(&state, QIODevice::WriteOnly);
  out << kStateVersion << static_cast<qint32>(view_->columnWidth(ModuleTree::module));
  return state;
}

void ModulesPage::restore_state(const QByteArray& state) {
  QDataStream in(state);
  qint32 version = 0, width = 0;
  in >> version >> width;
  if (version == kStateVersion && in.status() == QDataStream::Ok && width > 0)
    view_->setColumnWidth(ModuleTree::module, width);
}

}  // namespace tapelens::gui
