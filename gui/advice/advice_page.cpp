#include "gui/advice/advice_page.h"

#include <QAction>
#include <QApplication>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QTreeView>
#include <QVBoxLayout>

#include "analyzer/report/advice_text.h"
#include "analyzer/report/findings_text.h"
#include "analyzer/report/next_commands.h"
#include "analyzer/text/format.h"
#include "gui/advice/finding_delegates.h"
#include "gui/advice/finding_pane.h"
#include "gui/advice/fit_pane.h"
#include "gui/advice/reduction_curve.h"
#include "gui/advice/verify_pane.h"
#include "gui/models/verifying.h"
#include "gui/models/visible_text.h"
#include "gui/widgets/context_menu.h"
#include "gui/widgets/table.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

// "Peak 49.2 MiB → 8.8 MiB", "Peak 49.2 MiB, no less"
QString now_and(Bytes now, Bytes after) {
  const QString before = visible(text::bytes_text(now)), then = visible(text::bytes_text(after));
  if (now == after) return AdvicePage::tr("Peak %1, no less").arg(before);
  if (before != then) return AdvicePage::tr("Peak %1 → %2").arg(before, then);
  return AdvicePage::tr("Peak %1, %2 %3")
      .arg(before, visible(text::bytes_text(after < now ? now - after : after - now)),
           after < now ? AdvicePage::tr("less") : AdvicePage::tr("more"));
}

QLabel* faint_label() {
  auto* label = new QLabel;
  label->setWordWrap(true);
  label->setForegroundRole(QPalette::PlaceholderText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

}  // namespace

Page* make_advice_page(Session& session) { return new AdvicePage(session); }

AdvicePage::AdvicePage(Session& session, QWidget* parent)
    : Page(parent), session_(session), model_(session), filter_(model_), states_(new QStackedWidget) {
  auto* waiting = new QWidget;
  auto* column = new QVBoxLayout(waiting);
  message_ = new QLabel;
  message_->setAlignment(Qt::AlignCenter);
  message_->setWordWrap(true);
  progress_ = new QProgressBar;
  progress_->setRange(0, 1000);
  progress_->setTextVisible(false);
  progress_->setMaximumWidth(60 * fontMetrics().averageCharWidth());
  progress_->setAccessibleName(tr("How much is done"));
  column->addStretch();
  column->addWidget(message_);
  column->addWidget(progress_, 0, Qt::AlignHCenter);
  column->addStretch();
  states_->addWidget(waiting);
  states_->addWidget(make_content());
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  all->addWidget(states_);
  follow_session();
  show_state();
}

QWidget* AdvicePage::make_content() {
  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kGap);
  column->addWidget(make_head());
  verify_ = new VerifyPane;
  column->addWidget(verify_);
  auto* splitter = new QSplitter(Qt::Horizontal);
  splitter->setChildrenCollapsible(false);
  splitter->addWidget(make_list());
  finding_ = new FindingPane;
  finding_->setMinimumWidth(36 * fontMetrics().averageCharWidth());
  splitter->addWidget(finding_);
  splitter->setStretchFactor(0, 5);
  splitter->setStretchFactor(1, 3);
  splitter->setSizes({625, 375});
  column->addWidget(splitter, 1);
  connect(finding_, &FindingPane::copied, this, &AdvicePage::copy);
  connect(finding_, &FindingPane::saveWanted, this, &AdvicePage::ask_patch);
  connect(finding_, &FindingPane::evidenceClicked, this, [this](Interval when) {
    ViewState next = session_.view();
    next.page = PageId::timeline;
    const int64_t whole = session_.document()->facts().duration.ns;
    const int64_t end = std::min(when.end.ns, whole), around = std::max<int64_t>((end - when.begin.ns) / 10, 1000);
    next.range = {Time{std::max<int64_t>(when.begin.ns - around, 0)}, Time{std::min(end + around, whole)}};
    session_.look(next);
  });
  return content;
}

QWidget* AdvicePage::make_head() {
  auto* head = new QWidget;
  auto* row = new QHBoxLayout(head);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(kGap);
  auto* words = new QVBoxLayout;
  words->setSpacing(2);
  headline_ = new QLabel;
  headline_->setFont(title_font());
  headline_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  remark_ = faint_label();
  words->addWidget(headline_);
  words->addWidget(remark_);
  row->addLayout(words, 1);
  save_ = new QPushButton(tr("Save &plan\u2026"));
  copy_ = new QPushButton(tr("&Copy command"));
  open_ = new QPushButton(tr("Open verify res&ult\u2026"));
  open_->setToolTip(tr("Open the output of tapelens verify --format json -o FILE"));
  for (QPushButton* button : {save_, copy_, open_}) row->addWidget(button, 0, Qt::AlignTop);
  connect(save_, &QPushButton::clicked, this, &AdvicePage::ask_plan);
  connect(open_, &QPushButton::clicked, this, &AdvicePage::ask_verify);
  connect(copy_, &QPushButton::clicked, this, [this] { copy(command(), command()); });
  return head;
}

