#include "gui/segments/segments_page.h"

#include <QDataStream>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QStackedWidget>
#include <QStringList>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <array>

#include "gui/models/facts.h"
#include "gui/models/peak_table.h"
#include "gui/models/segments_table.h"
#include "gui/models/visible_text.h"
#include "gui/segments/map_view.h"
#include "gui/widgets/category_bar.h"
#include "gui/widgets/context_menu.h"
#include "gui/widgets/source_pane.h"
#include "gui/widgets/table.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

constexpr qint32 kStateVersion = 1;
// In average characters.
constexpr std::array<int, SegmentsTable::kColumns> kWidths = {32, 13, 13, 13, 13, 14, 9, 30};

QLabel* label(QWidget* parent) {
  auto* made = new QLabel(parent);
  made->setTextFormat(Qt::PlainText);
  made->setWordWrap(true);
  made->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return made;
}

}  // namespace

Page* make_segments_page(Session& session) { return new SegmentsPage(session); }

SegmentsPage::SegmentsPage(Session& session, QWidget* parent)
    : Page(parent), session_(session), table_(new SegmentsTable(this)), rows_(new QSortFilterProxyModel(this)) {
  rows_->setSourceModel(table_);
  rows_->setSortRole(Qt::EditRole);
  states_ = new QStackedWidget(this);
  nothing_ = new QLabel;
  nothing_->setAlignment(Qt::AlignCenter);
  nothing_->setWordWrap(true);
  nothing_->setForegroundRole(QPalette::PlaceholderText);
  states_->addWidget(nothing_);
  states_->addWidget(make_content());
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  all->setSpacing(kGap);
  all->addWidget(make_top());
  all->addWidget(states_, 1);

  connect(map_, &MapView::selected, this, &SegmentsPage::select);
  connect(map_, &MapView::activated, this, [this](uint32_t allocation) {
    ViewState next = session_.view();
    next.page = PageId::timeline;
    next.allocation = AllocationId{allocation};
    session_.look(next);
  });
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& now) {
    if (now.isValid()) map_->show_segment(static_cast<uint32_t>(rows_->mapToSource(now).row()));
  });
  connect(to_peak_, &QPushButton::clicked, this, [this] {
    ViewState next = session_.view();
    next.at.reset();
    session_.look(next);
  });
  connect(filter_, &QLineEdit::textEdited, this, [this](const QString& text) {
    ViewState next = session_.view();
    next.filter = text;
    session_.look(next, false);
  });
  connect(filter_, &QLineEdit::returnPressed, map_, [this] { map_->setFocus(); });
  for (const auto signal : {&Session::opened, &Session::closed, &Session::momentChanged})
    connect(&session_, signal, this, &SegmentsPage::show_moment);
  connect(&session_, &Session::viewChanged, this, &SegmentsPage::follow);
  show_moment();
}

QWidget* SegmentsPage::make_top() {
  auto* top = new QWidget;
  headline_ = label(top);
  headline_->setFont(title_font());
  when_ = label(top);
  when_->setForegroundRole(QPalette::PlaceholderText);
  to_peak_ = new QPushButton(tr("Back to the peak"), top);
  filter_ = new QLineEdit(top);
  filter_->setPlaceholderText(tr("Search: node, field, module, file:line"));
  filter_->setAccessibleName(tr("Search"));
  filter_->setClearButtonEnabled(true);
  filter_->setMinimumWidth(fontMetrics().averageCharWidth() * 46);
  auto* words = new QVBoxLayout;
  words->setSpacing(2);
  words->addWidget(headline_);
  words->addWidget(when_);
  auto* row = new QHBoxLayout(top);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(kGap);
  row->addLayout(words, 1);
  row->addWidget(to_peak_, 0, Qt::AlignTop);
  row->addWidget(filter_, 0, Qt::AlignTop);
  return top;
}

QWidget* SegmentsPage::make_content() {
  map_ = new MapView(session_);
  auto* fit = new QToolButton;
  fit->setText(tr("Fit"));
  fit->setToolTip(tr("All segments at once (F)"));
  fit->setAccessibleName(fit->toolTip());
  connect(fit, &QToolButton::clicked, map_, [this] { map_->zoom(0); });
  auto* keys =
      new QLabel(tr("Hatched: given back, another stream still uses it. Ctrl and wheel, + and − zoom; arrows "
                    "walk the blocks, Enter shows one in the timeline"));
  keys->setFont(small_font());
  keys->setForegroundRole(QPalette::PlaceholderText);
  keys->setWordWrap(true);
  auto* below = new QHBoxLayout;
  below->addWidget(keys, 1);
  below->addWidget(fit);

  view_ = new QTableView;
  set_up_table(*view_, *rows_, tr("Segments"), fontMetrics().height() + kGap);
  add_context_menu(*view_);
  view_->sortByColumn(SegmentsTable::address, Qt::AscendingOrder);
  for (int column = 0; column < SegmentsTable::kColumns; ++column)
    view_->setColumnWidth(column, kWidths[static_cast<size_t>(column)] * fontMetrics().averageCharWidth() + kGap);

  auto* upper = new QWidget;
  auto* left = new QVBoxLayout(upper);
  left->setContentsMargins(0, 0, 0, kGap);
  left->setSpacing(kGap / 2);
  left->addWidget(map_, 1);
  left->addLayout(below);
  under_ = new QSplitter(Qt::Vertical);
  under_->addWidget(upper);
  under_->addWidget(view_);
  under_->setStretchFactor(0, 1);
  under_->setStretchFactor(1, 0);

  what_ = label(nullptr);
  QFont bold = what_->font();
  bold.setBold(true);
  what_->setFont(bold);
  facts_ = label(nullptr);
  facts_->setForegroundRole(QPalette::PlaceholderText);
  source_ = new SourcePane;
  auto* detail = new QWidget;
  auto* right = new QVBoxLayout(detail);
  right->setContentsMargins(kGap, 0, 0, 0);
  right->setSpacing(kGap / 2);
  right->addWidget(what_);
  right->addWidget(facts_);
  right->addWidget(source_, 1);
  columns_ = new QSplitter(Qt::Horizontal);
  columns_->addWidget(under_);
  columns_->addWidget(detail);
  columns_->setStretchFactor(0, 1);
  columns_->setStretchFactor(1, 0);
  for (QSplitter* splitter : {under_, columns_}) {
    splitter->setChildrenCollapsible(false);
    splitter->setHandleWidth(kGap);
  }
  const int line = fontMetrics().height(), wide = fontMetrics().averageCharWidth();
  under_->setSizes({26 * line, 9 * line});
  columns_->setSizes({130 * wide, 46 * wide});

  categories_ = new CategoryBar;
  auto* content = new QWidget;
  auto* rows = new QVBoxLayout(content);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(kGap);
  rows->addWidget(categories_);
  rows->addWidget(columns_, 1);
  return content;
}

