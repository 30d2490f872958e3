// The window shows the same numbers as `tapelens report` on the same file.
#include <gtest/gtest.h>

#include <QFile>
#include <QXmlStreamReader>

#include "analyzer/report/advice_text.h"
#include "analyzer/text/format.h"
#include "gui/app/exports.h"
#include "gui/models/facts.h"
#include "gui/models/findings_tree.h"
#include "gui/timeline/timeline_page.h"
#include "plugins/builtin.h"
#include "tests/gui/app_window.h"

namespace tapelens::gui {
namespace {

class Totals : public testing::OnWindow, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    OnWindow::SetUp();
    const QString path = GetParam() ? recording_.path() : testing::synthetic_recording();
    open_all(path, testing::synthetic_recording(40'000));
    report_ = built(path, {});
    other_ = built(testing::synthetic_recording(40'000), {});
  }
  static report::Report built(const QString& path, const report::Options& options) {
    const auto recording = run::Run::open(path.toStdString());
    if (!recording) {
      ADD_FAILURE() << recording.error().message;
      return {};
    }
    advise::Checks checks = plugins::builtin_checks();
    const report::Advising advising{checks, {}, {}};
    const auto made = report::build(*recording, options, &advising);
    EXPECT_TRUE(bool(made)) << made.error().message;
    return made ? *made : report::Report();
  }
  int64_t number(const QAbstractItemModel& table, int row, int column) const {
    return table.index(row, column).data(Qt::EditRole).toLongLong();
  }

  testing::AdviceRecording recording_;
  report::Report report_, other_;
};

TEST_P(Totals, TheHeadlineHasThePeakAndWhatIsLeft) {
  EXPECT_TRUE(says("Peak " + bytes_words(report_.peak.bytes)));
  const advise::Advice& advice = *report_.advice;
  EXPECT_EQ(session().subject().advised->advice.peak_after_all, advice.peak_after_all);
  if (!advice.findings.empty()) {
    EXPECT_TRUE(
        says("Peak " + bytes_words(report_.peak.bytes) + " → " + bytes_words(advice.peak_after_all) + " with "));
  }
}

TEST_P(Totals, TheHighestColumnOfTheCurveIsTheReportsPeak) {
  auto& timeline = static_cast<TimelinePage&>(window_->page(PageId::timeline)).timeline();
  int64_t most = 0;
  for (const picture::PixelColumn& column : timeline.scene().columns) {
    most = std::max(most, column.most.value);
    int64_t of_groups = 0;
    for (const int64_t bytes : column.bytes) of_groups += bytes;
    EXPECT_EQ(of_groups, column.most.value);
  }
  EXPECT_EQ(most, report_.peak.bytes.value);
}

TEST_P(Totals, TheLegendSaysThem) {
  show(PageId::timeline);
  QWidget* legend = nullptr;
  for (QWidget* widget : window_->page(PageId::timeline).findChildren<QWidget*>()) {
    if (widget->accessibleName() == "Legend") legend = widget;
  }
  ASSERT_NE(legend, nullptr);
  QStringList said;
  const QString path = folder_.filePath("legend.svg");
  class OnlyLegend : public Page {
   public:
    explicit OnlyLegend(QWidget* shown) : shown_(shown) {}
    QString title() const override { return "Legend"; }
    QWidget* picture() override { return shown_; }
    void find() override {}

   private:
    QWidget* shown_;
  } page(legend);
  ASSERT_EQ(testing::problem_of(export_page(page, path)), "");
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  QXmlStreamReader xml(&file);
  while (!xml.atEnd()) {
    if (xml.readNext() == QXmlStreamReader::StartElement && xml.name() == QLatin1String("text")) {
      said << xml.readElementText().simplified();
    }
  }
  for (const peak::Category& category : report_.peak.by_category) {
    const QString wanted = category_label(category.kind) + ' ' + bytes_words(category.bytes);
    EXPECT_TRUE(said.contains(wanted)) << wanted.toStdString();
  }
}

TEST_P(Totals, ThePeakPageHasEachAllocation) {
  show(PageId::peak);
  const QAbstractItemModel& table = *window_->page(PageId::peak).table();
  ASSERT_EQ(table.rowCount(), static_cast<int>(report_.peak.allocations.size()));
  int64_t sum = 0;
  for (int row = 0; row < table.rowCount(); ++row) sum += number(table, row, 0);
  EXPECT_EQ(sum, report_.peak.bytes.value);
  EXPECT_TRUE(says(bytes_words(report_.peak.bytes) + " on cpu at the peak"));
}

TEST_P(Totals, TheStepsAreTheReports) {
  show(PageId::steps);
  const QAbstractItemModel& table = *window_->page(PageId::steps).table();
  ASSERT_EQ(table.rowCount(), static_cast<int>(report_.steps.size()));
  for (int row = 0; row < table.rowCount(); ++row) {
    const report::Step& step = report_.steps[static_cast<size_t>(row)];
    EXPECT_EQ(number(table, row, 0), step.index);
    EXPECT_EQ(number(table, row, 1), step.peak.value);
    bool has_allocated = false;
    for (int column = 2; column < table.columnCount(); ++column) {
      has_allocated = has_allocated || number(table, row, column) == step.allocated.value;
    }
    EXPECT_TRUE(has_allocated);
  }
}

TEST_P(Totals, TheFindingsAreTheReports) {
  show(PageId::advice);
  const QAbstractItemModel& table = *window_->page(PageId::advice).table();
  ASSERT_EQ(table.rowCount(), static_cast<int>(report_.advice->entries.size()));
  for (int row = 0; row < table.rowCount(); ++row) {
    const advise::Entry& entry = report_.advice->entries[static_cast<size_t>(row)];
    EXPECT_EQ(number(table, row, FindingsTree::change), -entry.change().value);
    EXPECT_EQ(number(table, row, FindingsTree::after), entry.peak_after.value);
    EXPECT_EQ(table.index(row, FindingsTree::title).data().toString().toStdString(),
              report::entry_title(*report_.advice, entry));
  }
  const auto& findings = session().subject().advised->advice.findings;
  for (size_t i = 0; i < findings.size(); ++i) {
    EXPECT_EQ(findings[i].id, report_.advice->findings[i].id);
    EXPECT_EQ(findings[i].bytes, report_.advice->findings[i].bytes);
  }
}

TEST_P(Totals, TheComparisonIsOfBothPeaks) {
  show(PageId::compare);
  const int64_t a = report_.peak.bytes.value, b = other_.peak.bytes.value;
  const QString both = a == b ? QString("is the same") : a < b ? "higher" : "lower";
  EXPECT_TRUE(says(both));
  if (a != b) {
    EXPECT_TRUE(says(QString("%1 instead of %2").arg(bytes_words(Bytes{b}), bytes_words(Bytes{a}))));
  }
}

TEST_P(Totals, AnotherMomentIsTheReportsToo) {
  report::Options options;
  options.at.kind = report::At::Kind::step;
  options.at.step = 1;
  const report::Report step = built(session().document()->facts().path, options);
  ASSERT_EQ(testing::problem_of(window_->look_at(options.at)).toStdString(), "");
  ASSERT_TRUE(QTest::qWaitFor([&] { return session().moment() != nullptr; }, 10'000));
  EXPECT_EQ(session().moment()->described.bytes, step.peak.bytes);
  EXPECT_EQ(session().moment()->described.live_allocations, step.peak.live_allocations);
  for (const Time when : {Time{report_.recording.duration.ns / 3}, report_.recording.duration}) {
    options.at.kind = report::At::Kind::time;
    options.at.time = when;
    ASSERT_EQ(testing::problem_of(window_->look_at(options.at)).toStdString(), "");
    ASSERT_TRUE(QTest::qWaitFor([&] { return session().moment() != nullptr; }, 10'000));
    EXPECT_EQ(session().moment()->described.bytes, built(session().document()->facts().path, options).peak.bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Recordings, Totals, ::testing::Bool(),
                         [](const auto& with) { return with.param ? "Advice" : "Synthetic"; });

}  // namespace
}  // namespace tapelens::gui