QWidget* AdvicePage::make_list() {
  auto* list = new QWidget;
  auto* column = new QVBoxLayout(list);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kGap);
  curve_ = new ReductionCurve(session_);
  column->addWidget(curve_, 1);

  auto* row = new QHBoxLayout;
  row->setSpacing(kGap);
  filter_edit_ = new QLineEdit;
  filter_edit_->setPlaceholderText(tr("Filter findings"));
  filter_edit_->setAccessibleName(tr("Filter findings"));
  filter_edit_->setClearButtonEnabled(true);
  tick_all_ = new QPushButton(tr("Tick &automatic fixes"));
  tick_none_ = new QPushButton(tr("&None"));
  tick_none_->setToolTip(tr("Tick none"));
  row->addWidget(filter_edit_, 1);
  row->addWidget(tick_all_);
  row->addWidget(tick_none_);
  column->addLayout(row);
  connect(filter_edit_, &QLineEdit::textEdited, this, [this](const QString& text) {
    ViewState next = session_.view();
    next.filter = text;
    session_.look(next, false);
  });
  connect(tick_all_, &QPushButton::clicked, this,
          [this] { session_.tick_all(session_.ticked() + model_.automatic()); });
  connect(tick_none_, &QPushButton::clicked, this, [this] { session_.tick_all({}); });

  view_ = new QTreeView;
  view_->setModel(&filter_);
  view_->setHeader(new TableHeader(view_));
  view_->setAccessibleName(tr("Findings"));
  view_->setUniformRowHeights(true);
  view_->setWordWrap(true);
  view_->setIndentation(view_->indentation() * 3 / 4);
  view_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  view_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  view_->setItemDelegate(new FindingDelegate(view_));
  view_->setItemDelegateForColumn(FindingsTree::number, new NumberDelegate(view_));
  view_->setSortingEnabled(true);
  view_->sortByColumn(-1, Qt::AscendingOrder);
  view_->header()->setStretchLastSection(false);
  view_->header()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  for (const int hidden : {FindingsTree::bytes, FindingsTree::severity, FindingsTree::times, FindingsTree::check})
    view_->hideColumn(hidden);  // the pane of the selected finding shows it, and exports contain it
  add_context_menu(*view_, &session_, [this](const QModelIndex& row) {
    ContextTarget target;
    target.line = model_.finding(filter_.mapToSource(row)).source;
    return target;
  });
  view_->installEventFilter(this);
  view_->viewport()->installEventFilter(this);
  connect(view_->header(), &QHeaderView::sectionResized, this, [this] { drawn_ = drawn_ || !is_fitting_; });
  // The rows below an entry have longer numbers.
  connect(view_, &QTreeView::expanded, this, &AdvicePage::fit_columns);
  connect(view_, &QTreeView::collapsed, this, &AdvicePage::fit_columns);
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &AdvicePage::select);
  auto* nothing = faint_label();
  nothing->setText(tr("No finding matches the filter."));
  nothing->setAlignment(Qt::AlignCenter);
  lists_ = new QStackedWidget;
  lists_->addWidget(view_);
  lists_->addWidget(nothing);
  column->addWidget(lists_, 4);
  fit_ = new FitPane;
  column->addWidget(fit_);
  connect(fit_, &FitPane::copied, this, [this](const QString& text) { copy(text, text); });
  refused_ = faint_label();
  column->addWidget(refused_);
  return list;
}

void AdvicePage::follow_session() {
  connect(&session_, &Session::opened, this, [this] {
    plan_path_.clear();
    show_fit();
    show_state();
    look_for_verify();
  });
  connect(&session_, &Session::closed, this, [this] {
    verify_->clear();
    show_fit();
    show_state();
  });
  connect(&session_, &Session::made, this, [this](Part part) {
    if (part == Part::advice) show_state();
    if (part == Part::fit) show_fit();
  });
  connect(&session_, &Session::progressed, this, [this](const QString& what, double share) {
    if (session_.document() == nullptr || session_.has(Part::advice) || what.isEmpty()) return;
    message_->setText(what);
    progress_->setValue(static_cast<int>(1000 * share));
  });
  connect(&session_, &Session::viewChanged, this, [this](const ViewState& before) {
    if (before.subject != session_.view().subject) {
      show_fit();
      show_state();
    }
    if (before.filter != session_.view().filter || before.finding != session_.view().finding) show_selected();
  });
  connect(&session_, &Session::tickedChanged, this, [this] {
    plan_path_.clear();
    show_ticks();
  });
  connect(&session_, &Session::whatIfChanged, this, &AdvicePage::show_headline);
}