QAbstractItemModel* SegmentsPage::table() { return table_->rowCount() > 0 ? rows_ : nullptr; }

void SegmentsPage::find() {
  filter_->setFocus(Qt::ShortcutFocusReason);
  filter_->selectAll();
}

void SegmentsPage::take_focus() {
  if (map_->isVisible()) {
    map_->setFocus();
  } else {
    setFocus();
  }
}

void SegmentsPage::follow(const ViewState& before) {
  const ViewState& now = session_.view();
  if (filter_->text() != now.filter) filter_->setText(now.filter);
  if (session_.moment() == nullptr && moment_) show_moment();
  if (now.allocation != before.allocation) show_allocation();
}

QString SegmentsPage::why_nothing() const {
  if (session_.document() == nullptr) return {};
  if (session_.moment() == nullptr) return tr("Working out what was alive …");
  const Subject& subject = session_.subject();
  if (!subject.lines) {
    const QString& hidden = session_.document()->facts().hidden;
    return hidden.isEmpty()
               ? tr("%1 has no map: only the allocator of a CUDA device reports segments.").arg(subject.label)
               : hidden;
  }
  return tr("Nothing was reserved on %1 at this moment.").arg(subject.label);
}

void SegmentsPage::show_moment() {
  moment_ = session_.moment() && !session_.moment()->segments.empty() ? session_.moment() : nullptr;
  const bool is_there = moment_ != nullptr;
  nothing_->setText(why_nothing());
  states_->setCurrentIndex(is_there ? 1 : 0);
  headline_->setVisible(is_there);
  when_->setVisible(is_there);
  to_peak_->setVisible(session_.document() != nullptr && session_.view().at.has_value());
  table_->show(moment_);
  map_->show_moment(moment_);
  if (is_there) {
    const report::Peak& peak = moment_->described;
    headline_->setText(totals_words(totals_of(moment_->segments)));
    when_->setText(
        tr("%1%2, %3 after the start")
            .arg(session_.subject().name, session_.view().at ? QString() : tr(" at the peak"), time_words(peak.time)));
    categories_->show_categories(peak.by_category, peak.bytes);
    source_->set_recording(session_.document()->facts().path, session_.document()->text());
  }
  show_allocation();
}

void SegmentsPage::select(uint32_t allocation) {
  ViewState next = session_.view();
  next.allocation = AllocationId{allocation};
  session_.look(next);
}

void SegmentsPage::show_allocation() {
  const uint32_t id = moment_ ? session_.view().allocation.value : 0;
  const report::Allocation* a = nullptr;
  if (id != 0) {
    const auto& all = moment_->described.allocations;
    const auto at = std::ranges::find(all, id, &report::Allocation::id);
    if (at != all.end()) a = &*at;
  }
  what_->setVisible(a != nullptr);
  facts_->setVisible(a != nullptr);
  if (a == nullptr) {
    source_->show_stack({}, id == 0 ? tr("Click a block to see the allocation and the line that made it.")
                                    : tr("The selected allocation was not alive at this moment."));
    return;
  }
  what_->setText(what_text(*a));
  QStringList facts{bytes_words(a->bytes) + (a->layout.empty() ? QString() : ", " + visible(a->layout))};
  if (const auto& block = a->block) {
    facts << tr("Block of %1 at %2").arg(bytes_words(block->bytes), address_words(block->address));
    facts << pool_words(block->stream, block->graph_pool, block->user_pool);
  }
  facts << tr("Made %1 %2")
               .arg(a->op.empty() ? tr("outside of operators") : tr("by ") + visible(a->op),
                    a->module.empty() ? tr("outside of modules") : tr("in ") + visible(a->module));
  if (a->holders.size() > 1 || a->category == peak::HolderKind::allocator) facts << tr("Held by ") + holders_text(*a);
  facts_->setText(facts.join('\n'));
  source_->show_stack(a->stack, tr("No stack was recorded for this allocation."));
}

QByteArray SegmentsPage::save_state() const {
  QByteArray state;
  QDataStream out(&state, QIODevice::WriteOnly);
  out << kStateVersion << columns_->saveState() << under_->saveState() << view_->horizontalHeader()->saveState();
  return state;
}

void SegmentsPage::restore_state(const QByteArray& state) {
  QDataStream in(state);
  qint32 version = 0;
  QByteArray columns, under, header;
  in >> version;
  if (version != kStateVersion) return;
  in >> columns >> under >> header;
  if (in.status() != QDataStream::Ok) return;
  columns_->restoreState(columns);
  under_->restoreState(under);
  view_->horizontalHeader()->restoreState(header);
}

}  // namespace tapelens::gui
