#include "gui/steps/steps_page.h"

#include <QCheckBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QStringList>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <array>

#include "analyzer/peak/analysis.h"
#include "analyzer/report/advice_text.h"
#include "analyzer/report/findings_text.h"
#include "analyzer/text/format.h"
#include "gui/models/visible_text.h"
#include "gui/steps/step_bars.h"
#include "gui/widgets/context_menu.h"
#include "gui/widgets/table.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

// In average characters.
constexpr std::array<int, StepsTable::kColumns> kWidths = {8, 14, 30, 15, 13, 13, 13, 13, 30};

// "no outliers", "memory grows by 1.1 MiB a step since step 1", "3 have a note"
QString what_stands_out(const StandsOut& out) {
  if (out.count == 0) return QStringLiteral("no outliers");
  QStringList why(out.growth.begin(), out.growth.end());
  why.removeAll({});
  if (why.removeDuplicates(); why.size() == 1) {
    const auto peaks =
        static_cast<uint64_t>(std::ranges::count_if(out.peak, [](const QString& peak) { return !peak.isEmpty(); }));
    const QString growth = QStringLiteral("memory ") + why.first();
    if (peaks == 0) return growth;
    return growth +
           QStringLiteral("; %1").arg(visible(text::plural(peaks, "peak is an outlier", "peaks are outliers")));
  }
  return out.count == 1 ? QStringLiteral("1 has a note")
                        : QStringLiteral("%1 have a note").arg(visible(text::count_text(out.count)));
}

QString headline_of(const StepsTable& table) {
  if (table.largest() < 0) return {};
  const report::Step& most = table.steps()[static_cast<size_t>(table.largest())];
  const auto& steps = table.steps();
  const bool has_more = steps.size() > 1 && !steps.back().complete;  // the part after the last step
  const QString count = visible(text::plural(steps.size() - (has_more ? 1 : 0), "step", "steps"));
  return QStringLiteral("%1; the largest peak, %2, in step %3; %4")
      .arg(count, visible(text::bytes_text(most.peak)), QString::number(most.index),
           what_stands_out(table.outstanding()));
}

constexpr int64_t kLeastKept = 100;  // fraction of the peak: smaller growth is ignored

// The bytes of its evidence that stay alive from one step until after the next.
Bytes kept_across_steps(const advise::Finding& finding, const std::vector<Interval>& steps) {
  Bytes bytes;
  for (const advise::Evidence& one : finding.evidence) {
    const auto next = std::ranges::upper_bound(steps, one.begin, {}, &Interval::begin);
    if (next != steps.end() && next + 1 != steps.end() && one.end > next->end)
      bytes += Bytes{one.bytes.value * static_cast<int64_t>(one.count)};
  }
  return bytes;
}

}  // namespace

void OutstandingDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  if (index.data(StepsTable::why_role).isNull()) return;
  option->text = (index.column() == StepsTable::peak ? QStringLiteral("▲ ") : QStringLiteral("↗ ")) + option->text;
}

// The style sheet's items have no background.
void OutstandingDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  if (!index.data(StepsTable::why_role).isNull()) {
    QColor tint = theme().warning;
    tint.setAlphaF(0.18F);
    painter->fillRect(option.rect, tint);
  }
  QStyledItemDelegate::paint(painter, option, index);
}

Page* make_steps_page(Session& session) { return new StepsPage(session); }

StepsPage::StepsPage(Session& session, QWidget* parent)
    : Page(parent),
      session_(session),
      table_(new StepsTable(this)),
      rows_(new StepsRows(*table_, this)),
      headline_(new QLabel(this)),
      growing_(new QLabel(this)),
      bars_(new StepBars(*table_, this)),
      filter_(new QLineEdit(this)),
      only_(new QCheckBox(QStringLiteral("Outliers only"), this)),
      view_(new QTableView(this)),
      nothing_(new QLabel(view_->viewport())) {
  lay_out();
  paint_box();
  connect(filter_, &QLineEdit::textChanged, this, [this] { filter(); });
  connect(only_, &QCheckBox::toggled, this, [this] { filter(); });
  connect(bars_, &StepBars::selected, this, [this](int row) { select(row); });
  connect(bars_, &StepBars::activated, this, [this](int row) { zoom(row); });
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& now) {
    if (now.isValid()) select(rows_->mapToSource(now).row());
  });
  connect(view_, &QTableView::activated, this, [this](const QModelIndex& at) { zoom(rows_->mapToSource(at).row()); });
  connect(&session_, &Session::opened, this, [this] { forget(); });
  connect(&session_, &Session::closed, this, [this] { forget(); });
  connect(&session_, &Session::made, this, [this](Part part) {
    if (part == Part::advice) show_growing();
  });
  connect(growing_, &QLabel::linkActivated, this, [this](const QString& finding) {
    ViewState next = session_.view();
    next.page = PageId::advice;
    next.finding = finding;
    session_.look(next);
  });
  connect(&session_, &Session::viewChanged, this, [this](const ViewState& before) {
    if (before.subject != session_.view().subject) forget();
    if (before.step != session_.view().step) show_current();
  });
}

