#include "gui/compare/compare_page.h"

#include <QComboBox>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>
#include <array>

#include "analyzer/peak/frame_names.h"
#include "analyzer/peak/groups.h"
#include "analyzer/text/format.h"
#include "analyzer/text/names.h"
#include "gui/compare/steps_curve.h"
#include "gui/models/facts.h"
#include "gui/models/visible_text.h"
#include "gui/widgets/context_menu.h"
#include "gui/widgets/icicle.h"
#include "gui/widgets/reading_pane.h"
#include "gui/widgets/table.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

constexpr int kPeaks = -1;  // value for "each one's peak" in the choice of a step

QString amount(Bytes bytes) { return visible(text::bytes_text(bytes)); }
QString file_name(const Document& document) { return document.facts().path.section('/', -1); }

// "train.py" of "python train.py --lr 1": the first word that is a program's file, else the first word.
QString program_of(const QString& command) {
  const QStringList words = command.split(' ', Qt::SkipEmptyParts);
  for (const QString& word : words) {
    if (word.endsWith(".py")) return word.section('/', -1);
  }
  return words.isEmpty() ? QString() : words.first().section('/', -1);
}

// Draws increases in the color of the peak and decreases in the color of savings. Words and signs show the same.
class ChangeDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    const auto change = static_cast<Change>(index.data(CompareTable::change_role).toInt());
    if (change == Change::same) return;
    const bool is_more = change == Change::is_new || change == Change::increased;
    for (const auto role : {QPalette::Text, QPalette::HighlightedText}) {
      option->palette.setColor(role, is_more ? theme().peak : theme().what_if);
    }
  }
};

QLabel* faint_label() {
  auto* label = new QLabel;
  label->setWordWrap(true);
  label->setForegroundRole(QPalette::PlaceholderText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

// The path of the recording among dragged files; empty without one.
QString recording_of(const QMimeData& data) {
  const QList<QUrl> urls = data.urls();
  return urls.size() == 1 && urls.first().isLocalFile() ? urls.first().toLocalFile() : QString();
}

}  // namespace

Page* make_compare_page(Session& session) { return new ComparePage(session); }

ComparePage::ComparePage(Session& session, QWidget* parent)
    : Page(parent),
      session_(session),
      other_(session),
      filter_(model_),
      states_(new QStackedWidget),
      reading_(new ReadingPane(tr("Compare &with\u2026"))) {
  setAcceptDrops(true);
  states_->addWidget(reading_);
  states_->addWidget(make_content());
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  all->addWidget(states_);
  connect(&other_, &Other::changed, this, &ComparePage::show_recordings);
  connect(&other_, &Other::compared, this, &ComparePage::show_comparison);
  connect(&other_, &Other::progressed, this, [this](const QString& what, double share) {
    reading_->show_message(what);
    reading_->show_progress(share);
  });
  connect(&session_, &Session::viewChanged, this, [this](const ViewState& before) {
    if (before.filter != session_.view().filter) show_filter();
  });
  connect(reading_, &ReadingPane::asked, this, &ComparePage::ask);
  connect(reading_, &ReadingPane::cancelled, this, [this] { other_.cancel(); });
  show_recordings();
}

QWidget* ComparePage::make_content() {
  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kGap);
  auto* head = new QHBoxLayout;
  auto* words = new QVBoxLayout;
  words->setSpacing(2);
  headline_ = new QLabel;
  headline_->setFont(title_font());
  headline_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  remark_ = faint_label();
  words->addWidget(headline_);
  words->addWidget(remark_);
  head->addLayout(words, 1);
  ask_again_ = new QPushButton(tr("Compare &with\u2026"));
  connect(ask_again_, &QPushButton::clicked, this, &ComparePage::ask);
  head->addWidget(ask_again_, 0, Qt::AlignTop);
  column->addLayout(head);
  column->addWidget(make_pictures(), 2);
  column->addWidget(make_bar());

  view_ = new QTableView;
  set_up_table(*view_, filter_, tr("Differences"), fontMetrics().height() + kGap);
  view_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  view_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  view_->setTextElideMode(Qt::ElideMiddle);
  view_->sortByColumn(-1, Qt::AscendingOrder);
  // The group is the last column: in a wide window, a first column would be far from its numbers.
  view_->horizontalHeader()->moveSection(CompareTable::group, CompareTable::kColumns - 1);
  for (const int at : {CompareTable::difference, CompareTable::change}) {
    view_->setItemDelegateForColumn(at, new ChangeDelegate(view_));
  }
  const int letter = fontMetrics().averageCharWidth();
  for (const int at : {CompareTable::difference, CompareTable::change, CompareTable::a, CompareTable::b}) {
    view_->setColumnWidth(at, 16 * letter);
  }
  view_->setColumnWidth(CompareTable::allocations, 16 * letter);
  add_context_menu(*view_, &session_, [this](const QModelIndex& row) {
    return target_of_group(model_.at(filter_.mapToSource(row).row()).name,
                           row.siblingAtColumn(CompareTable::group).data().toString());
  });
  auto* nothing = faint_label();
  nothing->setText(tr("No group matches the filter."));
  nothing->setAlignment(Qt::AlignCenter);
  lists_ = new QStackedWidget;
  lists_->addWidget(view_);
  lists_->addWidget(nothing);
  column->addWidget(lists_, 3);
  sum_ = faint_label();
  column->addWidget(sum_);
  return content;
}

