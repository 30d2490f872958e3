// The whole window, with separate settings.
#pragma once

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <memory>

#include "gui/app/main_window.h"
#include "gui/models/visible_text.h"
#include "gui/ranks/ranks_page.h"
#include "tests/gui/advice_recording.h"
#include "tests/gui/support/recording.h"

namespace tapelens::gui::testing {

class OnWindow : public ::testing::Test {
 protected:
  void SetUp() override {
    QCoreApplication::setOrganizationName("Tapelens");
    QCoreApplication::setApplicationName("tapelens-gui");
    QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder_.path());
    set_scheme(Scheme::light);
    make_window();
  }
  void TearDown() override {
    window_.reset();
    set_scheme(Scheme::light);
  }

  // Closes the window and makes a new one, as the next start of the program does.
  void make_window() {
    if (window_) window_->close();
    window_ = std::make_unique<MainWindow>(Scheme::light);
    window_->resize(1280, 720);
    window_->show();
    window_->activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(window_.get()));
  }

  Session& session() { return window_->session(); }
  const ViewState& view() { return session().view(); }
  bool is_ready() {
    return session().has(Part::advice) && session().moment() != nullptr && !window_->page(view().page).is_busy();
  }
  void open(const QString& path) {
    window_->open(path);
    wait_for_recording(path);
  }
  // Waits until the recording is open and completely analysed.
  void wait_for_recording(const QString& path) {
    ASSERT_TRUE(QTest::qWaitFor(
        [&] { return session().document() != nullptr && session().document()->facts().path == path && is_ready(); },
        30'000));
    QApplication::processEvents();
  }
  // Opens the two recordings that the page for comparisons needs.
  void open_all(const QString& path, const QString& other) {
    open(path);
    window_->open_other(other);
    ASSERT_TRUE(QTest::qWaitFor([&] { return window_->page(PageId::compare).table()->rowCount() > 0; }, 30'000));
  }

  void key(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    // Shortcuts of menus work only in the active window. After a dialog, a window manager would activate it.
    window_->activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(window_.get()));
    QWidget* focused = QApplication::focusWidget();
    QTest::keyClick(focused != nullptr ? focused : window_.get(), key, modifiers);
  }
  void show(PageId page) {
    key(static_cast<Qt::Key>(Qt::Key_1 + static_cast<int>(page)), Qt::ControlModifier);
    ASSERT_EQ(view().page, page);
    QApplication::processEvents();
    if (page == PageId::ranks && session().document() != nullptr) show_ranks();
  }
  // Opens the ranks in the folder of the recording. The recording itself has no rank.
  void show_ranks() {
    auto& page = static_cast<RanksPage&>(window_->page(PageId::ranks));
    page.open_folder(QFileInfo(session().document()->facts().path).absolutePath());
    ASSERT_TRUE(QTest::qWaitFor([&] { return page.table() != nullptr && !page.is_busy(); }, 30'000));
    QApplication::processEvents();
  }

  QAction* action(const QString& text) {
    for (QAction* made : window_->findChildren<QAction*>()) {
      if (QString(made->text()).remove('&').startsWith(text)) return made;
    }
    ADD_FAILURE() << "no action " << text.toStdString();
    return nullptr;
  }
  template <class Button>
  Button* button(const QString& text) {
    for (Button* made : window_->findChildren<Button*>()) {
      if (made->isVisible() && QString(made->text()).remove('&').startsWith(text)) return made;
    }
    return nullptr;
  }
  bool says(const QString& text) {
    for (const QLabel* label : window_->findChildren<QLabel*>()) {
      if (label->isVisible() && label->text().contains(text)) return true;
    }
    return false;
  }

  static void type_path(QFileDialog& dialog, const QString& path) {
    auto* field = dialog.findChild<QLineEdit*>();
    field->setText(path);  // if the path were typed, the completer would take the first Return
    QTest::keyClick(field, Qt::Key_Return);
  }
  // Calls `act` with the next dialog as soon as it opens, and then closes the dialog.
  template <class Dialog>
  void on_dialog(std::function<void(Dialog&)> act) {
    auto* timer = new QTimer(window_.get());
    QObject::connect(timer, &QTimer::timeout, [timer, act] {
      auto* dialog = qobject_cast<Dialog*>(QApplication::activeModalWidget());
      if (dialog == nullptr || !dialog->isVisible()) return;
      timer->deleteLater();
      timer->stop();
      act(*dialog);
      if (dialog->isVisible()) QTest::keyClick(dialog, Qt::Key_Escape);
    });
    timer->start(20);
  }

  QTemporaryDir folder_;
  std::unique_ptr<MainWindow> window_;
};

// The error as a sentence; empty if no error occurred.
inline QString problem_of(const trace::Status& status) { return status ? QString() : sentence(status.error()); }

inline constexpr auto kAllPages = [] {
  std::array<PageId, kPages> all{};
  for (size_t i = 0; i < kPages; ++i) all[i] = static_cast<PageId>(i);
  return all;
}();

}  // namespace tapelens::gui::testing