void StepsPage::lay_out() {
  headline_->setFont(title_font());
  headline_->setWordWrap(true);
  headline_->setTextFormat(Qt::PlainText);
  headline_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  growing_->setTextFormat(Qt::RichText);
  growing_->setWordWrap(true);
  growing_->setTextInteractionFlags(Qt::TextBrowserInteraction);
  growing_->hide();
  filter_->setPlaceholderText(QStringLiteral("Filter: number, above, grows …"));
  filter_->setClearButtonEnabled(true);
  filter_->setAccessibleName(QStringLiteral("Filter of the steps"));
  set_up_table(*view_, *rows_, QStringLiteral("Steps"), fontMetrics().height() + kGap + kGap / 2);
  add_context_menu(*view_);
  view_->sortByColumn(StepsTable::step, Qt::AscendingOrder);
  view_->setItemDelegate(new OutstandingDelegate(view_));
  view_->setItemDelegateForColumn(StepsTable::shape,
                                  new SparklineDelegate(StepsTable::sparkline_role, StepsTable::most_role, view_));
  for (int column = 0; column < StepsTable::kColumns; ++column)
    view_->setColumnWidth(column, kWidths[static_cast<size_t>(column)] * fontMetrics().averageCharWidth() + 2 * kGap);
  view_->viewport()->installEventFilter(this);
  nothing_->setAlignment(Qt::AlignCenter);
  nothing_->setForegroundRole(QPalette::PlaceholderText);
  nothing_->setWordWrap(true);
  nothing_->hide();

  auto* tools = new QHBoxLayout;
  tools->setSpacing(kGap);
  tools->addWidget(filter_, 1);
  tools->addWidget(only_);
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  all->setSpacing(kGap);
  all->addWidget(headline_);
  all->addWidget(growing_);
  all->addWidget(bars_);
  all->addLayout(tools);
  all->addWidget(view_, 1);
}

void StepsPage::find() {
  filter_->setFocus(Qt::ShortcutFocusReason);
  filter_->selectAll();
}

void StepsPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  show_steps();
}

void StepsPage::forget() {
  is_stale_ = true;
  table_->show(nullptr, nullptr, {});
  headline_->clear();
  show_growing();
  show_steps();
}

void StepsPage::show_steps() {
  if (!is_stale_ || !isVisible() || session_.document() == nullptr) return;
  is_stale_ = false;
  const Subject& subject = session_.subject();
  table_->show(session_.shared(), &subject.timeline, peak::step_memory(subject.of.analysis, subject.timeline));
  headline_->setText(headline_of(*table_));
  only_->setEnabled(table_->outstanding().count > 0);
  if (table_->outstanding().count == 0) only_->setChecked(false);
  filter();
  show_current();
}

// Shows the entry with the most bytes that are proven to stay from step to step. If none has any, shows an entry that
// the advice calls an error (unbounded growth).
void StepsPage::show_growing() {
  growing_->hide();
  if (session_.document() == nullptr || !session_.has(Part::advice)) return;
  const Subject& subject = session_.subject();
  const advise::Advice& advice = subject.advised->advice;
  const advise::Entry* most = nullptr;
  Bytes most_bytes{subject.device.peak.value / kLeastKept};
  for (const advise::Entry& entry : advice.entries) {
    Bytes bytes;
    for (const uint32_t at : entry.findings) bytes += kept_across_steps(advice.findings[at], subject.of.bands.steps);
    if (bytes <= most_bytes) continue;
    most = &entry;
    most_bytes = bytes;
  }
  if (most == nullptr) {
    const auto error = std::ranges::find(advice.entries, advise::Entry::Kind::error, &advise::Entry::kind);
    if (error == advice.entries.end()) return;
    most = &*error;
  }
  const advise::Finding& first = advice.findings[most->findings.front()];
  const std::string place = report::source_text(first.source);
  growing_->setText(
      QStringLiteral("Kept from step to step: <a href='%1' style='color:%2; text-decoration:none'>%3%4</a>")
          .arg(visible(first.id), theme().accent.name(),
               place.empty() ? QString() : visible(place).toHtmlEscaped() + QStringLiteral(": "),
               visible(report::entry_title(advice, *most)).toHtmlEscaped()));
  growing_->show();
}

void StepsPage::filter() {
  rows_->set_filter(filter_->text(), only_->isChecked());
  nothing_->setText(QStringLiteral("No step matches the filter."));
  nothing_->setVisible(rows_->rowCount() == 0 && table_->rowCount() > 0);
  show_current();
}

int StepsPage::current_row() const {
  return session_.document() == nullptr || session_.view().step == UINT32_MAX ? -1
                                                                              : table_->row_of(session_.view().step);
}

void StepsPage::show_current() {
  const int row = current_row();
  bars_->set_current(row);
  const QModelIndex at = row < 0 ? QModelIndex() : rows_->mapFromSource(table_->index(row, 0));
  if (!at.isValid()) return view_->clearSelection();
  if (at.row() != view_->currentIndex().row() || !view_->selectionModel()->isRowSelected(at.row()))
    view_->selectRow(at.row());
  view_->scrollTo(at);
}

void StepsPage::select(int row) {
  ViewState next = session_.view();
  next.step = table_->steps()[static_cast<size_t>(row)].index;
  session_.look(next);
}

void StepsPage::zoom(int row) {
  const report::Step& step = table_->steps()[static_cast<size_t>(row)];
  ViewState next = session_.view();
  next.page = PageId::timeline;
  next.step = step.index;
  next.range = {step.begin, step.end};
  session_.look(next);
}

// The style draws the checkbox in the window's color, which is invisible on a dark background.
void StepsPage::paint_box() {
  QPalette palette;
  if (theme().is_dark) palette.setColor(QPalette::Window, theme().faint.lighter(130));
  only_->setPalette(palette);
}

void StepsPage::changeEvent(QEvent* event) {
  Page::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  paint_box();
  show_growing();
}

bool StepsPage::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) nothing_->setGeometry(view_->viewport()->rect());
  return Page::eventFilter(watched, event);
}

}  // namespace tapelens::gui