QWidget* ComparePage::make_pictures() {
  auto* both = new QSplitter;
  both->setChildrenCollapsible(false);
  curve_ = new StepsCurve(session_, other_);
  connect(curve_, &StepsCurve::stepClicked, this, [this](uint32_t step) {
    step_->setCurrentIndex(step_->findData(static_cast<int>(step)));
    choose();
  });
  auto* modules = new QWidget;
  auto* column = new QVBoxLayout(modules);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(2);
  icicle_ = new IcicleView;
  icicle_->setAccessibleName(tr("Modules of both at their peaks, colored by growth"));
  legend_ = faint_label();
  column->addWidget(icicle_, 1);
  column->addWidget(legend_);
  both->addWidget(curve_);
  both->addWidget(modules);
  both->setStretchFactor(0, 2);
  both->setStretchFactor(1, 3);
  add_context_menu(*icicle_, session_, [this](uint32_t node) {
    ContextTarget target;
    const MomentComparison* comparison = other_.comparison();
    if (comparison == nullptr || node == GroupTree::kRoot) return target;
    const compare::ModuleTree& tree = comparison->modules.tree;
    if (tree.node(node).is_module)
      target.modules = {visible(tree.path(node))};
    else
      target.group = visible(tree.node(node).name);
    return target;
  });
  connect(icicle_, &IcicleView::selected, this, [this] {
    selects_modules_ = true;
    by_->setCurrentIndex(by_->findData(static_cast<int>(peak::By::module)));
    choose();
    select_modules();
  });
  return both;
}

QWidget* ComparePage::make_bar() {
  auto* bar = new QWidget;
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(kGap);
  const auto label = [&](const QString& text, QWidget* buddy) {
    auto* made = new QLabel(text);
    made->setBuddy(buddy);
    row->addWidget(made);
    row->addWidget(buddy);
  };
  step_ = new QComboBox;
  step_->setAccessibleName(tr("What is compared"));
  label(tr("&Moment"), step_);
  by_ = new QComboBox;
  by_->setAccessibleName(tr("The key that groups the bytes"));
  for (const peak::By by :
       {peak::By::field, peak::By::node, peak::By::module, peak::By::source, peak::By::op, peak::By::category}) {
    by_->addItem(peak::by_name(by), static_cast<int>(by));
  }
  label(tr("&By"), by_);
  filter_edit_ = new QLineEdit;
  filter_edit_->setPlaceholderText(tr("Filter groups"));
  filter_edit_->setAccessibleName(tr("Filter groups"));
  filter_edit_->setClearButtonEnabled(true);
  row->addWidget(filter_edit_, 1);
  for (QComboBox* box : {step_, by_}) connect(box, &QComboBox::activated, this, &ComparePage::choose);
  connect(filter_edit_, &QLineEdit::textEdited, this, [this](const QString& text) {
    ViewState next = session_.view();
    next.filter = text;
    session_.look(next, false);
  });
  return bar;
}

