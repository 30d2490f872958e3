#include "gui/advice/advice_page.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSaveFile>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include "analyzer/report/findings.h"
#include "analyzer/report/format.h"
#include "gui/advice/finding_delegates.h"
#include "gui/advice/finding_pane.h"
#include "gui/advice/reduction_curve.h"
#include "gui/advice/verify_pane.h"
#include "gui/models/error.h"
#include "gui/models/plan.h"
#include "gui/models/visible_text.h"
#include "gui/widgets/table_header.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

// "Peak 49.2 MiB → 8.8 MiB", "Peak 49.2 MiB, no less"
QString now_and(Bytes now, Bytes after) {
  const QString before = visible(report::bytes_text(now)), then = visible(report::bytes_text(after));
  if (now == after) return AdvicePage::tr("Peak %1, no less").arg(before);
  if (before != then) return AdvicePage::tr("Peak %1 → %2").arg(before, then);
  return AdvicePage::tr("Peak %1, %2 %3")
      .arg(before, visible(report::bytes_text(after < now ? now - after : after - now)),
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
  connect(finding_, &FindingPane::evidenceClicked, this, [this](Interval when) {
    View next = session_.view();
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
  open_->setToolTip(tr("What tapelens verify --format json -o FILE wrote"));
  for (QPushButton* button : {save_, copy_, open_}) row->addWidget(button, 0, Qt::AlignTop);
  connect(save_, &QPushButton::clicked, this, &AdvicePage::ask_plan);
  connect(open_, &QPushButton::clicked, this, &AdvicePage::ask_verify);
  connect(copy_, &QPushButton::clicked, this, [this] {
    QApplication::clipboard()->setText(command());
    remark_->setText(tr("Copied: %1").arg(command()));
  });
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
  tick_all_ = new QPushButton(tr("Tick all that a &rewrite fixes"));
  tick_none_ = new QPushButton(tr("&None"));
  tick_none_->setToolTip(tr("Tick none"));
  row->addWidget(filter_edit_, 1);
  row->addWidget(tick_all_);
  row->addWidget(tick_none_);
  column->addLayout(row);
  connect(filter_edit_, &QLineEdit::textEdited, this, [this](const QString& text) {
    View next = session_.view();
    next.filter = text;
    session_.look(next, false);
  });
  connect(tick_all_, &QPushButton::clicked, this,
          [this] { session_.tick_all(session_.ticked() + model_.rewritable()); });
  connect(tick_none_, &QPushButton::clicked, this, [this] { session_.tick_all({}); });

  view_ = new QTableView;
  set_up_table(*view_, filter_, tr("Findings"), 2 * fontMetrics().lineSpacing() + kGap);
  view_->setWordWrap(true);
  view_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  view_->setItemDelegateForColumn(FindingsTable::title, new TickDelegate(view_));
  view_->setItemDelegateForColumn(FindingsTable::reduction, new ReductionDelegate(view_));
  view_->setItemDelegateForColumn(FindingsTable::severity, new SeverityDelegate(view_));
  view_->sortByColumn(-1, Qt::AscendingOrder);
  view_->horizontalHeader()->setStretchLastSection(false);
  view_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  view_->installEventFilter(this);
  view_->viewport()->installEventFilter(this);
  connect(view_->horizontalHeader(), &QHeaderView::sectionResized, this, [this] { drawn_ = drawn_ || !is_fitting_; });
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &AdvicePage::select);
  auto* nothing = faint_label();
  nothing->setText(tr("No finding matches the filter."));
  nothing->setAlignment(Qt::AlignCenter);
  lists_ = new QStackedWidget;
  lists_->addWidget(view_);
  lists_->addWidget(nothing);
  column->addWidget(lists_, 4);
  refused_ = faint_label();
  column->addWidget(refused_);
  return list;
}

void AdvicePage::follow_session() {
  connect(&session_, &Session::opened, this, [this] {
    plan_path_.clear();
    show_state();
    look_for_verify();
  });
  connect(&session_, &Session::closed, this, [this] {
    verify_->clear();
    show_state();
  });
  connect(&session_, &Session::made, this, [this](Part part) {
    if (part == Part::advice) show_state();
  });
  connect(&session_, &Session::progressed, this, [this](const QString& what, double share) {
    if (session_.document() == nullptr || session_.has(Part::advice) || what.isEmpty()) return;
    message_->setText(what);
    progress_->setValue(static_cast<int>(1000 * share));
  });
  connect(&session_, &Session::viewChanged, this, [this](const View& before) {
    if (before.subject != session_.view().subject) show_state();
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
    finding_->show_finding(nullptr, {});
    return;
  }
  const advise::Advice& advice = session_.subject().advised->advice;
  QStringList refused;
  for (const std::string& line : advice.refused) refused += visible(line);
  refused_->setText(tr("Left out, since it failed: %1").arg(refused.join("; ")));
  refused_->setVisible(!refused.isEmpty());
  if (model_.is_empty()) {
    message_->setText(tr("No findings: %1 looked at this recording and found no avoidable memory.")
                          .arg(visible(report::plural(advice.checks.size(), "check", "checks"))) +
                      (refused.isEmpty() ? "" : "\n" + refused_->text()));
    return;
  }
  fit_columns();
  show_ticks();
  show_selected();
}

// All up to where it is are seen at once, until somebody draws one wider or narrower.
void AdvicePage::fit_columns() {
  if (drawn_ || model_.is_empty()) return;
  is_fitting_ = true;
  const int letter = fontMetrics().averageCharWidth();
  int left = view_->viewport()->width();
  for (const int at : {FindingsTable::reduction, FindingsTable::bytes, FindingsTable::fixing, FindingsTable::severity,
                       FindingsTable::times, FindingsTable::check}) {
    view_->resizeColumnToContents(at);
    // What is longer has two lines.
    if (at == FindingsTable::reduction || at == FindingsTable::fixing) {
      const int most = (at == FindingsTable::reduction ? 14 : 18) * letter + 2 * kGap;
      view_->setColumnWidth(at, std::min(view_->columnWidth(at), most));
    }
    if (at != FindingsTable::times && at != FindingsTable::check) left -= view_->columnWidth(at);
  }
  const int title = std::max(30 * letter, left * 13 / 25);
  view_->setColumnWidth(FindingsTable::title, title);
  view_->setColumnWidth(FindingsTable::where, std::max(24 * letter, left - title));
  is_fitting_ = false;
}

// The filter and the row that the view says.
void AdvicePage::show_selected() {
  const View& view = session_.view();
  if (filter_edit_->text() != view.filter) filter_edit_->setText(view.filter);
  filter_.set_filter(view.filter);
  lists_->setCurrentIndex(filter_.rowCount() > 0 || model_.is_empty() ? 0 : 1);
  int row = model_.row_of(view.finding);
  if (row < 0 && !model_.is_empty()) row = filter_.mapToSource(filter_.index(0, 0)).row();
  if (row < 0) {
    finding_->show_finding(nullptr, {});
    return;
  }
  const QModelIndex index = filter_.mapFromSource(model_.index(row, 0));
  if (index.isValid() && index.row() != view_->currentIndex().row()) view_->setCurrentIndex(index);
  finding_->show_finding(&model_.finding(row), {QFileInfo(session_.document()->facts().path).absolutePath()});
}

void AdvicePage::select(const QModelIndex& current) {
  if (!current.isValid()) return;
  View next = session_.view();
  next.finding = current.data(FindingsTable::id_role).toString();
  session_.look(next, false);
}

void AdvicePage::show_ticks() {
  if (!session_.has(Part::advice)) return;
  const size_t sites = planned(*session_.subject().advised, session_.ticked());
  const QSet<QString> rewritable = model_.rewritable();
  tick_all_->setEnabled(!session_.ticked().contains(rewritable));
  tick_all_->setToolTip(rewritable.isEmpty() ? tr("No rewrite fixes any of these findings") : QString());
  tick_none_->setEnabled(!session_.ticked().isEmpty());
  save_->setEnabled(sites > 0);
  save_->setToolTip(sites > 0 ? tr("For tapelens verify --plan and tapelens run --plan")
                              : tr("Tick a finding that a rewrite fixes"));
  const QString to_copy = command();
  copy_->setEnabled(!to_copy.isEmpty());
  copy_->setToolTip(!to_copy.isEmpty() ? to_copy
                    : sites > 0        ? tr("Save the plan first: only some of what a rewrite fixes is ticked")
                                       : tr("Tick a finding that a rewrite fixes"));
  show_headline();
}

void AdvicePage::show_headline() {
  if (!session_.has(Part::advice)) return;
  const Advised& advised = *session_.subject().advised;
  const Bytes now = session_.subject().device.peak;
  const QString all = visible(report::count_text(advised.advice.findings.size()));
  const auto count = session_.ticked().size();
  const auto& what_if = session_.what_if();
  if (count == 0) {
    const QString fixed = visible(report::fixed_text(advised.advice));
    headline_->setText(fixed.isEmpty()
                           ? tr("Peak %1").arg(visible(report::bytes_text(now)))
                           : tr("%1 with %2 fixed").arg(now_and(now, advised.advice.peak_after_all), fixed));
  } else if (what_if && what_if->findings == static_cast<size_t>(count)) {
    headline_->setText(tr("%1 with %2 of %3 fixed").arg(now_and(now, what_if->after)).arg(count).arg(all));
  } else {
    headline_->setText(
        tr("Peak %1, working out %2 of %3 fixed").arg(visible(report::bytes_text(now))).arg(count).arg(all));
  }
  const size_t sites = planned(advised, session_.ticked());
  if (!plan_path_.isEmpty()) {
    remark_->setText(tr("Plan of %1 saved: %2").arg(visible(report::plural(sites, "finding", "findings")), plan_path_));
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
    const QModelIndex box = view_->currentIndex().siblingAtColumn(FindingsTable::title);
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

trace::Status AdvicePage::save_plan(const QString& path) {
  if (!session_.has(Part::advice)) return failure(tr("The findings are still being worked out."));
  const Advised& advised = *session_.subject().advised;
  if (planned(advised, session_.ticked()) == 0) return failure(tr("No finding that a rewrite fixes is ticked."));
  const std::string text = plan_text(session_.document()->facts(), advised, session_.ticked());
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(text.data(), static_cast<qint64>(text.size())) < 0 ||
      !file.commit()) {
    return failure(tr("%1 cannot be written: %2.").arg(path, file.errorString()));
  }
  plan_path_ = path;
  show_ticks();
  return trace::Done{};
}

void AdvicePage::open_verify(const QString& path) { verify_->open(path); }

QString AdvicePage::command() const {
  const QString& recorded = session_.document()->facts().command;
  if (!plan_path_.isEmpty()) return verify_command("--plan", plan_path_, recorded);
  const QString level = model_.level_of_all(session_.ticked());
  return level.isEmpty() ? QString() : verify_command("--apply", level, recorded);
}

QString AdvicePage::beside_recording(const QString& ending) const { return session_.document()->facts().path + ending; }

void AdvicePage::ask_plan() {
  const QFileInfo recording(session_.document()->facts().path);
  const QString path = QFileDialog::getSaveFileName(
      this, tr("Save plan"), recording.absolutePath() + '/' + recording.completeBaseName() + ".plan.json",
      tr("Plans (*.json)"));
  if (path.isEmpty()) return;
  if (const auto saved = save_plan(path); !saved) remark_->setText(sentence(saved.error()));
}

void AdvicePage::ask_verify() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Open verify result"), beside_recording(".verify.json"),
                                                    tr("Verify results (*.json)"));
  if (!path.isEmpty()) open_verify(path);
}

void AdvicePage::look_for_verify() {
  const QString path = beside_recording(".verify.json");
  if (QFileInfo(path).isFile()) open_verify(path);
}

}  // namespace tapelens::gui
