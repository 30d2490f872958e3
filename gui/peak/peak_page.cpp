#include "gui/peak/peak_page.h"

#include <QDataStream>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QStringList>
#include <QVBoxLayout>

#include "analyzer/text/format.h"
#include "gui/models/visible_text.h"
#include "gui/peak/groups_view.h"
#include "gui/peak/peak_list.h"
#include "gui/widgets/category_bar.h"
#include "gui/widgets/source_pane.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

constexpr int kTypingRestsMs = 150;
constexpr qint32 kStateVersion = 2;

QString where_text(const report::Peak& peak) {
  const QString step = QString::number(peak.step), phase = QString::fromUtf8(phase_name(peak.phase));
  if (peak.is_behind_steps) {
    const QString behind = QStringLiteral("after the last step, %1").arg(peak.step - 1);
    return peak.phase == model::Phase::other ? behind : QStringLiteral("in the %1 %2").arg(phase, behind);
  }
  switch (peak.phase) {
    case model::Phase::other:
      return QStringLiteral("in step %1, outside of its forward, backward and optimizer").arg(step);
    case model::Phase::optimizer:
      return QStringLiteral("in the optimizer step of step %1").arg(step);
    default:
      return QStringLiteral("in the %1 of step %2").arg(phase, step);
  }
}

}  // namespace

QString headline_of(const report::Peak& peak, const QString& device, bool is_the_peak) {
  return QStringLiteral("%1 on %2%3, %4 after the start, %5; %6")
      .arg(visible(text::bytes_text(peak.bytes)), device, is_the_peak ? QStringLiteral(" at the peak") : QString(),
           visible(text::time_text(peak.time)), where_text(peak),
           visible(text::plural(peak.live_allocations, "allocation", "allocations")));
}

Page* make_peak_page(Session& session) { return new PeakPage(session); }

PeakPage::PeakPage(Session& session, QWidget* parent)
    : Page(parent),
      session_(session),
      headline_(new QLabel(this)),
      to_peak_(new QPushButton(QStringLiteral("Back to the peak"), this)),
      categories_(new CategoryBar(this)),
      pages_(new QStackedWidget(this)),
      waiting_(new QLabel(this)),
      columns_(new QSplitter(Qt::Horizontal, this)),
      rows_(new QSplitter(Qt::Vertical, this)),
      groups_(new GroupsView(this)),
      list_(new PeakList(this)),
      what_(new QLabel(this)),
      facts_(new QLabel(this)),
      source_(new SourcePane(this)) {
  lay_out();
  typed_.setSingleShot(true);
  typed_.setInterval(kTypingRestsMs);
  connect(&typed_, &QTimer::timeout, this, [this] {
    ViewState next = session_.view();
    next.filter = list_->filter();
    session_.look(next, false);
    show_groups();
  });
  list_->add_menu(session_);
  groups_->add_menu(session_);
  connect(list_, &PeakList::filterTyped, this, [this] { typed_.start(); });
  connect(list_, &PeakList::selected, this, [this](uint32_t allocation) { select(allocation); });
  connect(list_, &PeakList::restrictionLifted, this, [this] { groups_->zoom_to(GroupTree::kRoot); });
  connect(list_, &PeakList::timelineWanted, this, [this](uint32_t allocation) {
    ViewState next = session_.view();
    next.page = PageId::timeline;
    next.allocation = AllocationId{allocation};
    session_.look(next);
  });
  connect(groups_, &GroupsView::selected, this, [this](int row) { select(list_->table().allocation(row).id); });
  connect(groups_, &GroupsView::zoomChanged, this, [this] { restrict_table(); });
  connect(to_peak_, &QPushButton::clicked, this, [this] {
    ViewState next = session_.view();
    next.at.reset();
    session_.look(next);
  });
  connect(&session_, &Session::opened, this, [this] { show_moment(); });
  connect(&session_, &Session::closed, this, [this] { show_moment(); });
  connect(&session_, &Session::momentChanged, this, [this] { show_moment(); });
  connect(&session_, &Session::viewChanged, this, [this](const ViewState& before) { follow(before); });
  show_moment();
}