ContextTarget ComparePage::target_of_group(const std::string& name, const QString& shown) const {
  ContextTarget target;
  switch (other_.by()) {
    case peak::By::module:
      if (text::is_path(name)) target.modules = {visible(name)};
      break;
    case peak::By::op:
      target.op = visible(name);
      break;
    case peak::By::source: {
      // The first line of that name, of this recording.
      const model::Text& text = session_.document()->text();
      for (const model::FrameId frame : text.frame_line.ids()) {
        if (peak::frame_text(text, frame) != name) continue;
        target.line = peak::frame_of(text, frame);
        break;
      }
      target.group = shown;
      break;
    }
    default:
      target.group = shown;
  }
  return target;
}

void ComparePage::ask() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Compare with"),
                                                    QFileInfo(session_.document()->facts().path).absolutePath(),
                                                    tr("Recordings (*.tapelens);;All files (*)"));
  if (!path.isEmpty()) open_other(path);
}

void ComparePage::open_other(const QString& path) { other_.open(path); }

void ComparePage::choose() {
  const int step = step_->currentData().toInt();
  other_.compare(step == kPeaks ? std::nullopt : std::optional(static_cast<uint32_t>(step)),
                 static_cast<peak::By>(by_->currentData().toInt()));
}

void ComparePage::show_recordings() {
  const bool is_open = session_.document() != nullptr, has_both = is_open && other_.document() != nullptr;
  const bool is_opening = other_.is_opening();
  states_->setCurrentIndex(has_both && !is_opening ? 1 : 0);
  QString message;
  if (is_opening) {
    message = tr("Opening");
  } else if (is_open) {
    message = tr("Compare %1 with another recording: groups that are new, increased, decreased or removed.\nDrop it "
                 "here, or choose it.")
                  .arg(file_name(*session_.document()));
  }
  reading_->show_state(message, other_.problem(), is_opening);
  reading_->set_askable(is_open);
  if (!has_both) return;
  const Subject &a = session_.subject(), &b = other_.subject();
  step_->clear();
  step_->addItem(tr("peak of each"), kPeaks);
  const size_t common = std::min(a.of.steps.size(), b.of.steps.size());
  for (size_t step = 0; step < common; ++step) step_->addItem(tr("step %1").arg(step), static_cast<int>(step));
  step_->setCurrentIndex(step_->findData(other_.step() ? static_cast<int>(*other_.step()) : kPeaks));
  by_->setCurrentIndex(by_->findData(static_cast<int>(other_.by())));
  const auto steps = [](const Subject& of) {
    const auto& all = of.of.steps;
    const bool has_more = all.size() > 1 && all.back().when.end == model::kNever;  // the part after the last step
    return visible(text::plural(all.size() - (has_more ? 1 : 0), "step", "steps"));
  };
  QString problem = other_.problem().isEmpty() ? QString() : other_.problem() + '\n';
  const QString &ran_a = session_.document()->facts().command, &ran_b = other_.document()->facts().command;
  if (program_of(ran_a) != program_of(ran_b))
    problem += tr("Different programs (%1, %2): groups of one name need not be the same thing.\n")
                   .arg(program_of(ran_a), program_of(ran_b));
  remark_->setText(problem + tr("A is %1 (%2, %3), B is %4 (%5, %6)")
                                 .arg(file_name(*session_.document()), a.name, steps(a), file_name(*other_.document()),
                                      b.name, steps(b)));
  remark_->setToolTip("A: " + session_.document()->facts().path + "\nB: " + other_.document()->facts().path);
  show_filter();
}

