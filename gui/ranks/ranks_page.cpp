#include "gui/ranks/ranks_page.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QStackedWidget>
#include <QStringList>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>

#include "analyzer/ranks/files.h"
#include "analyzer/ranks/renderings.h"
#include "analyzer/text/format.h"
#include "gui/models/visible_text.h"
#include "gui/ranks/envelope_view.h"
#include "gui/widgets/choice_bar.h"
#include "gui/widgets/context_menu.h"
#include "gui/widgets/reading_pane.h"
#include "gui/widgets/table.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

constexpr size_t kMostLines = 6;  // limit of the lines above the table, which has all of them
// In average characters.
constexpr int kNumberWidth = 15, kTitleWidth = 60;

QLabel* words_label() {
  auto* made = new QLabel;
  made->setTextFormat(Qt::PlainText);
  made->setWordWrap(true);
  made->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return made;
}

QString headline_of(const ranks::Job& job) {
  QString hosts;
  if (job.hosts.size() == 1) hosts = QStringLiteral(" on ") + visible(job.hosts.front());
  if (job.hosts.size() > 1) hosts = QStringLiteral(" on %1 hosts").arg(visible(text::count_text(job.hosts.size())));
  return QStringLiteral("%1%2, peak on %3: %4")
      .arg(visible(ranks::count_of_ranks(job)), hosts, visible(job.device_type), visible(ranks::peak_text(job)));
}

// Ranks that died, are missing or stand out, one a line.
QStringList odd_of(const ranks::Job& job) {
  QStringList lines;
  for (const auto& [rank, why] : job.ended_badly)
    lines << QStringLiteral("▲ ") + visible(ranks::name_on_host(rank) + " did not end well: " + why);
  if (const std::string missing = ranks::missing_text(job); !missing.empty())
    lines << QStringLiteral("▲ ") + visible(missing);
  if (job.larger_of_two) lines << visible(ranks::two_ranks_text(job));
  for (const ranks::Outlier& one : job.outliers) {
    QString line =
        QStringLiteral("△ ") + visible(ranks::name_on_host(job.ranks[one.rank]) + ": " + ranks::outlier_text(job, one));
    if (!one.reasons.empty()) line += QStringLiteral(" (") + visible(ranks::reason_text(one.reasons.back())) + ')';
    lines << line;
  }
  return lines;
}

// Marks rows of such ranks before their peak.
class OddDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    if (index.data(RanksTable::why_role).isNull()) return;
    for (const auto role : {QPalette::Text, QPalette::HighlightedText}) option->palette.setColor(role, theme().warning);
    if (index.column() == RanksTable::peak) option->text = QStringLiteral("▲ ") + option->text;
  }
};

}  // namespace

Page* make_ranks_page(Session& session) { return new RanksPage(session); }

RanksPage::RanksPage(Session& session, QWidget* parent)
    : Page(parent),
      session_(session),
      ranks_(QStringLiteral(TAPELENS_VERSION)),
      table_(new RanksTable(this)),
      findings_(new SharedFindings(this)),
      rows_(new QSortFilterProxyModel(this)),
      finding_rows_(new QSortFilterProxyModel(this)),
      states_(new QStackedWidget),
      reading_(new ReadingPane(QStringLiteral("Open folder of &recordings…"))) {
  states_->addWidget(reading_);
  states_->addWidget(make_content());
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  all->addWidget(states_);
  connect(&ranks_, &Ranks::changed, this, [this] { show_state(); });
  connect(&ranks_, &Ranks::progressed, reading_, &ReadingPane::show_progress);
  connect(reading_, &ReadingPane::asked, this, [this] { ask(); });
  connect(reading_, &ReadingPane::cancelled, this, [this] { ranks_.cancel(); });
  connect(view_, &QTableView::activated, this,
          [this](const QModelIndex& at) { session_.open(at.data(RanksTable::file_role).toString()); });
  connect(tabs_, &ChoiceBar::chosen, this, [this] { show_list(); });
  connect(filter_, &QLineEdit::textChanged, this, [this](const QString& text) {
    rows_->setFilterFixedString(text);
    finding_rows_->setFilterFixedString(text);
  });
  connect(&session_, &Session::opened, this, [this] {
    if (isVisible()) read_own_folder();
  });
  show_state();
}

QTableView* RanksPage::make_table(QSortFilterProxyModel& rows, const QString& name) {
  rows.setSortRole(Qt::EditRole);
  rows.setFilterKeyColumn(-1);
  rows.setFilterCaseSensitivity(Qt::CaseInsensitive);
  auto* view = new QTableView;
  set_up_table(*view, rows, name, fontMetrics().height() + kGap);
  return view;
}

