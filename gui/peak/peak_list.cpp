#include "gui/peak/peak_list.h"

#include <QAction>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMouseEvent>
#include <QSignalBlocker>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <array>

#include "analyzer/text/format.h"
#include "gui/models/folded_rows.h"
#include "gui/models/visible_text.h"
#include "gui/widgets/context_menu.h"
#include "gui/widgets/table.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

// In average characters. The columns that answer what, how much and where fit a small window without scrolling.
constexpr std::array<int, PeakTable::kColumns> kWidths = {10, 30, 20, 22, 28, 22, 26, 40, 11, 7};

// Modules differ at their ends: a narrow column leaves out their begins.
class ModuleDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    option->text = fitted_path(option->fontMetrics, option->text, option->rect.width() - 2 * kGap);
    option->textElideMode = Qt::ElideLeft;
  }
};

}  // namespace

PeakList::PeakList(QWidget* parent)
    : QWidget(parent),
      table_(new PeakTable(this)),
      rows_(new PeakRows(*table_, this)),
      folded_(new FoldedRows(*table_, *rows_, this)),
      filter_(new QLineEdit(this)),
      group_(new QToolButton(this)),
      count_(new QLabel(this)),
      view_(new QTableView(this)) {
  filter_->setPlaceholderText(QStringLiteral("Filter: module, field, file, shape …"));
  filter_->setClearButtonEnabled(true);
  filter_->setAccessibleName(QStringLiteral("Filter of the allocations"));
  group_->setFocusPolicy(Qt::StrongFocus);
  group_->setToolTip(QStringLiteral("Show all groups again"));
  group_->hide();
  count_->setForegroundRole(QPalette::PlaceholderText);
  set_up_table(*view_, *folded_, QStringLiteral("Allocations that were alive"), fontMetrics().height() + kGap);
  view_->sortByColumn(PeakTable::bytes, Qt::DescendingOrder);
  view_->horizontalHeader()->setSectionsMovable(true);
  for (int column = 0; column < PeakTable::kColumns; ++column)
    view_->setColumnWidth(column, kWidths[static_cast<size_t>(column)] * fontMetrics().averageCharWidth() + 2 * kGap);
  // The columns that tell rows apart come first, so that a window of 1280 pixels shows them.
  int place = PeakTable::what;
  for (const PeakTable::Column column : {PeakTable::what, PeakTable::module, PeakTable::op, PeakTable::source}) {
    view_->horizontalHeader()->moveSection(view_->horizontalHeader()->visualIndex(column), place++);
  }
  view_->setItemDelegateForColumn(PeakTable::module, new ModuleDelegate(view_));
  view_->viewport()->installEventFilter(this);
  view_->installEventFilter(this);
  nothing_ = new QLabel(view_->viewport());
  nothing_->setAlignment(Qt::AlignCenter);
  nothing_->setForegroundRole(QPalette::PlaceholderText);
  nothing_->setWordWrap(true);
  nothing_->hide();

  auto* top = new QHBoxLayout;
  top->setSpacing(kGap);
  top->addWidget(filter_, 1);
  top->addWidget(group_);
  top->addWidget(count_);
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(kGap);
  rows->addLayout(top);
  rows->addWidget(view_, 1);
  connect(&idle_, &QTimer::timeout, this, [this] { prepare(); });

  connect(filter_, &QLineEdit::textEdited, this, [this](const QString& text) {
    rows_->set_filter(text);
    count();
    select(selected_, false);
    Q_EMIT filterTyped(text);
  });
  connect(filter_, &QLineEdit::textChanged, this, [this](const QString& text) {
    // The clear button is not an edit of the text.
    if (text.isEmpty()) Q_EMIT filterTyped(text);
  });
  connect(filter_, &QLineEdit::returnPressed, view_, [this] { view_->setFocus(); });
  connect(group_, &QToolButton::clicked, this, [this] { Q_EMIT restrictionLifted(); });
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& now) {
    if (!now.isValid() || current() == selected_) return;
    selected_ = current();
    Q_EMIT selected(selected_);
  });
  // A row may be current without being selected: see PeakPage::show_allocation().
  connect(view_, &QTableView::clicked, this, [this] { Q_EMIT selected(current()); });
  connect(view_, &QTableView::activated, this, [this] { Q_EMIT timelineWanted(current()); });
}

void PeakList::add_menu(Session& session) {
  // activated() handles Return as well as a double click.
  auto* show = new QAction(QStringLiteral("Show in timeline\tReturn"), view_);
  connect(show, &QAction::triggered, this, [this] {
    if (current() != 0) Q_EMIT timelineWanted(current());
  });
  view_->addAction(show);
  auto* open = new QAction(QStringLiteral("Open or close the group\tRight, Left"), view_);
  connect(open, &QAction::triggered, this, [this] {
    const QModelIndex at = view_->currentIndex();
    if (at.isValid() && folded_->is_group(at.row())) open_group(at, !folded_->is_open(at.row()));
  });
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, open,
          [this, open](const QModelIndex& now) { open->setVisible(now.isValid() && folded_->is_group(now.row())); });
  open->setVisible(false);
  view_->addAction(open);
  add_context_menu(
      *view_, &session,
      [this, &session](const QModelIndex& row) {
        ContextTarget target = target_of(session, AllocationId{row.data(PeakTable::allocation_role).toUInt()});
        if (folded_->is_group(row.row())) {
          target.modules.clear();
          for (const std::string& module : folded_->modules(row.row())) target.modules << visible(module);
        }
        return target;
      },
      rows_);
}