void ComparePage::show_comparison() {
  const MomentComparison* comparison = other_.comparison();
  model_.show(comparison == nullptr ? std::vector<ComparedGroup>() : comparison->groups);
  show_filter();
  if (comparison == nullptr) {
    headline_->setText(tr("Working out what changed"));
    sum_->clear();
    return;
  }
  icicle_->show_tree(std::make_shared<const GroupTree>(comparison->modules.tree), tr("Modules"));
  show_legend();
  select_modules();
  const Bytes a = comparison->a.bytes, b = comparison->b.bytes;
  const QString which = other_.step() ? tr("In step %1 B's peak").arg(*other_.step()) : tr("B's peak");
  if (a == b) {
    headline_->setText(tr("%1 is the same: %2").arg(which, amount(a)));
  } else {
    headline_->setText(
        tr("%1 is %2 %3: %4 instead of %5")
            .arg(which, amount(a < b ? b - a : a - b), a < b ? tr("higher") : tr("lower"), amount(b), amount(a)));
  }
  sum_->setText(tr("In all %1 in A and %2 in B, %3. A's peak is in step %4, B's in step %5.")
                    .arg(amount(a), amount(b), signed_bytes(b - a))
                    .arg(comparison->a.step)
                    .arg(comparison->b.step));
}

// The classes of growth in the picture, each with the bytes of its holders.
void ComparePage::show_legend() {
  const MomentComparison* comparison = other_.comparison();
  if (comparison == nullptr) return;
  const compare::ModuleTree& tree = comparison->modules.tree;
  std::array<Bytes, compare::kGrowths> change{};
  std::array<bool, compare::kGrowths> is_there{};
  for (uint32_t id = 1; id < tree.size(); ++id) {
    const auto growth = static_cast<size_t>(tree.node(id).growth());
    is_there[growth] = true;
    if (tree.node(id).children.empty()) change[growth] += tree.node(id).difference();
  }
  QStringList entries;
  for (size_t i = 0; i < compare::kGrowths; ++i) {
    if (!is_there[i]) continue;
    const auto growth = static_cast<compare::Growth>(i);
    entries +=
        QStringLiteral("<span style=\"color: %1\">\u25a0</span>&nbsp;%2")
            .arg(theme().growth(growth).name(), QString::fromLatin1(compare::label(growth)).replace(' ', "&nbsp;"));
    if (change[i] != Bytes{}) entries.back() += "&nbsp;" + signed_bytes(change[i]).replace(' ', "&nbsp;");
  }
  legend_->setText(entries.join(QStringLiteral(" &nbsp; ")));
}

// Selects the rows of the node that was clicked, once they are there.
void ComparePage::select_modules() {
  const MomentComparison* comparison = other_.comparison();
  if (!selects_modules_ || comparison == nullptr || other_.by() != peak::By::module) return;
  selects_modules_ = false;
  const std::set<std::string> names = comparison->modules.within(icicle_->current());
  QItemSelection rows;
  QModelIndex first;
  for (int row = 0; row < filter_.rowCount(); ++row) {
    const QModelIndex index = filter_.index(row, 0);
    if (!names.contains(model_.at(filter_.mapToSource(index).row()).name)) continue;
    rows.select(index, filter_.index(row, CompareTable::kColumns - 1));
    if (!first.isValid()) first = index;
  }
  view_->selectionModel()->select(rows, QItemSelectionModel::ClearAndSelect);
  if (first.isValid()) view_->scrollTo(first);
}

void ComparePage::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) show_legend();
  Page::changeEvent(event);
}

void ComparePage::show_filter() {
  if (session_.document() == nullptr) return;
  const QString& filter = session_.view().filter;
  if (filter_edit_->text() != filter) filter_edit_->setText(filter);
  filter_.set_filter(filter);
  lists_->setCurrentIndex(filter_.rowCount() > 0 || model_.rowCount() == 0 ? 0 : 1);
}

void ComparePage::find() {
  filter_edit_->setFocus(Qt::ShortcutFocusReason);
  filter_edit_->selectAll();
}

void ComparePage::dragEnterEvent(QDragEnterEvent* event) {
  if (session_.document() != nullptr && !recording_of(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void ComparePage::dropEvent(QDropEvent* event) {
  open_other(recording_of(*event->mimeData()));
  event->acceptProposedAction();
}

}  // namespace tapelens::gui