void AdvicePage::show_state() {
  const bool is_open = session_.document() != nullptr, is_known = session_.has(Part::advice);
  states_->setCurrentIndex(is_known && !model_.is_empty() ? 1 : 0);
  progress_->setVisible(is_open && !is_known);
  if (!is_known) {
    message_->setText(is_open ? tr("Looking for avoidable memory") : QString());
    finding_->show_finding(nullptr, {}, nullptr);
    return;
  }
  const advise::Advice& advice = session_.subject().advised->advice;
  QStringList refused;
  for (const std::string& line : advice.refused) refused += visible(line);
  refused_->setText(tr("Left out, since it failed: %1").arg(refused.join("; ")));
  refused_->setVisible(!refused.isEmpty());
  if (model_.is_empty()) {
    message_->setText(tr("No findings: %1 looked at this recording and found no avoidable memory.")
                          .arg(visible(text::plural(advice.checks.size(), "check", "checks"))) +
                      (refused.isEmpty() ? "" : "\n" + refused_->text()));
    return;
  }
  fit_columns();
  show_ticks();
  show_selected();
}

void AdvicePage::show_fit() {
  const bool is_known = session_.has(Part::fit);
  fit_->show_curve(is_known ? session_.subject().fit.get() : nullptr,
                   is_known ? session_.document()->facts().command : QString());
}

// All columns fit the view until the user resizes one.
void AdvicePage::fit_columns() {
  if (drawn_ || model_.is_empty()) return;
  is_fitting_ = true;
  view_->setColumnHidden(FindingsTree::fixing, model_.is_constant(FindingsTree::fixing));
  const int letter = fontMetrics().averageCharWidth();
  int left = view_->viewport()->width();
  for (const int at : {FindingsTree::number, FindingsTree::change, FindingsTree::after, FindingsTree::fixing}) {
    if (view_->isColumnHidden(at)) continue;
    view_->resizeColumnToContents(at);
    // "−12.0 MiB with others" takes two lines.
    if (at == FindingsTree::change) view_->setColumnWidth(at, std::min(view_->columnWidth(at), 14 * letter + 2 * kGap));
    left -= view_->columnWidth(at);
  }
  const int where = std::max(16 * letter, left * 2 / 5);
  view_->setColumnWidth(FindingsTree::where, where);
  view_->setColumnWidth(FindingsTree::title, std::max(20 * letter, left - where));
  is_fitting_ = false;
}

// Applies the filter and the selection of the view.
void AdvicePage::show_selected() {
  const ViewState& view = session_.view();
  if (filter_edit_->text() != view.filter) filter_edit_->setText(view.filter);
  filter_.set_filter(view.filter);
  lists_->setCurrentIndex(filter_.rowCount() > 0 || model_.is_empty() ? 0 : 1);
  // A selected entry stays selected: it has the id of its first finding.
  const QModelIndex current = filter_.mapToSource(view_->currentIndex());
  QModelIndex wanted = model_.index_of(view.finding);
  if (current.isValid() && wanted.isValid() && model_.finding(current).id == model_.finding(wanted).id)
    wanted = current;
  if (!wanted.isValid() && !model_.is_empty()) wanted = filter_.mapToSource(filter_.index(0, 0));
  if (!wanted.isValid()) {
    finding_->show_finding(nullptr, {}, nullptr);
    return;
  }
  const QModelIndex index = filter_.mapFromSource(wanted.siblingAtColumn(0));
  if (index.isValid() && index != view_->currentIndex().siblingAtColumn(0)) {
    view_->setCurrentIndex(index);
    view_->scrollTo(index);
  }
  finding_->show_finding(&model_.finding(wanted), words_of(wanted), session_.document());
}