void PeakPage::lay_out() {
  headline_->setFont(title_font());
  headline_->setWordWrap(true);
  headline_->setTextFormat(Qt::PlainText);
  headline_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  to_peak_->hide();
  waiting_->setAlignment(Qt::AlignCenter);
  waiting_->setForegroundRole(QPalette::PlaceholderText);
  for (QLabel* label : {what_, facts_}) {
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->hide();
  }
  QFont bold = what_->font();
  bold.setBold(true);
  what_->setFont(bold);
  facts_->setForegroundRole(QPalette::PlaceholderText);

  const auto padded = [](QWidget* inside, QMargins margins) {
    auto* around = new QWidget;
    auto* box = new QVBoxLayout(around);
    box->setContentsMargins(margins);
    box->addWidget(inside);
    return around;
  };
  auto* right = new QWidget;
  auto* detail = new QVBoxLayout(right);
  detail->setContentsMargins(kGap, 0, 0, 0);
  detail->setSpacing(kGap / 2);
  detail->addWidget(what_);
  detail->addWidget(facts_);
  detail->addSpacing(kGap / 2);
  detail->addWidget(source_, 1);
  rows_->setObjectName(QStringLiteral("peak_rows"));
  rows_->addWidget(padded(groups_, {0, 0, 0, kGap}));
  rows_->addWidget(padded(list_, {0, kGap, 0, 0}));
  // In a high window the table gets the extra height; groups are seldom deeper than the initial height.
  rows_->setStretchFactor(0, 0);
  rows_->setStretchFactor(1, 1);
  columns_->setObjectName(QStringLiteral("peak_columns"));
  columns_->addWidget(padded(rows_, {0, 0, kGap, 0}));
  columns_->addWidget(right);
  columns_->setStretchFactor(0, 5);
  columns_->setStretchFactor(1, 3);
  for (QSplitter* splitter : {rows_, columns_}) {
    splitter->setChildrenCollapsible(false);
    splitter->setHandleWidth(1);
  }
  const int width = fontMetrics().averageCharWidth() * 150;
  columns_->setSizes({width * 5 / 8, width * 3 / 8});
  const int line = fontMetrics().height();
  rows_->setSizes({17 * line, 20 * line});

  pages_->addWidget(waiting_);
  pages_->addWidget(columns_);
  auto* top = new QHBoxLayout;
  top->setSpacing(kGap);
  top->addWidget(headline_, 1);
  top->addWidget(to_peak_, 0, Qt::AlignTop);
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  all->setSpacing(kGap);
  all->addLayout(top);
  all->addWidget(categories_);
  all->addSpacing(kGap / 2);
  all->addWidget(pages_, 1);
}

QAbstractItemModel* PeakPage::table() { return &list_->rows(); }
void PeakPage::find() { list_->focus_filter(); }

void PeakPage::follow(const ViewState& before) {
  const ViewState& now = session_.view();
  if (now.filter != list_->filter() && !typed_.isActive()) {
    list_->set_filter(now.filter);
    show_groups();
  }
  if (session_.moment() == nullptr && peak_) show_moment();
  if (now.allocation != before.allocation) show_allocation();
}

void PeakPage::show_moment() {
  const std::shared_ptr<const MomentSet> moment = session_.moment();
  const bool is_open = session_.document() != nullptr;
  peak_ = moment ? std::shared_ptr<const report::Peak>(moment, &moment->described) : nullptr;
  pages_->setCurrentIndex(peak_ ? 1 : 0);
  waiting_->setText(is_open ? QStringLiteral("Working out what was alive …") : QString());
  categories_->setVisible(peak_ != nullptr);
  headline_->setVisible(peak_ != nullptr);
  to_peak_->setVisible(peak_ && session_.view().at.has_value());
  list_->show_peak(peak_);
  if (!is_open) source_->show_stack({}, QStringLiteral("No allocation is selected."));
  if (peak_) {
    headline_->setText(headline_of(*peak_, session_.subject().name, !session_.view().at));
    categories_->show_categories(peak_->by_category, peak_->bytes);
    source_->set_recording(session_.document()->facts().path, session_.document()->text());
    list_->set_filter(session_.view().filter);
  }
  show_groups();
  show_allocation();
}

