// The page of findings, used with the mouse and the keyboard.
#include "gui/advice/advice_page.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QSlider>
#include <QTest>
#include <QTreeView>
#include <algorithm>

#include "analyzer/text/format.h"
#include "analyzer/verify/verdict.h"
#include "gui/advice/finding_pane.h"
#include "gui/advice/fit_pane.h"
#include "gui/advice/verify_pane.h"
#include "gui/models/verifying.h"
#include "gui/widgets/source_pane.h"
#include "gui/widgets/theme.h"
#include "tests/gui/advice_recording.h"

namespace tapelens::gui {
namespace {

class OnAdvicePage : public ::testing::Test {
 protected:
  void SetUp() override {
    page_.resize(1280, 720);
    page_.show();
    open();
  }
  void open() {
    session_.close();
    session_.open(recording_.path());
    ASSERT_TRUE(QTest::qWaitFor([&] { return session_.has(Part::advice); }, 20'000));
    QApplication::processEvents();
    view_ = page_.findChild<QTreeView*>();
  }
  bool says(const QString& text) const {
    for (const QLabel* label : page_.findChildren<QLabel*>())
      if (label->isVisible() && label->text().contains(text)) return true;
    return false;
  }
  bool soon_says(const QString& text) const {
    return QTest::qWaitFor([&] { return says(text); }, 10'000);
  }
  QPushButton* button(const QString& text) const {
    for (QPushButton* made : page_.findChildren<QPushButton*>())
      if (QString(made->text()).remove('&').startsWith(text)) return made;
    return nullptr;
  }
  void click(const QString& text) const { QTest::mouseClick(button(text), Qt::LeftButton); }
  // The index of an entry, or of one of its findings (`below`).
  QModelIndex row(int at, int column = FindingsTree::title, int below = -1) const {
    const QModelIndex entry = view_->model()->index(at, below < 0 ? column : 0);
    return below < 0 ? entry : view_->model()->index(below, column, entry);
  }
  QString id(int at, int below = -1) const { return row(at, 0, below).data(FindingsTree::id_role).toString(); }
  // The entry of the findings that rewrites fix.
  int automatic() const {
    for (int at = 0; at < view_->model()->rowCount(); ++at)
      if (row(at, FindingsTree::fixing).data() == "automatic") return at;
    return -1;
  }
  // Clicks the checkbox of a row.
  void tick(int at, int below = -1) const {
    if (below >= 0) view_->expand(row(at, 0));
    const QModelIndex index = row(at, FindingsTree::number, below);
    QStyleOptionViewItem option;
    option.initFrom(view_);
    option.rect = view_->visualRect(index);
    option.features = QStyleOptionViewItem::HasCheckIndicator | QStyleOptionViewItem::HasDisplay;
    const QRect box = view_->style()->subElementRect(QStyle::SE_ItemViewItemCheckIndicator, &option, view_);
    QTest::mouseClick(view_->viewport(), Qt::LeftButton, {}, box.center());
  }

  testing::AdviceRecording recording_;
  Session session_;
  AdvicePage page_{session_};
  QTreeView* view_ = nullptr;
};

TEST_F(OnAdvicePage, SaysThePeakNowAndWithAllFixed) {
  EXPECT_EQ(view_->model()->rowCount(), static_cast<int>(session_.subject().advised->advice.entries.size()));
  EXPECT_TRUE(says("Peak 37.0 MiB → 25.0 MiB with all findings fixed"));
  EXPECT_EQ(page_.table(), view_->model());
  EXPECT_FALSE(page_.grab().isNull());
}

TEST_F(OnAdvicePage, AllColumnsAreSeenWithoutScrollingUntilOneIsDrawn) {
  const auto end_of_columns = [&] {
    int end = 0;
    for (int column = 0; column < FindingsTree::kColumns; ++column) {
      if (!view_->isColumnHidden(column))
        end = std::max(end, view_->columnViewportPosition(column) + view_->columnWidth(column));
    }
    return end;
  };
  EXPECT_LE(end_of_columns(), view_->viewport()->width());
  EXPECT_FALSE(view_->horizontalScrollBar()->isVisible());
  EXPECT_LT(view_->columnViewportPosition(FindingsTree::where), view_->columnViewportPosition(FindingsTree::title));
  page_.resize(1920, 1080);
  QApplication::processEvents();
  EXPECT_EQ(end_of_columns(), view_->viewport()->width());
  view_->setColumnWidth(FindingsTree::title, 500);
  page_.resize(1600, 900);
  QApplication::processEvents();
  EXPECT_EQ(view_->columnWidth(FindingsTree::title), 500);
}

TEST_F(OnAdvicePage, AClickOnABoxShowsTheMemoryWithoutIt) {
  const int entry = automatic();
  tick(entry, 1);
  EXPECT_EQ(session_.ticked(), QSet<QString>{id(entry, 1)});
  EXPECT_TRUE(soon_says("with 1 of 6 fixed"));
  EXPECT_FALSE(page_.grab().isNull());
  tick(entry, 1);
  EXPECT_TRUE(session_.ticked().isEmpty());
  EXPECT_TRUE(soon_says("with all findings fixed"));
}

TEST_F(OnAdvicePage, OneTickIsAllAutomaticFixesAndTheirCommandIsThere) {
  const int entry = automatic();
  ASSERT_GE(entry, 0);
  tick(entry);
  EXPECT_EQ(session_.ticked().size(), view_->model()->rowCount(row(entry, 0)));
  EXPECT_TRUE(button("Copy command")->isEnabled());
  EXPECT_FALSE(button("Tick automatic fixes")->isEnabled());
  tick(entry);
  EXPECT_TRUE(session_.ticked().isEmpty());
}

TEST_F(OnAdvicePage, SpaceTicksTheRowAndArrowsGoOn) {
  const int entry = automatic();
  view_->setFocus();
  view_->expand(row(entry, 0));
  view_->setCurrentIndex(row(entry, FindingsTree::title, 1));
  QTest::keyClick(view_, Qt::Key_Space);
  QTest::keyClick(view_, Qt::Key_Down);
  QTest::keyClick(view_, Qt::Key_Space);
  EXPECT_EQ(session_.ticked(), (QSet<QString>{id(entry, 1), id(entry, 2)}));
  EXPECT_EQ(session_.view().finding, id(entry, 2));
  QTest::keyClick(view_, Qt::Key_Space);
  EXPECT_EQ(session_.ticked(), QSet<QString>{id(entry, 1)});
}

TEST_F(OnAdvicePage, AllAutomaticFixesAreTickedAtOnceAndNone) {
  EXPECT_FALSE(button("None")->isEnabled());
  click("Tick automatic fixes");
  EXPECT_EQ(session_.ticked().size(), view_->model()->rowCount(row(automatic(), 0)));
  EXPECT_FALSE(button("Tick automatic fixes")->isEnabled());
  click("None");
  EXPECT_TRUE(session_.ticked().isEmpty());
}

TEST_F(OnAdvicePage, WhatIsSelectedIsSaidInFullWithTheCommandThatRunsItFixed) {
  const int entry = automatic();
  view_->expand(row(entry, 0));
  QTest::mouseClick(view_->viewport(), Qt::LeftButton, {},
                    view_->visualRect(row(entry, FindingsTree::title, 2)).center());
  EXPECT_EQ(session_.view().finding, id(entry, 2));
  EXPECT_TRUE(session_.ticked().isEmpty());
  EXPECT_TRUE(says("Net.act"));
  EXPECT_TRUE(says("Lossless: the same values are kept in fewer bytes."));
  EXPECT_TRUE(says("8.0 MiB x2") || says("7.8 MiB x2"));
  click("Copy run");
  EXPECT_TRUE(QApplication::clipboard()->text().startsWith("tapelens run --apply "));
  EXPECT_TRUE(QApplication::clipboard()->text().endsWith(" -- python train.py --name 'two words'"));
}

TEST_F(OnAdvicePage, AnEntryThatIsSelectedStaysSelectedAndShowsItsFirstFinding) {
  const int entry = automatic();
  view_->setCurrentIndex(row(entry, 0));
  EXPECT_EQ(session_.view().finding, id(entry, 0));
  EXPECT_EQ(view_->currentIndex().siblingAtColumn(0), row(entry, 0));
  EXPECT_TRUE(says("can be dropped, or held in fewer bytes"));
}

TEST_F(OnAdvicePage, EvidenceLeadsToItsMomentInTheTimeline) {
  const auto* pane = page_.findChild<FindingPane*>();
  QLabel* evidence = nullptr;
  for (QLabel* label : pane->findChildren<QLabel*>())
    if (label->isVisible() && label->text().contains("<a ")) evidence = label;
  ASSERT_NE(evidence, nullptr);
  evidence->setFocus(Qt::TabFocusReason);
  QTest::keyClick(evidence, Qt::Key_Tab);
  QTest::mouseClick(evidence, Qt::LeftButton, {}, {12, evidence->fontMetrics().height() / 2});
  EXPECT_EQ(session_.view().page, PageId::timeline);
  const advise::Evidence& first = session_.subject().advised->advice.findings[0].evidence[0];
  EXPECT_LE(session_.view().range.begin, first.begin);
  EXPECT_GE(session_.view().range.end, first.end);
  EXPECT_LT(session_.view().range.end.ns - session_.view().range.begin.ns, session_.document()->facts().duration.ns);
  EXPECT_TRUE(session_.can_go_back());
}

TEST_F(OnAdvicePage, TheMemoryAgainstTimeIsHiddenIfNoChoiceIsCertainToLowerIt) {
  ASSERT_TRUE(QTest::qWaitFor([&] { return session_.has(Part::fit); }, 20'000));
  EXPECT_FALSE(session_.subject().fit->is_worth());
  EXPECT_FALSE(page_.findChild<FitPane*>()->isVisible());
}

TEST(MemoryAgainstTime, ASliderShowsEachChoiceWithItsLayersAndItsCommand) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  plan::Curve curve;
  curve.points = {{{}, Bytes{100 * kMiB}, 0, {}},
                  {{"bitwise"}, Bytes{70 * kMiB}, 0.05, {{"Net.layers.*.mlp", 4, 4, Bytes{30 * kMiB}}}},
                  {{"recompute", 12},
                   Bytes{50 * kMiB},
                   0.2,
                   {{"Net.layers.*", 2, 4, Bytes{40 * kMiB}}, {"<b>head</b>", 1, 1, Bytes{kMiB}}}}};
  FitPane pane;
  const auto says = [&](const QString& text) {
    return std::ranges::any_of(pane.findChildren<QLabel*>(),
                               [&](const QLabel* label) { return label->text().contains(text); });
  };
  pane.show_curve(&curve, "python train.py");
  EXPECT_FALSE(pane.isHidden());
  EXPECT_TRUE(says("Peak 70.0 MiB instead of 100.0 MiB, +5.0 % time, with bitwise"));
  EXPECT_TRUE(says("Net.layers.*.mlp (all 4)"));
  QTest::keyClick(pane.findChild<QSlider*>(), Qt::Key_End);
  EXPECT_TRUE(says("Peak 50.0 MiB instead of 100.0 MiB, +20.0 % time, with recompute 12%"));
  EXPECT_TRUE(says("Net.layers.* (2 of 4), <b>head</b>"));
  QString copied;
  QObject::connect(&pane, &FitPane::copied, [&](const QString& text) { copied = text; });
  pane.findChild<QPushButton*>()->click();
  EXPECT_EQ(copied, "tapelens run --fit 50MiB -- python train.py");
  curve.points.resize(1);
  pane.show_curve(&curve, "python train.py");
  EXPECT_TRUE(pane.isHidden());
}

TEST_F(OnAdvicePage, AFilterIsTypedAndSharedWithTheSession) {
  page_.find();
  auto* edit = page_.findChild<QLineEdit*>();
  QTest::keyClicks(edit, "wide actb");
  EXPECT_EQ(session_.view().filter, "wide actb");
  EXPECT_EQ(view_->model()->rowCount(), 1);
  EXPECT_EQ(view_->model()->rowCount(view_->model()->index(0, 0)), 1);
  QTest::keyClicks(edit, " nowhere");
  EXPECT_TRUE(says("No finding matches the filter."));
  edit->setFocus();
  QTest::keyClick(edit, Qt::Key_A, Qt::ControlModifier);
  QTest::keyClick(edit, Qt::Key_Delete);
  EXPECT_EQ(view_->model()->rowCount(), static_cast<int>(session_.subject().advised->advice.entries.size()));
}

TEST_F(OnAdvicePage, TheCommandForAllThatARewriteFixesNeedsNoPlan) {
  EXPECT_FALSE(button("Copy command")->isEnabled());
  EXPECT_EQ(button("Copy command")->toolTip(), "Tick a finding that a rewrite fixes");
  click("Tick automatic fixes");
  ASSERT_TRUE(button("Copy command")->isEnabled());
  click("Copy command");
  EXPECT_EQ(QApplication::clipboard()->text(), "tapelens verify --apply bitwise -- python train.py --name 'two words'");
  tick(automatic(), 0);
  EXPECT_FALSE(button("Copy command")->isEnabled());
  EXPECT_TRUE(button("Copy command")->toolTip().startsWith("Save the plan first"));
}

TEST_F(OnAdvicePage, KeysGoToTheFindingsWhenThePageIsEntered) {
  page_.take_focus();
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Space);
  EXPECT_FALSE(session_.ticked().isEmpty());
}

TEST_F(OnAdvicePage, APlanIsSavedAndItsCommandCopied) {
  const QString path = recording_.path() + ".plan.json";
  EXPECT_FALSE(button("Save plan")->isEnabled());
  const auto nothing = page_.save_plan(path);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().message, "No finding that a rewrite fixes is ticked.");
  tick(automatic(), 1);
  EXPECT_TRUE(button("Save plan")->isEnabled());
  EXPECT_FALSE(button("Copy command")->isEnabled());
  const auto nowhere = page_.save_plan("/no/such/folder/plan.json");
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message.find("cannot be written"), std::string::npos) << nowhere.error().message;
  ASSERT_TRUE(page_.save_plan(path));
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  EXPECT_EQ(file.readAll().toStdString(),
            plan_text(session_.document()->facts(), *session_.subject().advised, session_.ticked()));
  EXPECT_TRUE(says("Plan of 1 finding saved: " + path));
  click("Copy command");
  EXPECT_EQ(QApplication::clipboard()->text(),
            "tapelens verify --apply " + path + " -- python train.py --name 'two words'");
  tick(automatic(), 0);  // the plan differs from the ticked entries now
  EXPECT_FALSE(button("Copy command")->isEnabled());
}

TEST_F(OnAdvicePage, AResultBesideTheRecordingIsShownByItself) {
  const auto* pane = page_.findChild<VerifyPane*>();
  EXPECT_FALSE(pane->isVisible());
  QFile file(recording_.path() + ".verify.json");
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  verify::Verdict verdict;
  verdict.compared = {.steps = 2, .losses = 2, .gradients = 6, .parameters = 6};
  verdict.bare.peak.value = 38'797'312;
  verdict.rewritten.peak.value = 26'214'400;
  file.write(QByteArray::fromStdString(verify::verdict_json(verdict)));
  file.close();
  open();
  EXPECT_TRUE(pane->isVisible());
  EXPECT_TRUE(says("Verify: identical, bit for bit"));
  EXPECT_TRUE(says("Peak 37.0 MiB \u2192 25.0 MiB"));
  page_.open_verify(recording_.path());
  EXPECT_TRUE(says("is not a result of tapelens verify"));
  EXPECT_FALSE(page_.grab().isNull());
  session_.close();
  EXPECT_FALSE(pane->isVisible());
}

TEST_F(OnAdvicePage, FollowsTheSchemeAndTheLifeOfTheRecording) {
  set_scheme(Scheme::dark);
  QApplication::processEvents();
  const QImage dark = page_.grab().toImage();
  set_scheme(Scheme::light);
  QApplication::processEvents();
  EXPECT_NE(dark.pixelColor(2, 2), page_.grab().toImage().pixelColor(2, 2));
  session_.close();
  EXPECT_FALSE(view_->isVisible());
  open();
  EXPECT_TRUE(view_->isVisible());
}

TEST(AdvicePageAlone, SaysWhenNothingWasFound) {
  trace::SpoolBuilder b;
  b.op("aten::ones").alloc(0x1000, 64).end_op().free(0x1000);
  b.seal();
  Session session;
  AdvicePage page(session);
  page.show();
  session.open(QString::fromStdString(b.folder() / "run.tapelens"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return session.has(Part::advice); }, 20'000));
  const auto labels = page.findChildren<QLabel*>();
  EXPECT_TRUE(std::ranges::any_of(labels, [](const QLabel* label) {
    return label->isVisible() && label->text().contains("found no avoidable memory");
  }));
  EXPECT_FALSE(page.save_plan("/tmp/unused"));
}

TEST(Patch, IsCopiedAsGitTakesItAndSavedWhereItIsAsked) {
  const std::string_view lines[] = {"for x in data:\n", "    val.append(loss)\t# \x1b[31mred\n"};
  advise::Finding finding;
  finding.title = "forward with gradients enabled";
  finding.fix.kind = check::FixKind::patch;
  finding.fix.edits = {check::file_edit("train.py", lines, {{1, 1, {"    val.append(loss.item())\n"}}})};
  FindingPane pane;
  pane.resize(500, 700);
  pane.show();
  QString copied;
  bool is_saved = false;
  QObject::connect(&pane, &FindingPane::copied, [&](const QString& text, const QString&) { copied = text; });
  QObject::connect(&pane, &FindingPane::saveWanted, [&] { is_saved = true; });
  const auto button = [&](const QString& text) -> QPushButton* {
    for (QPushButton* made : pane.findChildren<QPushButton*>())
      if (made->isVisible() && QString(made->text()).remove('&').startsWith(text)) return made;
    return nullptr;
  };
  pane.show_finding(&finding, {}, nullptr);
  const QStringList shown = pane.findChild<DiffView*>()->toPlainText().split('\n');
  EXPECT_TRUE(shown.contains("+    val.append(loss.item())"));
  EXPECT_TRUE(shown.contains("-    val.append(loss)\t# \\x1b[31mred"));
  ASSERT_NE(button("Copy patch"), nullptr);
  EXPECT_EQ(button("Copy run"), nullptr);  // no rewrite fixes it
  button("Copy patch")->click();
  EXPECT_EQ(copied.toStdString(), check::unified_diff(finding.fix.edits));
  const auto edits = check::read_unified_diff(copied.toStdString());
  ASSERT_TRUE(edits);
  EXPECT_EQ(edits->size(), 1U);
  button("Save patch")->click();
  EXPECT_TRUE(is_saved);
  finding.fix.edits.clear();
  pane.show_finding(&finding, {{}, "tapelens run --apply lossless -- python train.py"}, nullptr);
  EXPECT_EQ(button("Copy patch"), nullptr);
  ASSERT_NE(button("Copy run"), nullptr);
  button("Copy run")->click();
  EXPECT_EQ(copied, "tapelens run --apply lossless -- python train.py");
}

TEST_F(OnAdvicePage, AFindingWithoutAPatchHasNoneToSave) {
  const auto saved = page_.save_patch(recording_.path() + ".patch");
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().message, "The finding that is selected has no patch.");
  EXPECT_FALSE(QFile::exists(recording_.path() + ".patch"));
}

TEST(Diff, AddedAndRemovedLinesAreTinted) {
  DiffView view;
  view.show_diff("--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n");
  ASSERT_EQ(view.document()->blockCount(), 6);
  EXPECT_TRUE(view.isReadOnly());
  std::map<int, QColor> grounds;
  for (const QTextEdit::ExtraSelection& selection : view.extraSelections()) {
    if (selection.format.hasProperty(QTextFormat::BackgroundBrush)) {
      grounds[selection.cursor.blockNumber()] = selection.format.background().color();
    }
  }
  EXPECT_EQ(grounds, (std::map<int, QColor>{{4, theme().removed}, {5, theme().added}}));
  view.selectAll();
  view.copy();
  EXPECT_TRUE(QApplication::clipboard()->text().endsWith("-old\n+new"));
}

}  // namespace
}  // namespace tapelens::gui