EntryWords AdvicePage::words_of(const QModelIndex& index) const {
  const advise::Entry& entry = model_.entry(index);
  const QString& recorded = session_.document()->facts().command;
  EntryWords words;
  if (entry.findings.size() > 1) {
    if (entry.kind == advise::Entry::Kind::automatic) {
      words.title = tr("%1. Of these, %2:")
                        .arg(visible(report::entry_title(model_.advice(), entry)),
                             index.parent().isValid() ? tr("one") : tr("the largest"));
    } else {
      words.title = tr("One of %1 that one change fixes.")
                        .arg(visible(text::plural(entry.findings.size(), "finding", "findings")));
    }
  }
  const QString applying = visible(report::applying_text(model_.advice(), entry));
  if (!applying.isEmpty()) words.command = run_command(applying, recorded);
  return words;
}

void AdvicePage::select(const QModelIndex& current) {
  if (!current.isValid()) return;
  ViewState next = session_.view();
  next.finding = current.data(FindingsTree::id_role).toString();
  session_.look(next, false);
}

void AdvicePage::show_ticks() {
  if (!session_.has(Part::advice)) return;
  const size_t sites = planned(*session_.subject().advised, session_.ticked());
  const QSet<QString> automatic = model_.automatic();
  tick_all_->setEnabled(!session_.ticked().contains(automatic));
  tick_all_->setToolTip(automatic.isEmpty() ? tr("No rewrite fixes any of these findings") : QString());
  tick_none_->setEnabled(!session_.ticked().isEmpty());
  save_->setEnabled(sites > 0);
  save_->setToolTip(sites > 0 ? tr("For tapelens verify --apply and tapelens run --apply")
                              : tr("Tick a finding that a rewrite fixes"));
  const QString to_copy = command();
  copy_->setEnabled(!to_copy.isEmpty());
  copy_->setToolTip(!to_copy.isEmpty() ? to_copy
                    : sites > 0        ? tr("Save the plan first: only some of the findings with a rewrite are ticked")
                                       : tr("Tick a finding that a rewrite fixes"));
  show_headline();
}

void AdvicePage::show_headline() {
  if (!session_.has(Part::advice)) return;
  const Advised& advised = *session_.subject().advised;
  const Bytes now = session_.subject().device.peak;
  const QString all = visible(text::count_text(advised.advice.findings.size()));
  const auto count = session_.ticked().size();
  const auto& what_if = session_.what_if();
  if (count == 0) {
    const QString fixed = visible(report::fixed_text(advised.advice));
    headline_->setText(fixed.isEmpty()
                           ? tr("Peak %1").arg(visible(text::bytes_text(now)))
                           : tr("%1 with %2 fixed").arg(now_and(now, advised.advice.peak_after_all), fixed));
  } else if (what_if && what_if->findings == static_cast<size_t>(count)) {
    headline_->setText(tr("%1 with %2 of %3 fixed").arg(now_and(now, what_if->after)).arg(count).arg(all));
  } else {
    headline_->setText(
        tr("Peak %1, working out %2 of %3 fixed").arg(visible(text::bytes_text(now))).arg(count).arg(all));
  }
  const size_t sites = planned(advised, session_.ticked());
  if (!plan_path_.isEmpty()) {
    remark_->setText(tr("Plan of %1 saved: %2").arg(visible(text::plural(sites, "finding", "findings")), plan_path_));
  } else if (count == 0) {
    remark_->setText(tr("Tick findings to see the memory without them."));
  } else if (sites == 0) {
    remark_->setText(tr("No rewrite fixes what is ticked: the program has to change."));
  } else {
    const QString fixed = sites == static_cast<size_t>(count)
                              ? tr("A rewrite fixes what is ticked")
                              : tr("A rewrite fixes %1 of the %2 that are ticked").arg(sites).arg(count);
    remark_->setText(command().isEmpty() ? tr("%1: save a plan and prove it with tapelens verify.").arg(fixed)
                                         : tr("%1: copy the command that proves it.").arg(fixed));
  }
}

bool AdvicePage::eventFilter(QObject* watched, QEvent* event) {
  if (watched == view_->viewport() && event->type() == QEvent::Resize) fit_columns();
  if (watched == view_ && event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Space) {
    const QModelIndex box = view_->currentIndex().siblingAtColumn(FindingsTree::number);
    if (!box.isValid()) return false;
    const bool is_ticked = box.data(Qt::CheckStateRole).toInt() == Qt::Checked;
    filter_.setData(box, is_ticked ? Qt::Unchecked : Qt::Checked, Qt::CheckStateRole);
    return true;
  }
  return Page::eventFilter(watched, event);
}

void AdvicePage::take_focus() { view_->setFocus(); }

void AdvicePage::find() {
  filter_edit_->setFocus(Qt::ShortcutFocusReason);
  filter_edit_->selectAll();
}

}  // namespace tapelens::gui
