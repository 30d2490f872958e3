#include "gui/app/main_window.h"

#include <QApplication>
#include <QButtonGroup>
#include <QCloseEvent>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMimeData>
#include <QProgressBar>
#include <QSettings>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include "analyzer/report/findings_text.h"
#include "gui/app/start_page.h"
#include "gui/compare/compare_page.h"
#include "gui/live/live_page.h"
#include "gui/models/facts.h"
#include "gui/models/visible_text.h"

namespace tapelens::gui {

namespace {

constexpr qsizetype kMostRecent = 8;
const char* const kNameFilter = "Recordings (*.tapelens *.spool);;All files (*)";

QStringList local_files(const QMimeData* data) {
  QStringList files;
  for (const QUrl& url : data->urls()) {
    if (url.isLocalFile()) files << url.toLocalFile();
  }
  return files;
}

}  // namespace

MainWindow::MainWindow(Scheme scheme, QWidget* parent) : QMainWindow(parent), scheme_(scheme) {
  setWindowTitle("Tapelens");
  setAcceptDrops(true);
  make_pages();
  make_menus();
  connect(&session_, &Session::opened, this, [this] {
    remember(session_.document()->facts().path);
    banner_->hide();
    live_->stop();
    outer_->setCurrentWidget(inner_);
    page(session_.view().page).take_focus();
    follow();
  });
  connect(&session_, &Session::closed, this, [this] {
    if (!live_->is_following()) outer_->setCurrentWidget(start_);
    follow();
  });
  connect(&session_, &Session::failed, this, &MainWindow::say);
  connect(&session_, &Session::progressed, this, &MainWindow::show_progress);
  connect(&session_, &Session::viewChanged, this, &MainWindow::follow);
  connect(&session_, &Session::tickedChanged, this, &MainWindow::show_headline);
  connect(&session_, &Session::whatIfChanged, this, &MainWindow::show_headline);
  connect(&session_, &Session::made, this, [this] {
    card_->setEnabled(session_.has(Part::advice));
    show_headline();
  });
  restore_state();
  show_recent();
  follow();
}

MainWindow::~MainWindow() = default;

void MainWindow::make_pages() {
  pages_ = gui::make_pages(session_);
  inner_ = new QStackedWidget;
  for (Page* page : pages_) inner_->addWidget(page);

  start_ = new StartPage;
  connect(start_, &StartPage::open_wanted, this, &MainWindow::ask_file);
  connect(start_, &StartPage::file_wanted, this, &MainWindow::open);
  outer_ = new QStackedWidget;
  outer_->addWidget(start_);
  outer_->addWidget(inner_);
  live_ = new LivePage;
  outer_->addWidget(live_);
  connect(live_, &LivePage::sealed, this, [this](const QString& path) { session_.open(path); });
  connect(live_, &LivePage::failed, this, &MainWindow::say);

  banner_ = new QWidget;
  banner_->setAutoFillBackground(true);
  problem_ = new QLabel;
  problem_->setWordWrap(true);
  problem_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  auto* dismiss = new QToolButton;
  dismiss->setText(tr("Dismiss"));
  connect(dismiss, &QToolButton::clicked, banner_, &QWidget::hide);
  auto* banner_row = new QHBoxLayout(banner_);
  banner_row->setContentsMargins(kMargin, kGap, kMargin, kGap);
  banner_row->addWidget(problem_, 1);
  banner_row->addWidget(dismiss);
  banner_->hide();

  working_ = new QWidget;
  doing_ = new QLabel;
  doing_->setFont(small_font());
  progress_ = new QProgressBar;
  progress_->setRange(0, 1000);
  progress_->setTextVisible(false);
  progress_->setFixedHeight(8);
  progress_->setMaximumWidth(240);
  cancel_ = new QToolButton;
  cancel_->setText(tr("Cancel"));
  connect(cancel_, &QToolButton::clicked, &session_, &Session::cancel);
  auto* working_row = new QHBoxLayout(working_);
  working_row->setContentsMargins(kMargin, 2, kMargin, 4);
  working_row->addWidget(progress_);
  working_row->addWidget(doing_, 1);
  working_row->addWidget(cancel_);
  working_->hide();

  auto* central = new QWidget(this);
  auto* column = new QVBoxLayout(central);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(make_head());
  column->addWidget(banner_);
  column->addWidget(outer_, 1);
  column->addWidget(working_);
  setCentralWidget(central);
}

QWidget* MainWindow::make_head() {
  auto* head = new QWidget;
  auto* row = new QHBoxLayout(head);
  row->setContentsMargins(kMargin, kGap, kMargin, 0);
  row->setSpacing(4);
  const auto arrow = [&](Qt::ArrowType type, const QString& tip, void (Session::*go)()) {
    auto* button = new QToolButton;
    button->setArrowType(type);
    button->setToolTip(tip);
    button->setAccessibleName(tip);
    connect(button, &QToolButton::clicked, &session_, go);
    row->addWidget(button);
    return button;
  };
  back_ = arrow(Qt::LeftArrow, tr("Back (Alt+Left)"), &Session::back);
  forward_ = arrow(Qt::RightArrow, tr("Forward (Alt+Right)"), &Session::forward);
  row->addSpacing(kGap);
  auto* group = new QButtonGroup(head);
  for (size_t i = 0; i < pages_.size(); ++i) {
    auto* tab = new QToolButton;
    tab->setText(pages_[i]->title());
    tab->setCheckable(true);
    tab->setToolTip(tr("%1 (Ctrl+%2)").arg(pages_[i]->title()).arg(i + 1));
    group->addButton(tab);
    connect(tab, &QToolButton::clicked, this, [this, i] { show_page(static_cast<PageId>(i)); });
    row->addWidget(tab);
    tabs_[i] = tab;
  }
  row->addSpacing(kGap);
  subject_ = new QComboBox;
  subject_->setAccessibleName(tr("Device"));
  subject_->setToolTip(tr("The device and process that is looked at"));
  connect(subject_, &QComboBox::activated, this, [this](int at) {
    ViewState wanted = session_.view();
    wanted.subject = static_cast<size_t>(at);
    wanted.allocation = {};
    wanted.at.reset();
    wanted.step = UINT32_MAX;
    session_.look(wanted);
  });
  row->addWidget(subject_);
  note_ = new QLabel;
  note_->hide();
  row->addWidget(note_);
  row->addStretch(1);
  headline_ = new QLabel;
  row->addWidget(headline_);
  return head;
}

void MainWindow::show_page(PageId page) {
  if (session_.document() == nullptr) return;
  ViewState next = session_.view();
  next.page = page;
  session_.look(next);
}

void MainWindow::follow() {
  const bool is_open = session_.document() != nullptr;
  const auto at = static_cast<size_t>(session_.view().page);
  if (is_open && inner_->currentWidget() != pages_[at]) {
    inner_->setCurrentWidget(pages_[at]);
    pages_[at]->take_focus();
  }
  for (size_t i = 0; i < tabs_.size(); ++i) {
    tabs_[i]->setEnabled(is_open);
    tabs_[i]->setChecked(is_open && i == at);
  }
  for (QAction* action : {export_, copy_, find_}) action->setEnabled(is_open);
  close_->setEnabled(is_open || live_->is_following());
  card_->setEnabled(session_.has(Part::advice));
  show_subjects();
  const bool can_back = session_.can_go_back(), can_forward = session_.can_go_forward();
  back_->setEnabled(can_back);
  back_action_->setEnabled(can_back);
  forward_->setEnabled(can_forward);
  forward_action_->setEnabled(can_forward);
  QString title = "Tapelens";
  if (is_open) title = QFileInfo(session_.document()->facts().path).fileName() + QString::fromUtf8(" – Tapelens");
  if (is_open && !session_.document()->facts().simulated.isEmpty()) title += tr(" (simulated GPU)");
  if (!is_open && live_->is_following()) title = tr("%1 (recording) – Tapelens").arg(live_->title());
  setWindowTitle(title);
  show_note();
  show_headline();
}

void MainWindow::show_subjects() {
  const bool is_open = session_.document() != nullptr;
  const size_t count = is_open ? session_.document()->subjects().size() : 0;
  subject_->setVisible(count > 1);
  if (count <= 1) return;
  const auto& subjects = session_.document()->subjects();
  if (subject_->count() != static_cast<int>(count) || subject_->itemText(0) != subjects[0]->name) {
    subject_->clear();
    for (const auto& subject : subjects) subject_->addItem(subject->name);
  }
  subject_->setCurrentIndex(static_cast<int>(session_.view().subject));
}

// Shows the notes that limit all shown values.
void MainWindow::show_note() {
  QStringList notes, sentences;
  if (session_.document() != nullptr) {
    const DocumentFacts& facts = session_.document()->facts();
    if (!facts.simulated.isEmpty()) notes << tr("simulated GPU");
    if (!facts.hidden.isEmpty()) notes << tr("CUDA memory is not recorded");
    sentences << facts.simulated << facts.hidden;
    sentences.removeAll({});
  }
  QPalette palette = this->palette();
  palette.setColor(QPalette::WindowText, theme().warning);
  note_->setPalette(palette);
  note_->setText(notes.join(", "));
  note_->setToolTip(plain_tip(sentences.join("\n")));
  note_->setAccessibleDescription(sentences.join(" "));
  note_->setVisible(!notes.isEmpty());
}

void MainWindow::show_headline() {
  if (session_.document() == nullptr) {
    headline_->clear();
    return;
  }
  const Subject& subject = session_.subject();
  QString text = tr("Peak %1").arg(bytes_words(subject.device.peak));
  if (session_.has(Part::advice)) {
    const size_t findings = subject.advised->advice.findings.size();
    const auto& what_if = session_.what_if();
    if (what_if) {
      text += tr(" → <b>%1 with %2 of %3</b>").arg(bytes_words(what_if->after)).arg(what_if->findings).arg(findings);
    } else if (findings > 0) {
      const Bytes after = subject.advised->advice.peak_after_all;
      const QString fixed = QString::fromStdString(report::fixed_text(subject.advised->advice));
      if (fixed.isEmpty()) {
        text += tr(", only alternatives found");
      } else {
        text += after < subject.device.peak ? tr(" → %1 with %2 fixed").arg(bytes_words(after), fixed)
                                            : tr(", no less with %1 fixed").arg(fixed);
      }
    } else {
      text += tr(", nothing found to fix");
    }
  }
  if (!session_.document()->facts().complete) {
    text += QString(" &nbsp;<span style='color:%1'>%2</span>").arg(theme().warning.name(), tr("data was lost"));
    QStringList lost;
    for (const run::Lost& loss : session_.document()->facts().lost) lost << visible(loss.what);
    headline_->setToolTip(plain_tip(lost.join("\n")));
  } else {
    headline_->setToolTip(plain_tip(session_.document()->facts().command));
  }
  headline_->setText(text);
}

void MainWindow::show_progress(const QString& what, double share) {
  working_->setVisible(share < 1);
  cancel_->setVisible(session_.is_opening());
  doing_->setText(what + QString::fromUtf8(" …"));
  progress_->setValue(static_cast<int>(share * 1000));
}

void MainWindow::say(const QString& sentence) {
  QPalette palette = this->palette();
  palette.setColor(QPalette::Window, theme().removed);
  banner_->setPalette(palette);
  problem_->setText(sentence);
  banner_->show();
}

void MainWindow::open(const QString& path) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  if (const auto target = live::target_at(absolute.toStdString())) {
    follow_run(*target);
  } else {
    session_.open(absolute);
  }
}

