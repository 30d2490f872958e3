#include "gui/live/live_page.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include "analyzer/text/format.h"
#include "gui/live/live_curve.h"
#include "gui/live/live_tables.h"
#include "gui/models/facts.h"
#include "gui/models/visible_text.h"
#include "gui/widgets/category_bar.h"
#include "gui/widgets/context_menu.h"
#include "gui/widgets/table.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

namespace {

QString counted(uint64_t count, const char* one, const char* several) {
  return visible(text::count_text(count) + " " + (count == 1 ? one : several));
}

QTableView* table_of(QAbstractItemModel& rows, const QString& name, const std::vector<int>& letters, QWidget* parent) {
  auto* view = new QTableView(parent);
  set_up_table(*view, rows, name, view->fontMetrics().height() + 6);
  view->setSortingEnabled(false);  // the rows have an order
  view->horizontalHeader()->setSectionsClickable(false);
  for (size_t column = 0; column < letters.size(); ++column)
    view->setColumnWidth(static_cast<int>(column), letters[column] * view->fontMetrics().averageCharWidth());
  return view;
}

}  // namespace

LivePage::LivePage(QWidget* parent)
    : QWidget(parent),
      headline_(new QLabel(this)),
      amounts_(new QLabel(this)),
      counts_(new QLabel(this)),
      ending_(new QLabel(this)),
      process_(new QComboBox(this)),
      device_(new QComboBox(this)),
      categories_(new CategoryBar(this)),
      curve_(new LiveCurve(this)),
      holders_(new LiveHolders(this)),
      steps_(new LiveSteps(this)),
      holders_view_(table_of(*holders_, tr("The largest holders"), {13, 27, 32, 32, 30}, this)),
      steps_view_(table_of(*steps_, tr("The last steps"), {8, 13, 13, 13}, this)) {
  lay_out();
  for (QTableView* view : {holders_view_, steps_view_}) add_context_menu(*view);
  for (QComboBox* box : {process_, device_}) connect(box, &QComboBox::activated, this, &LivePage::choose);
}

void LivePage::lay_out() {
  headline_->setFont(title_font());
  counts_->setFont(small_font());
  counts_->setForegroundRole(QPalette::PlaceholderText);
  for (QLabel* label : {headline_, amounts_, counts_, ending_}) {
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(label == headline_ || label == ending_);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  }
  process_->setAccessibleName(tr("Process"));
  device_->setAccessibleName(tr("Device"));
  auto* head = new QHBoxLayout;
  head->setSpacing(kGap);
  head->addWidget(headline_, 1);
  head->addWidget(process_);
  head->addWidget(device_);
  auto* below = new QSplitter(Qt::Horizontal);
  below->addWidget(holders_view_);
  below->addWidget(steps_view_);
  below->setStretchFactor(0, 5);
  below->setStretchFactor(1, 2);
  auto* parts = new QSplitter(Qt::Vertical);
  parts->addWidget(curve_);
  parts->addWidget(below);
  for (int part = 0; part < 2; ++part) parts->setStretchFactor(part, 1);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  column->setSpacing(kGap);
  column->addLayout(head);
  column->addWidget(amounts_);
  column->addWidget(counts_);
  column->addWidget(ending_);
  column->addWidget(categories_);
  column->addWidget(parts, 1);
  setFocusProxy(holders_view_);
}

void LivePage::follow(live::LiveTarget target) {
  stop();
  follower_ = std::make_unique<LiveFollower>(std::move(target));
  connect(follower_.get(), &LiveFollower::changed, this, &LivePage::show_figures);
  connect(follower_.get(), &LiveFollower::sealed, this, &LivePage::sealed);
  connect(follower_.get(), &LiveFollower::failed, this, &LivePage::failed);
  show_figures();
}

void LivePage::stop() {
  follower_.reset();
  curve_->show_figures(nullptr);
  holders_->show_figures(nullptr);
  steps_->show_figures(nullptr);
}

QString LivePage::title() const { return visible(follower_->target().title); }

void LivePage::choose() {
  if (!follower_) return;
  const bool is_other_process =
      figures() != nullptr && process_->currentIndex() != static_cast<int>(figures()->process);
  std::optional<size_t> device;
  if (!is_other_process && device_->currentIndex() >= 0) device = static_cast<size_t>(device_->currentIndex());
  follower_->choose(static_cast<size_t>(std::max(0, process_->currentIndex())), device);
}

