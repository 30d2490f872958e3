// The context menus of rows and of the timeline.
#include <QClipboard>
#include <QContextMenuEvent>
#include <QTableView>
#include <QTreeView>
#include <fstream>

#include "gui/models/filter_words.h"
#include "gui/models/folded_rows.h"
#include "gui/models/peak_table.h"
#include "gui/models/search.h"
#include "gui/modules/modules_page.h"
#include "gui/timeline/timeline_view.h"
#include "gui/widgets/context_menu.h"
#include "gui/widgets/editor.h"
#include "gui/widgets/icicle.h"
#include "gui/widgets/table.h"
#include "tests/gui/app_window.h"

namespace tapelens::gui::testing {
namespace {

class Menus : public OnWindow {
 protected:
  // Opens the menu at a place, and chooses the entry that begins so. False: it has none.
  bool choose(QWidget& on, const QPoint& place, const QString& begin) {
    QContextMenuEvent event(QContextMenuEvent::Mouse, place, on.mapToGlobal(place));
    QApplication::sendEvent(&on, &event);
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    if (menu == nullptr) return false;
    entries_.clear();
    QAction* found = nullptr;
    for (QAction* entry : menu->actions()) {
      entries_ << entry->text();
      if (entry->text().startsWith(begin)) found = entry;
    }
    if (found != nullptr) found->trigger();
    menu->close();
    QApplication::processEvents();
    return found != nullptr;
  }
  template <class View>
  View* view_on(PageId page) {
    for (View* view : window_->page(page).findChildren<View*>())
      if (view->isVisible() && view->model() != nullptr && view->model()->rowCount() > 0) return view;
    return nullptr;
  }
  static QString clipboard() { return QApplication::clipboard()->text(); }