void MainWindow::follow_run(const live::LiveTarget& target) {
  session_.cancel();
  banner_->hide();
  live_->follow(target);
  session_.close();
  outer_->setCurrentWidget(live_);
  live_->setFocus();
  follow();
}

void MainWindow::close_all() {
  live_->stop();
  session_.close();
  outer_->setCurrentWidget(start_);
  follow();
}

void MainWindow::open_other(const QString& path) {
  static_cast<ComparePage&>(page(PageId::compare)).open_other(QFileInfo(path).absoluteFilePath());
}

// ---- files

void MainWindow::ask_file() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Open a recording"), {}, kNameFilter);
  if (!path.isEmpty()) open(path);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!local_files(event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QStringList files = local_files(event->mimeData());
  if (files.isEmpty()) return;
  event->acceptProposedAction();
  open(files.first());
}

void MainWindow::remember(const QString& path) {
  QSettings settings;
  QStringList recent = settings.value("recent").toStringList();
  recent.removeAll(path);
  recent.prepend(path);
  settings.setValue("recent", QStringList(recent.mid(0, kMostRecent)));
  show_recent();
}

void MainWindow::show_recent() {
  QStringList there;
  for (const QString& path : QSettings().value("recent").toStringList()) {
    if (QFileInfo::exists(path)) there << path;
  }
  recent_menu_->clear();
  for (const QString& path : there) {
    connect(recent_menu_->addAction(path), &QAction::triggered, this, [this, path] { open(path); });
  }
  recent_menu_->setEnabled(!there.isEmpty());
  start_->show_recent(there);
}

