// The window in use: files, pages and dialogs, with the mouse, the keyboard and dropped files.
#include <gtest/gtest.h>

#include <QClipboard>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QFileDialog>
#include <QLineEdit>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QToolButton>

#include "analyzer/text/format.h"
#include "gui/timeline/timeline_page.h"
#include "tests/gui/app_window.h"
#include "tests/gui/support/device_recording.h"

namespace tapelens::gui {
namespace {

class Window : public testing::OnWindow {
 protected:
  QString small() { return testing::synthetic_recording(20'000); }
  QString other() { return testing::synthetic_recording(40'000); }
  QString broken() {
    const QString path = folder_.filePath("broken.tapelens");
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write("no recording") < 0) ADD_FAILURE();
    return path;
  }
  bool drop(const QList<QUrl>& urls) {
    QMimeData data;
    data.setUrls(urls);
    const QPoint middle = window_->rect().center();
    QDragEnterEvent enter(middle, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(window_.get(), &enter);
    if (!enter.isAccepted()) return false;
    QDropEvent dropped(middle, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(window_.get(), &dropped);
    return dropped.isAccepted();
  }
  TimelineView& timeline() { return static_cast<TimelinePage&>(window_->page(PageId::timeline)).timeline(); }
};

// ---- opening

TEST_F(Window, SaysThatAGpuWasSimulatedOrItsMemoryIsNotThere) {
  const testing::DeviceRecording simulated("simulated_gpu", "1 x NVIDIA H100 80GB HBM3"), real;
  open(simulated.path());
  EXPECT_TRUE(says("simulated GPU"));
  EXPECT_TRUE(window_->windowTitle().contains("simulated GPU"));
  bool is_told = false;
  for (const QLabel* label : window_->findChildren<QLabel*>())
    is_told |= label->isVisible() && label->toolTip().contains("NVIDIA H100");
  EXPECT_TRUE(is_told);
  trace::SpoolBuilder silent;
  silent.information("cuda_allocator", "cudaMallocAsync").op("aten::mm").alloc(0x10, 64).end_op();
  const auto sealed = silent.seal_all();
  open(QString::fromStdString(silent.folder() / "run.tapelens"));
  EXPECT_TRUE(says("CUDA memory is not recorded"));
  open(real.path());
  EXPECT_FALSE(says("CUDA memory is not recorded"));
  EXPECT_FALSE(says("simulated GPU"));
  EXPECT_FALSE(window_->windowTitle().contains("simulated"));
}

TEST_F(Window, IsEmptyUntilSomethingIsOpened) {
  EXPECT_TRUE(says("Open a recording, or drop one here."));
  EXPECT_TRUE(says("tapelens record -- python train.py"));
  EXPECT_FALSE(says("Recent recordings"));
  EXPECT_EQ(window_->windowTitle(), "Tapelens");
  for (const char* text : {"Export this page", "Copy this page", "Find", "Close", "Back", "Forward"}) {
    EXPECT_FALSE(action(text)->isEnabled()) << text;
  }
  key(Qt::Key_2, Qt::ControlModifier);
  EXPECT_EQ(view().page, PageId::timeline);
}

TEST_F(Window, OpensThroughItsDialog) {
  on_dialog<QFileDialog>([&](QFileDialog& dialog) { type_path(dialog, small()); });
  QTest::mouseClick(button<QPushButton>("Open a recording"), Qt::LeftButton);
  wait_for_recording(small());
  EXPECT_EQ(window_->windowTitle(), QString::fromUtf8("run.tapelens – Tapelens"));
  EXPECT_FALSE(says("Open a recording, or drop one here."));
  EXPECT_EQ(window_->focusWidget(), &timeline());
}

TEST_F(Window, ADialogThatIsLeftOpensNothing) {
  on_dialog<QFileDialog>([](QFileDialog& dialog) { QTest::keyClick(&dialog, Qt::Key_Escape); });
  key(Qt::Key_O, Qt::ControlModifier);
  EXPECT_EQ(session().document(), nullptr);
  EXPECT_FALSE(session().is_opening());
}

TEST_F(Window, OpensWhatIsDroppedAndNothingElse) {
  EXPECT_FALSE(drop({}));
  EXPECT_FALSE(drop({QUrl("https://example.org/run.tapelens")}));
  EXPECT_TRUE(drop({QUrl::fromLocalFile(small())}));
  wait_for_recording(small());
  EXPECT_TRUE(drop({QUrl::fromLocalFile(other())}));
  wait_for_recording(other());
}

TEST_F(Window, RecentRecordingsAreOfferedInTheMenuAndOnTheStartPage) {
  EXPECT_FALSE(action("Open recent")->isEnabled());
  open(small());
  open(other());
  EXPECT_TRUE(action("Open recent")->isEnabled());
  const QMenu* menu = action("Open recent")->menu();
  ASSERT_EQ(menu->actions().size(), 2);
  EXPECT_EQ(menu->actions()[0]->text(), other());
  menu->actions()[1]->trigger();
  wait_for_recording(small());
  ASSERT_EQ(menu->actions().size(), 2);
  EXPECT_EQ(menu->actions()[0]->text(), small());
  key(Qt::Key_W, Qt::ControlModifier);
  EXPECT_EQ(session().document(), nullptr);
  EXPECT_TRUE(says("Recent recordings"));
  QTest::mouseClick(button<QPushButton>("run.tapelens"), Qt::LeftButton);
  wait_for_recording(small());
}

TEST_F(Window, RecordingsThatAreGoneAreNotOffered) {
  const QString path = folder_.filePath("gone.tapelens");
  ASSERT_TRUE(QFile::copy(small(), path));
  open(path);
  ASSERT_TRUE(QFile::remove(path));
  make_window();
  EXPECT_FALSE(says("Recent recordings"));
  EXPECT_FALSE(action("Open recent")->isEnabled());
}

TEST_F(Window, ABrokenFileIsOneSentenceAndWhatIsOpenStays) {
  open(small());
  const QString title = window_->windowTitle();
  window_->open(broken());
  ASSERT_TRUE(QTest::qWaitFor([&] { return says("broken.tapelens"); }, 10'000));
  EXPECT_EQ(session().document()->facts().path, small());
  EXPECT_EQ(window_->windowTitle(), title);
  EXPECT_TRUE(timeline().isVisible());
  EXPECT_EQ(QSettings().value("recent").toStringList(), QStringList{small()});
  QTest::mouseClick(button<QToolButton>("Dismiss"), Qt::LeftButton);
  EXPECT_FALSE(says("broken.tapelens"));
  window_->open(folder_.filePath("nowhere.tapelens"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return says("nowhere.tapelens"); }, 10'000));
  open(other());
  EXPECT_FALSE(says("nowhere.tapelens"));
}

TEST_F(Window, OpeningCanBeCancelled) {
  open(small());
  const QString big = testing::synthetic_recording(2'000'000);
  QSignalSpy opened(&session(), &Session::opened), failed(&session(), &Session::failed);
  window_->open(big);
  auto* cancel = button<QToolButton>("Cancel");
  ASSERT_NE(cancel, nullptr);
  EXPECT_TRUE(session().is_opening());
  QTest::mouseClick(cancel, Qt::LeftButton);
  EXPECT_FALSE(session().is_opening());
  EXPECT_FALSE(cancel->isVisible());
  QTest::qWait(1500);
  EXPECT_EQ(opened.count(), 0);
  EXPECT_EQ(failed.count(), 0);
  EXPECT_EQ(session().document()->facts().path, small());
  // Another file that is opened while the first one loads replaces it too.
  window_->open(big);
  open(other());
  EXPECT_EQ(opened.count(), 1);
}

// ---- navigation

TEST_F(Window, KeysAndTabsShowThePages) {
  open(small());
  for (const PageId page : testing::kAllPages) {
    show(page);
    EXPECT_TRUE(window_->page(page).isVisible());
    for (const PageId not_shown : testing::kAllPages) {
      EXPECT_EQ(window_->page(not_shown).isVisible(), not_shown == page);
      EXPECT_EQ(button<QToolButton>(window_->page(not_shown).title())->isChecked(), not_shown == page);
    }
  }
  for (const PageId page : testing::kAllPages) {
    QTest::mouseClick(button<QToolButton>(window_->page(page).title()), Qt::LeftButton);
    EXPECT_EQ(view().page, page);
  }
}

TEST_F(Window, BackAndForwardGoThroughZoomsAndPages) {
  open(small());
  EXPECT_FALSE(action("Back")->isEnabled());
  const ViewState first = view();
  key(Qt::Key_P);
  const ViewState peak = view();
  ASSERT_NE(peak.range, first.range);
  show(PageId::steps);
  const ViewState steps = view();
  show(PageId::peak);
  const ViewState last = view();
  for (const ViewState& wanted : {steps, peak, first}) {
    key(Qt::Key_Left, Qt::AltModifier);
    EXPECT_TRUE(view() == wanted);
  }
  EXPECT_FALSE(action("Back")->isEnabled());
  EXPECT_TRUE(timeline().isVisible());
  for (const ViewState& wanted : {peak, steps, last}) {
    key(Qt::Key_Right, Qt::AltModifier);
    EXPECT_TRUE(view() == wanted);
  }
  EXPECT_FALSE(action("Forward")->isEnabled());
  key(Qt::Key_Left, Qt::AltModifier);
  show(PageId::advice);
  EXPECT_FALSE(action("Forward")->isEnabled());
  QTest::mouseClick(window_->findChildren<QToolButton*>()[0], Qt::LeftButton);  // the arrow on the left
  EXPECT_TRUE(view() == steps);
}

TEST_F(Window, AZoomOfManyNotchesIsOneWayBack) {
  open(small());
  const ViewState first = view();
  timeline().setFocus();
  for (int i = 0; i < 5; ++i) QTest::keyClick(&timeline(), Qt::Key_W);
  ASSERT_NE(view().range, first.range);
  key(Qt::Key_Left, Qt::AltModifier);
  EXPECT_TRUE(view() == first);
}

TEST_F(Window, FindPutsTheCursorIntoTheFilterOfEachPage) {
  open_all(small(), other());
  for (const PageId page : testing::kAllPages) {
    show(page);
    key(Qt::Key_F, Qt::ControlModifier);
    auto* field = qobject_cast<QLineEdit*>(QApplication::focusWidget());
    ASSERT_NE(field, nullptr) << window_->page(page).title().toStdString();
    EXPECT_TRUE(window_->page(page).isAncestorOf(field));
    EXPECT_TRUE(field->isVisible());
  }
}

TEST_F(Window, ASlashSearchesAndEnterWalksWhatIsFound) {
  open(small());
  const QImage before = timeline().grab().toImage();
  key(Qt::Key_Slash);
  auto* field = qobject_cast<QLineEdit*>(QApplication::focusWidget());
  ASSERT_NE(field, nullptr);
  QTest::keyClicks(field, "gelu");
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return session().found() != nullptr && session().found()->filter == "gelu"; }, 10'000));
  const SearchResult& found = *session().found();
  ASSERT_GT(found.biggest.size(), 2U);
  EXPECT_TRUE(says(QString("%1 allocations").arg(QString::fromStdString(text::count_text(found.allocations)))));
  QApplication::processEvents();
  EXPECT_NE(timeline().grab().toImage(), before);
  EXPECT_EQ(view().filter, "gelu");

  QTest::keyClick(field, Qt::Key_Return);
  EXPECT_EQ(view().allocation, found.biggest[0]);
  QTest::keyClick(field, Qt::Key_Return);
  EXPECT_EQ(view().allocation, found.biggest[1]);
  QTest::keyClick(field, Qt::Key_Return, Qt::ShiftModifier);
  EXPECT_EQ(view().allocation, found.biggest[0]);
  QTest::keyClick(field, Qt::Key_Return, Qt::ShiftModifier);
  EXPECT_EQ(view().allocation, found.biggest.back());
  const Process& p = session().subject().of.process;
  const Interval life{p.allocations.time[view().allocation], p.freed(view().allocation)};
  EXPECT_TRUE(life.begin < view().range.end && view().range.begin < life.end);

  QTest::keyClicks(field, " nowhere");
  ASSERT_TRUE(QTest::qWaitFor([&] { return says("nothing found"); }, 10'000));
  QTest::keyClick(field, Qt::Key_Escape);
  EXPECT_EQ(view().filter, "");
  EXPECT_EQ(session().found(), nullptr);
  EXPECT_TRUE(timeline().hasFocus());
}

// ---- menus

TEST_F(Window, HelpShowsTheKeys) {
  QString text;
  on_dialog<QMessageBox>([&](QMessageBox& box) { text = box.text(); });
  key(Qt::Key_F1);
  for (const char* what : {"Ctrl+1", "Alt+Left", "Ctrl+F", "Ctrl+E", "Ctrl+Shift+C", "Esc", "Space", "Backspace"}) {
    EXPECT_TRUE(text.contains(what)) << what;
  }
  on_dialog<QMessageBox>([&](QMessageBox& box) { text = box.text(); });
  action("About Tapelens")->trigger();
  EXPECT_TRUE(text.contains("Tapelens"));
}

TEST_F(Window, EveryKeyDoesOneThingWhereverTheCursorIs) {
  open(small());
  for (const PageId page : testing::kAllPages) {
    show(page);
    for (QWidget* at : window_->page(page).findChildren<QWidget*>()) {
      if (at->focusPolicy() == Qt::NoFocus) continue;
      QStringList seen;
      for (const QAction* made : window_->findChildren<QAction*>()) {
        if (made->shortcut().isEmpty()) continue;
        const bool is_the_windows = made->shortcutContext() == Qt::WindowShortcut;
        if (!is_the_windows && !made->associatedObjects().contains(at)) continue;
        EXPECT_FALSE(seen.contains(made->shortcut().toString()))
            << made->shortcut().toString().toStdString() << " in " << at->accessibleName().toStdString();
        seen << made->shortcut().toString();
      }
      EXPECT_GE(seen.size(), 14);
    }
  }
}

TEST_F(Window, AnotherSchemeIsSeenAtOnceAndNextTime) {
  open(small());
  for (const PageId page : testing::kAllPages) {
    show(page);
    action("Dark")->trigger();
    QApplication::processEvents();
    const QImage dark = window_->grab().toImage();
    EXPECT_TRUE(theme().is_dark);
    action("Light")->trigger();
    QApplication::processEvents();
    const QImage light = window_->grab().toImage();
    // Almost no pixel keeps its colour of the dark scheme.
    int same = 0, all = 0;
    for (int y = 40; y < light.height(); y += 7) {
      for (int x = 0; x < light.width(); x += 7, ++all) same += light.pixel(x, y) == dark.pixel(x, y) ? 1 : 0;
    }
    EXPECT_LT(same, all / 20) << window_->page(page).title().toStdString();
  }
  EXPECT_EQ(MainWindow::kept_scheme(), Scheme::light);
  action("Dark")->trigger();
  make_window();
  EXPECT_EQ(MainWindow::kept_scheme(), Scheme::dark);
}

TEST_F(Window, TheHeadlineFollowsWhatIsTicked) {
  const testing::AdviceRecording recording;
  open(recording.path());
  EXPECT_TRUE(says("Peak 37.0 MiB → 25.0 MiB with "));
  session().tick(QString::fromStdString(session().subject().advised->advice.findings[0].id), true);
  EXPECT_TRUE(QTest::qWaitFor([&] { return says("with 1 of 6"); }, 10'000));
  key(Qt::Key_W, Qt::ControlModifier);
  EXPECT_FALSE(says("Peak 37.0 MiB"));
}

TEST_F(Window, CopiesATableAndAPicture) {
  open(small());
  show(PageId::steps);
  QApplication::clipboard()->clear();
  key(Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
  const QStringList lines = QApplication::clipboard()->text().split('\n', Qt::SkipEmptyParts);
  EXPECT_EQ(lines.size(), window_->page(PageId::steps).table()->rowCount() + 1);
  for (const QString& line : lines) {
    EXPECT_EQ(line.count('\t') + 1, window_->page(PageId::steps).table()->columnCount());
  }
  show(PageId::timeline);
  key(Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_EQ(QApplication::clipboard()->pixmap().size(), timeline().size());
}

TEST_F(Window, ItsStateIsThatOfTheLastTime) {
  open(small());
  window_->resize(1180, 640);
  show(PageId::peak);
  auto* table = window_->page(PageId::peak).findChild<QTableView*>();
  table->setColumnWidth(1, 234);
  QApplication::processEvents();
  make_window();
  EXPECT_EQ(window_->page(PageId::peak).findChild<QTableView*>()->columnWidth(1), 234);
  window_->close();
  EXPECT_EQ(QSettings().value("recent").toStringList(), QStringList{small()});
}

TEST_F(Window, NonsenseInTheSettingsIsNoTrouble) {
  QSettings settings;
  settings.setValue("window", "nonsense");
  settings.setValue("scheme", 77);
  settings.setValue("recent", 12);
  for (const PageId page : testing::kAllPages) settings.setValue("page/" + window_->page(page).title(), "nonsense");
  const MainWindow next(MainWindow::kept_scheme());
  EXPECT_EQ(MainWindow::kept_scheme(), Scheme::system);
  EXPECT_GE(next.width(), 400);
}

TEST_F(Window, QuitClosesIt) {
  key(Qt::Key_Q, Qt::ControlModifier);
  EXPECT_FALSE(window_->isVisible());
}

}  // namespace
}  // namespace tapelens::gui