  QStringList entries_;
};

TEST_F(Menus, OfARowOfThePeakPage) {
  open(synthetic_recording());
  show(PageId::peak);
  auto* view = view_on<QTableView>(PageId::peak);
  ASSERT_NE(view, nullptr);
  const int rows = view->model()->rowCount(), everything = window_->page(PageId::peak).table()->rowCount();
  // A row with one module.
  QModelIndex row;
  for (int at = 0; at < rows && !row.isValid(); ++at) {
    const QModelIndex one = view->model()->index(at, PeakTable::module);
    if (!one.data().toString().isEmpty() && one.data(FoldedRows::count_role).toInt() == 1) row = one.siblingAtColumn(0);
  }
  ASSERT_TRUE(row.isValid());
  view->scrollTo(row);
  const auto place_of = [&](int column) { return view->visualRect(row.siblingAtColumn(column)).center(); };
  QWidget& on = *view->viewport();
  EXPECT_TRUE(choose(on, place_of(PeakTable::bytes), "Copy \""));
  EXPECT_EQ(clipboard(), row.data().toString());
  EXPECT_TRUE(choose(on, place_of(PeakTable::bytes), "Copy row"));
  EXPECT_EQ(clipboard(), row_text(row));

  const QString module =
      target_of(session(), AllocationId{row.data(PeakTable::allocation_role).toUInt()}).modules.value(0);
  EXPECT_TRUE(choose(on, place_of(PeakTable::bytes), "Hide module")) << entries_.join('\n').toStdString();
  EXPECT_EQ(this->view().filter, "-\"" + module + "\"");
  const QAbstractItemModel& all = *window_->page(PageId::peak).table();
  EXPECT_TRUE(QTest::qWaitFor([&] { return all.rowCount() < everything; }, 10'000));
  for (int at = 0; at < view->model()->rowCount(); ++at)
    EXPECT_FALSE(matches("\"" + module + "\"", row_text(*view->model(), at))) << at;
  EXPECT_TRUE(choose(on, {20, 10}, "Clear the filter"));
  EXPECT_EQ(all.rowCount(), everything);
  EXPECT_EQ(view->model()->rowCount(), rows);
  EXPECT_TRUE(choose(on, {20, 10}, "Show the allocation in the timeline"));
  EXPECT_EQ(this->view().page, PageId::timeline);
  EXPECT_TRUE(this->view().allocation);
}

// The first row of equal allocations of several modules.
QModelIndex folded_row(const QAbstractItemModel& rows) {
  for (int at = 0; at < rows.rowCount(); ++at)
    if (rows.index(at, PeakTable::module).data().toString().contains('{')) return rows.index(at, PeakTable::module);
  return {};
}

TEST_F(Menus, OfEqualRowsHidesAndShowsAllTheirModules) {
  open(synthetic_recording());
  show(PageId::peak);
  auto* view = view_on<QTableView>(PageId::peak);
  ASSERT_NE(view, nullptr);
  const QAbstractItemModel& all = *window_->page(PageId::peak).table();
  const QModelIndex row = folded_row(*view->model());
  ASSERT_TRUE(row.isValid());
  const QString shown = row.data().toString();
  const int count = row.data(FoldedRows::count_role).toInt(), everything = all.rowCount();
  ASSERT_GT(count, 1);
  view->scrollTo(row);
  EXPECT_TRUE(choose(*view->viewport(), view->visualRect(row).center(), "Look at modules"));
  EXPECT_TRUE(this->view().filter.endsWith(shown + '"')) << this->view().filter.toStdString();
  ASSERT_TRUE(QTest::qWaitFor([&] { return all.rowCount() < everything; }, 10'000));
  const int of_modules = all.rowCount();
  EXPECT_GE(of_modules, count);

  EXPECT_TRUE(choose(*view->viewport(), {20, 10}, "Clear the filter"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return all.rowCount() == everything; }, 10'000));
  const QModelIndex again = folded_row(*view->model());
  view->scrollTo(again);
  EXPECT_TRUE(choose(*view->viewport(), view->visualRect(again).center(), "Hide modules"))
      << entries_.join('\n').toStdString();
  EXPECT_TRUE(QTest::qWaitFor([&] { return all.rowCount() < everything; }, 10'000));
  const QString hidden = this->view().filter.mid(1);
  for (int at = 0; at < view->model()->rowCount(); ++at) {
    const AllocationId allocation{view->model()->index(at, 0).data(PeakTable::allocation_role).toUInt()};
    EXPECT_FALSE(matches(hidden, target_of(session(), allocation).modules.value(0))) << at;
  }
  EXPECT_EQ(all.rowCount(), everything - of_modules) << everything << ' ' << hidden.toStdString();
}

TEST_F(Menus, OfAModule) {
  open(synthetic_recording());
  show(PageId::modules);
  auto* view = view_on<QTreeView>(PageId::modules);
  ASSERT_NE(view, nullptr);
  const QModelIndex row = view->model()->index(0, 0);
  const QString path = row.data(Qt::EditRole).toString();
  EXPECT_TRUE(choose(*view->viewport(), view->visualRect(row).center(), "Look at module"));
  EXPECT_EQ(this->view().page, PageId::peak);
  EXPECT_EQ(this->view().filter, "\"" + path + "\"");
}

TEST_F(Menus, OfAPieceOfTheIcicle) {
  open(synthetic_recording());
  show(PageId::peak);
  auto* icicle = window_->page(PageId::peak).findChild<IcicleView*>();
  ASSERT_NE(icicle, nullptr);
  QWidget& on = *icicle->viewport();
  const QPoint outermost{20, on.fontMetrics().height() * 2};  // below the root: the largest module
  const uint32_t node = icicle->node_at(outermost);
  ASSERT_NE(node, GroupTree::kRoot);
  const QString module = icicle->tree().module_path(node);
  ASSERT_FALSE(module.isEmpty());
  EXPECT_TRUE(choose(on, outermost, "Copy \""));
  EXPECT_EQ(clipboard(), icicle->tree().path(node));
  EXPECT_TRUE(choose(on, outermost, "Copy the description"));
  EXPECT_TRUE(clipboard().contains(" of all, ")) << clipboard().toStdString();
  EXPECT_TRUE(choose(on, outermost, "Look at module"));
  EXPECT_EQ(this->view().filter, "\"" + module + "\"");
  EXPECT_TRUE(choose(on, outermost, "Hide module"));
  EXPECT_TRUE(choose(on, {20, 5}, "Clear the filter"));
  EXPECT_TRUE(choose(on, outermost, "Zoom in"));
  EXPECT_EQ(icicle->zoomed(), node);
  EXPECT_TRUE(choose(on, {20, 5}, "Show all"));
  EXPECT_EQ(icicle->zoomed(), GroupTree::kRoot);
}

TEST_F(Menus, EveryTableHasOne) {
  open(synthetic_recording());
  for (const PageId page : {PageId::advice, PageId::steps}) {
    show(page);
    QAbstractItemView* view = view_on<QAbstractItemView>(page);
    ASSERT_NE(view, nullptr);
    view->setFocus();
    const QModelIndex row = view->model()->index(0, 0);
    EXPECT_TRUE(choose(*view->viewport(), view->visualRect(row).center(), "Copy row"));
    EXPECT_EQ(clipboard(), row_text(row));
  }
}

TEST_F(Menus, OfTheTimeline) {
  open(synthetic_recording());
  auto* timeline = window_->findChild<TimelineView*>();
  ASSERT_NE(timeline, nullptr);
  timeline->scene();
  const QRect curve = timeline->lanes().curve;
  EXPECT_TRUE(choose(*timeline, curve.center(), "Copy the description"));
  EXPECT_TRUE(clipboard().contains("alive at")) << clipboard().toStdString();
  // An operator or a module of a thread.
  ASSERT_FALSE(timeline->lanes().threads.empty());
  const Lanes::Thread& thread = timeline->lanes().threads.front();
  bool has_filtered = false;
  for (int x = thread.where.left(); x < thread.where.right() && !has_filtered; x += 7)
    has_filtered = choose(*timeline, {x, thread.where.top() + 3}, "Look at module");
  EXPECT_TRUE(has_filtered);
  EXPECT_FALSE(view().filter.isEmpty());
  EXPECT_EQ(view().page, PageId::timeline);
  EXPECT_TRUE(choose(*timeline, curve.center(), "Clear the filter"));
  EXPECT_TRUE(choose(*timeline, curve.center(), "Show what was alive at this moment"));
  EXPECT_EQ(view().page, PageId::peak);
}

TEST_F(Menus, TheSearchLeavesWordsOut) {
  open(synthetic_recording());
  const auto found = [&](const QString& filter) {
    return search(*session().document(), session().subject(), filter).allocations;
  };
  const uint64_t all = found("aten"), some = found("aten mm");
  EXPECT_GT(some, 0U);
  EXPECT_EQ(found("aten -mm"), all - some);
  EXPECT_TRUE(matches("linear -conv", "a Linear"));
  EXPECT_FALSE(matches("linear -conv", "a linear of a Conv"));
  EXPECT_TRUE(matches("-", "a - b"));
  EXPECT_EQ(found("\"aten\""), all);
  EXPECT_EQ(found("\"ate\""), 0U);
}

TEST(Filters, AQuotedWordIsAWholeName) {
  EXPECT_TRUE(matches("\"layer.1\"", "Net.Layer.1.fc"));
  EXPECT_TRUE(matches("\"layer.1\"", "layer.10 layer.1"));
  EXPECT_FALSE(matches("\"layer.1\"", "Net.layer.10.fc"));
  EXPECT_TRUE(matches("-\"layer.1\"", "Net.layer.10.fc"));
  EXPECT_FALSE(matches("-\"layer.1\"", "Net.layer.1"));
  EXPECT_FALSE(matches("\"aten::add\"", "aten::addmm aten::add_"));
  EXPECT_TRUE(matches("\"saved for backward\" relu", "relu: saved for backward"));
  EXPECT_FALSE(matches("\"saved for\" -\"backward\"", "saved for backward"));
  EXPECT_TRUE(matches("\"layer.{0,2-5}.fc\"", "Net.layer.3.fc"));
  EXPECT_TRUE(matches("\"layer.{0,2-5}.fc\"", "Net.layer.10.fc Net.layer.0.fc.weight"));
  EXPECT_FALSE(matches("\"layer.{0,2-5}.fc\"", "Net.layer.1.fc Net.layer.25.fc Net.layer.fc Net.layer.3.fc2"));
  EXPECT_FALSE(matches("-\"Net.{0-3}.heads.{0-2}\"", "Net.1.heads.2"));
  EXPECT_TRUE(matches("-\"Net.{0-3}.heads.{0-2}\"", "Net.1.heads.3 Net.4.heads.0 SubNet.1.heads.2"));
  EXPECT_TRUE(matches("\"a{b-1}\" \"{}\" \"{1\"", "a{b-1} {} {1"));  // no numbers: as they are
  EXPECT_TRUE(matches("\"Net.{0-3}\"", "Net.{0-3}"));
  EXPECT_FALSE(matches("layer.{0-3}", "layer.2"));  // without quotes
  EXPECT_TRUE(matches("\"", "a \" b"));             // a quote without another is a word
  EXPECT_TRUE(matches("a\"b", "a\"b"));
}

TEST(Editors, ShowTheLine) {
  EXPECT_EQ(editor_command("code --wait", "/a b.py", 7), QStringList({"code", "--wait", "--goto", "/a b.py:7"}));
  EXPECT_EQ(editor_command("/usr/bin/subl", "/a.py", 7), QStringList({"/usr/bin/subl", "/a.py:7"}));
  EXPECT_EQ(editor_command("gvim", "/a.py", 7), QStringList({"gvim", "+7", "/a.py"}));
  EXPECT_EQ(editor_command("kate", "/a.py", 7), QStringList({"kate", "--line", "7", "/a.py"}));
  EXPECT_TRUE(editor_command("vim", "/a.py", 7).isEmpty());
  EXPECT_TRUE(editor_command("", "/a.py", 7).isEmpty());
}

TEST(Editors, AreStartedForSourceCodeOnly) {
  const QTemporaryDir folder;
  const std::string path = folder.path().toStdString();
  std::ofstream(path + "/code") << "#!/bin/sh\nprintf '%s ' \"$@\" > " << path << "/ran.part\nmv " << path
                                << "/ran.part " << path << "/ran\n";
  QFile::setPermissions(folder.filePath("code"), QFile::ReadOwner | QFile::ExeOwner);
  std::ofstream(path + "/train.py") << "import torch\n";
  std::ofstream(path + "/run.desktop") << "[Desktop Entry]\n";
  qputenv("VISUAL", (path + "/code").c_str());
  EXPECT_TRUE(open_in_editor(folder.filePath("train.py"), 3));
  EXPECT_TRUE(QTest::qWaitFor([&] { return QFile::exists(folder.filePath("ran")); }, 10'000));
  QFile ran(folder.filePath("ran"));
  ASSERT_TRUE(ran.open(QIODevice::ReadOnly));
  EXPECT_EQ(ran.readAll().toStdString(), "--goto " + path + "/train.py:3 ");
  EXPECT_FALSE(open_in_editor(folder.filePath("run.desktop"), 1));
  EXPECT_FALSE(open_in_editor(folder.filePath("missing.py"), 1));
  qunsetenv("VISUAL");
  EXPECT_EQ(found_source("train.py", {"/nowhere", folder.path()}), folder.filePath("train.py"));
  EXPECT_TRUE(found_source("other.py", {folder.path()}).isEmpty());
}

}  // namespace
}  // namespace tapelens::gui::testing