// ---- the window itself

void MainWindow::keep_state() {
  QSettings settings;
  settings.setValue("window", saveGeometry());
  for (const Page* page : pages_) settings.setValue("page/" + page->title(), page->save_state());
}

void MainWindow::restore_state() {
  const QSettings settings;
  if (!restoreGeometry(settings.value("window").toByteArray())) resize(1360, 820);
  for (Page* page : pages_) page->restore_state(settings.value("page/" + page->title()).toByteArray());
}

void MainWindow::closeEvent(QCloseEvent* event) {
  keep_state();
  QMainWindow::closeEvent(event);
}

void MainWindow::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange && headline_ != nullptr) {
    show_note();
    show_headline();
  }
  QMainWindow::changeEvent(event);
}

Scheme MainWindow::kept_scheme() {
  const int kept = QSettings().value("scheme").toInt();
  return kept == static_cast<int>(Scheme::light) || kept == static_cast<int>(Scheme::dark) ? static_cast<Scheme>(kept)
                                                                                           : Scheme::system;
}

void MainWindow::choose_scheme(Scheme scheme) {
  scheme_ = scheme;
  QSettings().setValue("scheme", static_cast<int>(scheme));
  set_scheme(scheme);
  show_recent();
}

}  // namespace tapelens::gui