uint32_t PeakList::current() const { return view_->currentIndex().data(PeakTable::allocation_role).toUInt(); }

void PeakList::show_peak(std::shared_ptr<const report::Peak> peak) {
  table_->show(std::move(peak));
  count();
  prepared_ = 0;
  idle_.start();
}

void PeakList::prepare() {
  constexpr int kAtOnce = 2000;
  const int end = std::min(table_->rowCount(), prepared_ + kAtOnce);
  while (prepared_ < end) table_->haystack(prepared_++);
  if (prepared_ == table_->rowCount()) idle_.stop();
}

void PeakList::restrict_to(const QString& name, std::vector<bool> shown) {
  group_->setVisible(!name.isEmpty());
  group_->setText(fontMetrics().elidedText(name, Qt::ElideMiddle, fontMetrics().averageCharWidth() * 40) +
                  QStringLiteral("  ×"));
  group_->setAccessibleName(QStringLiteral("Only in %1; press to show all").arg(name));
  group_->setToolTip(QStringLiteral("Only in %1\nPress to show all groups again").arg(name));
  rows_->set_shown(std::move(shown));
  count();
  select(selected_, false);
}

QString PeakList::filter() const { return filter_->text(); }

void PeakList::set_filter(const QString& filter) {
  {
    const QSignalBlocker quiet(this);  // the user did not type it
    if (filter != filter_->text()) filter_->setText(filter);
  }
  rows_->set_filter(filter);
  count();
}

void PeakList::count() {
  const int all = table_->rowCount(), shown = rows_->rowCount();
  model::Bytes bytes;
  if (shown < all) {
    for (int row = 0; row < shown; ++row)
      bytes += table_->allocation(rows_->mapToSource(rows_->index(row, 0)).row()).bytes;
  }
  const std::string total = text::plural(static_cast<uint64_t>(all), "allocation", "allocations");
  count_->setText(QString::fromStdString(shown == all ? total
                                                      : text::count_text(static_cast<uint64_t>(shown)) + " of " +
                                                            total + ", " + text::bytes_text(bytes)));
  nothing_->setText(all == 0 ? QStringLiteral("Nothing was alive at this moment.")
                             : QStringLiteral("No allocation matches the filter."));
  nothing_->setVisible(shown == 0 && table_->peak() != nullptr);
}

void PeakList::select(uint32_t allocation, bool opens) {
  selected_ = allocation;
  const int row = allocation == 0 ? -1 : table_->row_of(allocation);
  const QModelIndex source = row < 0 ? QModelIndex() : rows_->mapFromSource(table_->index(row, 0));
  // The row of a group is its first allocation's too.
  if (source.isValid() && view_->currentIndex().isValid() && current() == allocation)
    return view_->scrollTo(view_->currentIndex());
  const QSignalBlocker quiet(this);
  if (opens) folded_->reveal(source);
  const QModelIndex at = folded_->mapFromSource(source);
  if (!at.isValid()) {
    view_->clearSelection();
    view_->setCurrentIndex({});
    selected_ = allocation;
    return;
  }
  view_->setCurrentIndex(at);
  view_->selectRow(at.row());
  view_->scrollTo(at, QAbstractItemView::PositionAtCenter);
}

uint32_t PeakList::first() const { return folded_->index(0, 0).data(PeakTable::allocation_role).toUInt(); }

void PeakList::focus_filter() {
  filter_->setFocus(Qt::ShortcutFocusReason);
  filter_->selectAll();
}

QByteArray PeakList::save_columns() const { return view_->horizontalHeader()->saveState(); }

void PeakList::restore_columns(const QByteArray& state) { view_->horizontalHeader()->restoreState(state); }

bool PeakList::open_group(const QModelIndex& at, bool is_open) {
  if (!at.isValid() || !folded_->is_group(at.row()) || folded_->is_open(at.row()) == is_open) return false;
  folded_->set_open(at.row(), is_open);
  return true;
}

bool PeakList::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) nothing_->setGeometry(view_->viewport()->rect());
  if (event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool is_right = key->key() == Qt::Key_Right;
    if (key->modifiers() == Qt::NoModifier && (is_right || key->key() == Qt::Key_Left))
      if (open_group(view_->currentIndex(), is_right)) return true;
  }
  if (event->type() == QEvent::MouseButtonPress && watched == view_->viewport()) {
    const QPoint place = static_cast<QMouseEvent*>(event)->position().toPoint();
    const QModelIndex at = view_->indexAt(place);
    const int mark = fontMetrics().averageCharWidth() * 3;
    if (at.column() == PeakTable::what && place.x() < view_->visualRect(at).left() + mark &&
        folded_->is_group(at.row()))
      if (open_group(at, !folded_->is_open(at.row()))) return true;
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace tapelens::gui