void PeakPage::show_groups() {
  if (!peak_ || list_->filter().isEmpty()) {
    groups_->show_peak(peak_, {});
  } else {
    groups_->show_peak(peak_, [this](int row) { return list_->rows().matches_filter(row); });
  }
  restrict_table();
}

void PeakPage::restrict_table() {
  const uint32_t zoomed = groups_->zoomed();
  if (!peak_ || zoomed == GroupTree::kRoot) {
    list_->restrict_to({}, {});
  } else {
    std::vector<bool> shown(peak_->allocations.size());
    for (size_t row = 0; row < shown.size(); ++row) shown[row] = groups_->tree().has(zoomed, static_cast<int>(row));
    list_->restrict_to(groups_->tree().path(zoomed), std::move(shown));
  }
  if (session_.view().allocation.value == 0) show_allocation();
}

void PeakPage::select(uint32_t allocation) {
  ViewState next = session_.view();
  next.allocation = AllocationId{allocation};
  session_.look(next);
}

// Without a selection, shows the first allocation in the table (initially the largest) and marks no group.
void PeakPage::show_allocation() {
  const uint32_t chosen = session_.document() != nullptr ? session_.view().allocation.value : 0;
  const uint32_t id = chosen == 0 && peak_ ? list_->first() : chosen;
  list_->select(id);
  const int row = id != 0 ? list_->table().row_of(id) : -1;
  groups_->mark_row(chosen == 0 ? -1 : row);
  what_->setVisible(row >= 0);
  facts_->setVisible(row >= 0);
  if (row < 0) {
    source_->show_stack({},
                        id == 0 ? QString() : QStringLiteral("The selected allocation was not alive at this moment."));
    return;
  }
  const report::Allocation& a = list_->table().allocation(row);
  what_->setText(what_text(a));
  QStringList facts{visible(text::bytes_text(a.bytes) + (a.layout.empty() ? "" : ", " + a.layout))};
  facts.append(
      QStringLiteral("Made %1 %2")
          .arg(a.op.empty() ? QStringLiteral("outside of operators") : QStringLiteral("by ") + visible(a.op),
               a.module.empty() ? QStringLiteral("outside of modules") : QStringLiteral("in ") + visible(a.module)));
  if (a.holders.size() > 1) facts.append(QStringLiteral("Held by ") + holders_text(a));
  facts_->setText(facts.join(QLatin1Char('\n')));
  source_->show_stack(a.stack, QStringLiteral("No stack was recorded for this allocation."));
}

QByteArray PeakPage::save_state() const {
  QByteArray state;
  QDataStream out(&state, QIODevice::WriteOnly);
  const Groupings& groupings = groups_->groupings();
  QList<qint32> levels;
  for (const peak::By by : groupings.levels) levels.append(static_cast<qint32>(by));
  out << kStateVersion << columns_->saveState() << rows_->saveState() << list_->save_columns() << levels
      << groupings.is_bottom_up << groups_->shows_tree();
  return state;
}

void PeakPage::restore_state(const QByteArray& state) {
  QDataStream in(state);
  qint32 version = 0;
  QByteArray columns, rows, header;
  QList<qint32> levels;
  bool is_bottom_up = false, as_tree = false;
  in >> version;
  if (version != kStateVersion) return;
  in >> columns >> rows >> header >> levels >> is_bottom_up >> as_tree;
  if (in.status() != QDataStream::Ok) return;
  columns_->restoreState(columns);
  rows_->restoreState(rows);
  list_->restore_columns(header);
  Groupings groupings;
  groupings.levels.clear();
  for (const qint32 by : levels) {
    if (by >= 0 && by < static_cast<qint32>(peak::kBys)) groupings.levels.push_back(static_cast<peak::By>(by));
  }
  if (groupings.levels.empty()) return;
  groupings.is_bottom_up = is_bottom_up;
  groups_->set_groupings(groupings);
  groups_->show_as_tree(as_tree);
}

}  // namespace tapelens::gui