QWidget* RanksPage::make_content() {
  headline_ = words_label();
  headline_->setFont(title_font());
  command_ = words_label();
  command_->setForegroundRole(QPalette::PlaceholderText);
  odd_ = words_label();
  remarks_ = words_label();
  remarks_->setForegroundRole(QPalette::PlaceholderText);
  ask_again_ = new QPushButton(QStringLiteral("A&nother folder…"));
  connect(ask_again_, &QPushButton::clicked, this, [this] { ask(); });
  envelope_ = new EnvelopeView;
  tabs_ = new ChoiceBar(QStringLiteral("What is listed"));
  tabs_->set_choices({QStringLiteral("Ranks"), QStringLiteral("Findings")});
  filter_ = new QLineEdit;
  filter_->setPlaceholderText(QStringLiteral("Filter: host, end, finding …"));
  filter_->setAccessibleName(QStringLiteral("Filter of ranks and findings"));
  filter_->setClearButtonEnabled(true);
  filter_->setMinimumWidth(fontMetrics().averageCharWidth() * 46);
  rows_->setSourceModel(table_);
  finding_rows_->setSourceModel(findings_);
  view_ = make_table(*rows_, QStringLiteral("Ranks"));
  add_context_menu(*view_);
  view_->sortByColumn(RanksTable::peak, Qt::DescendingOrder);
  view_->setItemDelegate(new OddDelegate(view_));
  view_->setToolTip(QStringLiteral("Enter opens the rank's recording"));
  findings_view_ = make_table(*finding_rows_, QStringLiteral("Findings"));
  add_context_menu(*findings_view_);
  findings_view_->sortByColumn(SharedFindings::median, Qt::DescendingOrder);
  lists_ = new QStackedWidget;
  lists_->addWidget(view_);
  lists_->addWidget(findings_view_);

  auto* words = new QVBoxLayout;
  words->setSpacing(2);
  words->addWidget(headline_);
  words->addWidget(command_);
  auto* head = new QHBoxLayout;
  head->addLayout(words, 1);
  head->addWidget(ask_again_, 0, Qt::AlignTop);
  auto* tools = new QHBoxLayout;
  tools->addWidget(tabs_, 1);
  tools->addWidget(filter_);
  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kGap);
  column->addLayout(head);
  column->addWidget(odd_);
  column->addWidget(envelope_);
  column->addLayout(tools);
  column->addWidget(lists_, 1);
  column->addWidget(remarks_);
  return content;
}

QAbstractItemModel* RanksPage::table() {
  if (!shown_) return nullptr;
  return lists_->currentIndex() == 0 ? rows_ : finding_rows_;
}

void RanksPage::find() {
  filter_->setFocus(Qt::ShortcutFocusReason);
  filter_->selectAll();
}

void RanksPage::take_focus() {
  if (shown_) {
    lists_->currentWidget()->setFocus();
  } else {
    setFocus();
  }
}

void RanksPage::ask() {
  const QString folder =
      QFileDialog::getExistingDirectory(this, QStringLiteral("Recordings of the ranks of a run"), ranks_.folder());
  if (folder.isEmpty()) return;
  was_read_ = true;
  ranks_.open(folder);
}

void RanksPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  read_own_folder();
}

void RanksPage::read_own_folder() {
  if (was_read_ || session_.document() == nullptr) return;
  const QString path = session_.document()->facts().path;
  if (!ranks::is_of_a_rank(path.toStdString())) return;
  was_read_ = true;
  ranks_.open(QFileInfo(path).absolutePath());
}

void RanksPage::show_state() {
  const bool is_reading = ranks_.is_reading();
  reading_->show_state(is_reading
                           ? QStringLiteral("Reading what the recordings of the ranks say …")
                           : QStringLiteral("The recordings of a run's ranks side by side: which stand out, and why. "
                                            "As tapelens ranks prints it."),
                       ranks_.problem(), is_reading);
  states_->setCurrentIndex(ranks_.job() && !is_reading && ranks_.problem().isEmpty() ? 1 : 0);
  if (shown_ != ranks_.job()) show_job();
}

void RanksPage::show_job() {
  shown_ = ranks_.job();
  table_->show(shown_);
  findings_->show(shown_);
  envelope_->show_job(shown_);
  if (!shown_) return;
  const ranks::Job& job = *shown_;
  headline_->setText(headline_of(job));
  command_->setText(
      visible(job.command) + QStringLiteral(", PyTorch ") + visible(job.torch_version) +
      (job.simulated_gpu.empty() ? QString() : QStringLiteral(", simulated ") + visible(job.simulated_gpu)));
  QStringList odd = odd_of(job);
  if (const auto more = static_cast<size_t>(odd.size()); more > kMostLines) {
    odd.resize(kMostLines);
    odd << QStringLiteral("and %1 more: marked in the table").arg(visible(text::count_text(more - kMostLines)));
  }
  odd_->setText(odd.join('\n'));
  odd_->setVisible(!odd.isEmpty());
  QStringList remarks;
  for (const ranks::RankFile& source : job.left_out)
    remarks << QStringLiteral("Left out: ") + visible(source.file) + QStringLiteral(": ") + visible(source.why);
  if (const auto count = static_cast<size_t>(remarks.size()); count > kMostLines) {
    remarks.resize(kMostLines);
    remarks << QStringLiteral("and %1 more files left out").arg(visible(text::count_text(count - kMostLines)));
  }
  for (const std::string& remark : ranks::remarks_of(job)) remarks << visible(remark);
  remarks_->setText(remarks.join('\n'));
  remarks_->setVisible(!remarks.isEmpty());
  tabs_->set_text(0, QStringLiteral("Ranks (%1)").arg(visible(text::count_text(job.ranks.size()))));
  tabs_->set_text(1, QStringLiteral("Findings (%1)").arg(visible(text::count_text(job.findings.size()))));
  const int letter = fontMetrics().averageCharWidth();
  for (int column = 0; column < table_->columnCount(); ++column) view_->setColumnWidth(column, kNumberWidth * letter);
  findings_view_->setColumnWidth(SharedFindings::title, kTitleWidth * letter);
  findings_view_->setColumnWidth(SharedFindings::on, kTitleWidth / 2 * letter);
}

void RanksPage::show_list() { lists_->setCurrentIndex(tabs_->current()); }

}  // namespace tapelens::gui
