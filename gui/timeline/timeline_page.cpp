#include "gui/timeline/timeline_page.h"

#include <QComboBox>
#include <QEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QShortcut>
#include <QSplitter>
#include <QStandardItemModel>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "analyzer/text/format.h"
#include "gui/models/facts.h"
#include "gui/timeline/inspector.h"
#include "gui/timeline/legend.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

constexpr std::pair<peak::By, const char*> kBysShown[] = {
    {peak::By::category, "Category"},  {peak::By::field, "Node and field"}, {peak::By::node, "Node type"},
    {peak::By::module, "Module"},      {peak::By::source, "Source line"},   {peak::By::op, "Operator"},
    {peak::By::step, "Step of birth"},
};

constexpr std::pair<picture::AxisKind, const char*> kAxesShown[] = {
    {picture::AxisKind::time, "Time"},
    {picture::AxisKind::without_pauses, "Time without pauses"},
    {picture::AxisKind::events, "Events"},
};

QToolButton* button(QWidget* parent, const QString& text, const QString& tip) {
  auto* made = new QToolButton(parent);
  made->setText(text);
  made->setToolTip(tip);
  made->setAccessibleName(tip);
  return made;
}

}  // namespace

Page* make_timeline_page(Session& session) { return new TimelinePage(session); }

TimelinePage::TimelinePage(Session& session, QWidget* parent) : Page(parent), session_(session) {
  view_ = new TimelineView(session);
  by_ = new QComboBox(this);
  by_->setAccessibleName(tr("Stacked by"));
  for (const auto& [by, name] : kBysShown) by_->addItem(tr(name), static_cast<int>(by));
  axis_ = new QComboBox(this);
  axis_->setObjectName("axis");
  axis_->setAccessibleName(tr("Axis"));
  axis_->setToolTip(
      tr("Time without pauses draws long stretches without an event narrow. Events gives each allocation and "
         "each free the same width."));
  for (const auto& [kind, name] : kAxesShown) axis_->addItem(tr(name), static_cast<int>(kind));
  search_ = new QLineEdit(this);
  search_->setPlaceholderText(tr("Search: node, field, module, file:line  ( / )"));
  search_->setAccessibleName(tr("Search"));
  search_->setClearButtonEnabled(true);
  found_ = new QLabel(this);
  found_->setFont(small_font());
  auto* previous = button(this, {}, tr("The result before (Shift+Enter)"));
  previous->setArrowType(Qt::UpArrow);
  auto* next = button(this, {}, tr("The next result (Enter)"));
  next->setArrowType(Qt::DownArrow);
  auto* peak = button(this, tr("Peak"), tr("Show the step of the peak (P)"));
  auto* all = button(this, tr("Fit"), tr("Show the whole run (F)"));

  auto* bar = new QHBoxLayout;
  bar->setSpacing(kGap);
  auto* label = new QLabel(tr("Stacked by"), this);
  label->setBuddy(by_);
  bar->addWidget(label);
  bar->addWidget(by_);
  auto* axis_label = new QLabel(tr("Axis"), this);
  axis_label->setBuddy(axis_);
  bar->addWidget(axis_label);
  bar->addWidget(axis_);
  bar->addSpacing(kGap);
  bar->addWidget(search_, 1);
  bar->addWidget(found_);
  bar->addWidget(previous);
  bar->addWidget(next);
  bar->addSpacing(kGap);
  bar->addWidget(peak);
  bar->addWidget(all);

  auto* scroll = new QScrollArea(this);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFocusPolicy(Qt::NoFocus);
  scroll->setWidget(view_);
  auto* inspector = new Inspector(session, this);
  splitter_ = new QSplitter(Qt::Horizontal, this);
  splitter_->addWidget(scroll);
  splitter_->addWidget(inspector);
  splitter_->setStretchFactor(0, 1);
  splitter_->setStretchFactor(1, 0);
  splitter_->setSizes({1000, 330});
  hint_ = new QLabel(this);
  hint_->setFont(small_font());

  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kMargin, kGap, kMargin, kGap / 2);
  column->setSpacing(kGap);
  column->addLayout(bar);
  column->addWidget(new Legend(session, this));
  column->addWidget(splitter_, 1);
  column->addWidget(hint_);

  connect(by_, &QComboBox::activated, this, [this] {
    ViewState wanted = session_.view();
    wanted.by = static_cast<peak::By>(by_->currentData().toInt());
    session_.look(wanted);
  });
  connect(axis_, &QComboBox::activated, this, [this] {
    ViewState wanted = session_.view();
    wanted.axis = static_cast<picture::AxisKind>(axis_->currentData().toInt());
    session_.look(wanted);
  });
  connect(search_, &QLineEdit::textEdited, this, [this](const QString& text) {
    ViewState wanted = session_.view();
    wanted.filter = text;
    session_.look(wanted, false);
  });
  search_->installEventFilter(this);
  connect(next, &QToolButton::clicked, this, [this] { go_to_result(1); });
  connect(previous, &QToolButton::clicked, this, [this] { go_to_result(-1); });
  connect(peak, &QToolButton::clicked, view_, &TimelineView::show_peak);
  connect(all, &QToolButton::clicked, view_, &TimelineView::show_all);
  connect(view_, &TimelineView::search, this, &TimelinePage::find);
  connect(view_, &TimelineView::hintChanged, this, [this] {
    const QString words = view_->hint();
    hint_->setText(words.isEmpty()
                       ? tr("Wheel zooms, drag pans, Shift and drag chooses a range. W A S D, P peak, F fit, "
                            "[ and ] steps, / search, F1 all keys")
                       : words);
  });
  connect(inspector, &Inspector::wanted, view_, &TimelineView::show_time);
  connect(&session, &Session::opened, this, &TimelinePage::follow);
  connect(&session, &Session::viewChanged, this, &TimelinePage::follow);
  connect(&session, &Session::made, this, &TimelinePage::follow);
  connect(&session, &Session::foundChanged, this, &TimelinePage::tell_found);
  Q_EMIT view_->hintChanged();
  if (session.document() != nullptr) follow();
}