void LivePage::show_choices(const LiveFigures& figures) {
  const auto fill = [](QComboBox& box, const QStringList& names, size_t current) {
    box.setVisible(names.size() > 1);
    // An open list does not change until the user chooses.
    if (box.count() != names.size() || box.itemText(0) != names.value(0)) {
      box.clear();
      box.addItems(names);
    }
    if (box.currentIndex() != static_cast<int>(current)) box.setCurrentIndex(static_cast<int>(current));
  };
  fill(*process_, figures.processes, figures.process);
  fill(*device_, figures.devices, figures.device);
}

QString LivePage::headline(const LiveFigures& figures) const {
  if (figures.processes.isEmpty()) return tr("%1: waiting for a process that runs LibTorch").arg(title());
  QString text = title() + ": " + figures.state;
  if (figures.steps > 0) text += tr(", step %1").arg(figures.steps);
  if (!figures.phase.isEmpty()) text += " " + figures.phase;
  return text + ", " + time_words(figures.now);
}

QString LivePage::amounts(const LiveFigures& figures) {
  if (figures.devices.isEmpty()) return tr("Nothing is allocated yet");
  QString text = tr("%1: now %2, peak %3 at %4")
                     .arg(figures.devices[static_cast<qsizetype>(figures.device)], bytes_words(figures.live),
                          bytes_words(figures.peak), time_words(figures.peak_time));
  if (figures.steps > 0) text += tr(" in step %1").arg(figures.peak_step);
  if (figures.growth) text += ", " + QString::fromStdString(live::growth_text(*figures.growth));
  return text;
}

QString LivePage::counts(const LiveFigures& figures) {
  QStringList parts{counted(figures.events, "event", "events")};
  if (figures.events_per_second)
    parts << tr("%1 a second").arg(visible(text::count_text(static_cast<uint64_t>(*figures.events_per_second))));
  if (figures.lost_events > 0) parts << counted(figures.lost_events, "lost event", "lost events");
  if (figures.failed_requests > 0)
    parts << counted(figures.failed_requests, "request failed for lack of memory",
                     "requests failed for lack of memory");
  return parts.join(", ");
}

// Empty while the program runs.
QString LivePage::ending(const LiveFigures& figures) const {
  if (!figures.is_over && !figures.is_gone) return {};
  const QString file = visible(follower_->target().recording());
  if (figures.is_sealed) return tr("The program has ended. The window opens %1.").arg(file);
  if (figures.processes.isEmpty()) return tr("The program has ended, and no process of it ran LibTorch.");
  if (figures.is_gone) return tr("The program has ended. Open its recording with Ctrl+O; it is not %1.").arg(file);
  if (file.isEmpty()) return tr("The program has ended. Open the recording that tapelens record writes with Ctrl+O.");
  return tr("The program has ended. As soon as tapelens record has written %1, the window opens it. If tapelens record "
            "was killed: tapelens seal %2")
      .arg(file,
           visible(follower_->target().folder.empty() ? file.toStdString() + ".spool" : follower_->target().folder));
}

void LivePage::show_figures() {
  const std::shared_ptr<const LiveFigures> shown =
      follower_->figures() ? follower_->figures() : std::make_shared<const LiveFigures>();
  const LiveFigures& figures = *shown;
  headline_->setText(headline(figures));
  amounts_->setText(amounts(figures));
  counts_->setText(counts(figures));
  ending_->setText(ending(figures));
  ending_->setVisible(!ending_->text().isEmpty());
  show_choices(figures);
  std::vector<peak::Category> categories;
  for (const live::CategoryRow& row : figures.categories) {
    const auto bytes = static_cast<int64_t>(figures.is_recording ? row.live : row.at_peak);
    if (bytes > 0) categories.push_back({row.kind, Bytes{bytes}, 0});
  }
  categories_->show_categories(std::move(categories), figures.is_recording ? figures.live : figures.peak);
  curve_->show_figures(shown);
  holders_->show_figures(shown);
  steps_->show_figures(shown);
  Q_EMIT this->shown();
}

}  // namespace tapelens::gui