bool TimelinePage::eventFilter(QObject* object, QEvent* event) {
  if (object == search_ && event->type() == QEvent::KeyPress) {
    auto* key = static_cast<QKeyEvent*>(event);
    if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
      go_to_result((key->modifiers() & Qt::ShiftModifier) != 0 ? -1 : 1);
      return true;
    }
    if (key->key() == Qt::Key_Escape) {
      ViewState wanted = session_.view();
      wanted.filter.clear();
      session_.look(wanted, false);
      view_->setFocus();
      return true;
    }
  }
  return Page::eventFilter(object, event);
}

void TimelinePage::find() {
  search_->setFocus();
  search_->selectAll();
}

QByteArray TimelinePage::save_state() const { return splitter_->saveState(); }
void TimelinePage::restore_state(const QByteArray& state) { splitter_->restoreState(state); }

void TimelinePage::follow() {
  if (session_.document() == nullptr) return;
  by_->setEnabled(session_.has(Part::curves));
  by_->setCurrentIndex(by_->findData(static_cast<int>(session_.view().by)));
  follow_axis();
  if (search_->text() != session_.view().filter) search_->setText(session_.view().filter);
  tell_found();
}

// A run without pauses has no axis without them.
void TimelinePage::follow_axis() {
  using enum picture::AxisKind;
  const bool has_pauses = session_.subject().has_pauses();
  const picture::AxisKind shown = session_.view().axis == without_pauses && !has_pauses ? time : session_.view().axis;
  const int row = axis_->findData(static_cast<int>(without_pauses));
  qobject_cast<QStandardItemModel*>(axis_->model())->item(row)->setEnabled(has_pauses);
  axis_->setCurrentIndex(axis_->findData(static_cast<int>(shown)));
}

void TimelinePage::tell_found() {
  const SearchResult* found = session_.found().get();
  QString words;
  if (found != nullptr) {
    words = found->allocations == 0
                ? tr("nothing found")
                : tr("%1, at most %2 at once")
                      .arg(QString::fromStdString(text::plural(found->allocations, "allocation", "allocations")),
                           bytes_words(found->curve.most()));
  } else if (!session_.view().filter.trimmed().isEmpty()) {
    words = tr("searching …");
  }
  found_->setText(words);
}

void TimelinePage::go_to_result(int by) {
  const SearchResult* found = session_.found().get();
  if (found == nullptr || found->biggest.empty()) return;
  const auto& list = found->biggest;
  const AllocationId at = session_.view().allocation;
  const auto here = std::ranges::lower_bound(list, at);
  const auto count = static_cast<int64_t>(list.size());
  int64_t place = here - list.begin();
  if (by < 0 || (here != list.end() && *here == at)) place += by;
  view_->show_allocation(list[static_cast<size_t>((place + count) % count)]);
}

}  // namespace tapelens::gui
