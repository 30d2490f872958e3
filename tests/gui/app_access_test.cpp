// Accessibility of the window: use without a mouse, screen readers, contrast, small screens.
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QAbstractScrollArea>
#include <QAccessible>
#include <QButtonGroup>
#include <QComboBox>
#include <QMenuBar>
#include <QProcess>

#include "tests/gui/app_window.h"
#include "tests/gui/support/device_recording.h"

namespace tapelens::gui {
namespace {

std::string name_of(const QWidget& widget) {
  QString name = widget.metaObject()->className();
  if (const auto* label = qobject_cast<const QLabel*>(&widget)) name += " '" + label->text() + "'";
  if (const auto* made = qobject_cast<const QAbstractButton*>(&widget)) name += " '" + made->text() + "'";
  return (name + ' ' + widget.accessibleName()).toStdString();
}

// Content of a scroll area may be larger than the area: the user can scroll to it.
bool is_scrolled(const QWidget& widget) {
  for (const QWidget* at = widget.parentWidget(); at != nullptr; at = at->parentWidget()) {
    if (qobject_cast<const QAbstractScrollArea*>(at) != nullptr) return true;
  }
  return false;
}

// A training on a CPU, and one on simulated GPUs, whose pages show more.
class Access : public testing::OnWindow, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    OnWindow::SetUp();
    open_all(GetParam() ? device_.path() : recording_.path(), other_.path());
    if (GetParam()) return;
    session().tick(QString::fromStdString(session().subject().advised->advice.findings[0].id), true);
    ASSERT_TRUE(QTest::qWaitFor([&] { return session().what_if() != nullptr; }, 10'000));
  }
  template <class Kind>
  std::vector<Kind*> shown() {
    std::vector<Kind*> all;
    for (Kind* widget : window_->findChildren<Kind*>()) {
      if (widget->isVisible()) all.push_back(widget);
    }
    return all;
  }
  // On each page, the test fails for each text that does not fit.
  void expect_room() {
    for (const PageId page : testing::kAllPages) {
      show(page);
      for (int i = 0; i < 5; ++i) QApplication::processEvents();
      SCOPED_TRACE(window_->page(page).title().toStdString());
      EXPECT_LE(window_->width(), 1280);
      EXPECT_LE(window_->height(), 720);
      for (const QLabel* label : shown<QLabel>()) {
        if (label->text().isEmpty()) continue;
        const QSize size = label->size();
        if (label->wordWrap()) {
          EXPECT_LE(label->heightForWidth(size.width()), size.height()) << name_of(*label);
        } else {
          EXPECT_LE(label->sizeHint().width(), size.width()) << name_of(*label);
          EXPECT_LE(label->sizeHint().height(), size.height()) << name_of(*label);
        }
      }
      const auto whole = [&](const QWidget& widget) {
        EXPECT_LE(widget.sizeHint().width(), widget.width()) << name_of(widget);
        EXPECT_LE(widget.sizeHint().height(), widget.height()) << name_of(widget);
      };
      for (const auto* made : shown<QAbstractButton>()) {
        if (!made->text().isEmpty()) whole(*made);
      }
      for (const auto* box : shown<QComboBox>()) whole(*box);
      for (const auto* widget : shown<QWidget>()) {
        if (widget->window() != window_.get() || is_scrolled(*widget)) continue;
        const QRect there(widget->mapTo(window_.get(), QPoint()), widget->size());
        EXPECT_TRUE(window_->rect().contains(there)) << name_of(*widget);
      }
    }
  }
  static QString spoken(QWidget& widget) {
    QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(&widget);
    return interface != nullptr ? interface->text(QAccessible::Name) : QString();
  }
  bool is_reached_by_tab(const QWidget& widget) const {
    return widget.isVisible() && widget.isEnabled() && (widget.focusPolicy() & Qt::TabFocus) != 0 &&
           widget.focusProxy() == nullptr && widget.window() == window_.get();
  }

  testing::AdviceRecording recording_, other_{"python other.py"};
  testing::DeviceRecording device_{"simulated_gpu", "1 x NVIDIA H100 80GB HBM3"};
};
INSTANTIATE_TEST_SUITE_P(Of, Access, ::testing::Values(false, true),
                         [](const auto& of) { return of.param ? "gpu" : "cpu"; });

TEST_P(Access, EveryControlHasAName) {
  for (const PageId page : testing::kAllPages) {
    show(page);
    for (QWidget* widget : shown<QWidget>()) {
      if (widget->focusPolicy() == Qt::NoFocus || widget->focusProxy() != nullptr) continue;
      EXPECT_FALSE(spoken(*widget).isEmpty()) << window_->page(page).title().toStdString() << ": " << name_of(*widget)
                                              << " in " << name_of(*widget->parentWidget());
    }
  }
}

TEST_P(Access, TabReachesEveryControl) {
  for (const PageId page : testing::kAllPages) {
    show(page);
    QSet<QWidget*> reached;
    QWidget *before = nullptr, *at = QApplication::focusWidget();
    ASSERT_NE(at, nullptr);
    // Visits each widget once. A text with links keeps the focus for each of its links.
    for (int i = 0; i < 200 && (at == before || !reached.contains(at)); ++i) {
      EXPECT_TRUE(at->isVisible()) << name_of(*at);
      reached.insert(at);
      before = at;
      QTest::keyClick(at, Qt::Key_Tab);
      at = QApplication::focusWidget();
    }
    for (QWidget* widget : shown<QWidget>()) {
      if (!is_reached_by_tab(*widget)) continue;
      // Tab reaches one of the page names, and arrow keys reach the others.
      const auto* made = qobject_cast<QAbstractButton*>(widget);
      const bool is_one_of = made != nullptr && made->group() != nullptr && made->group()->exclusive();
      EXPECT_TRUE(reached.contains(widget) || is_one_of)
          << window_->page(page).title().toStdString() << ": " << name_of(*widget);
    }
    // Shift+Tab goes back.
    QWidget* here = QApplication::focusWidget();
    QTest::keyClick(here, Qt::Key_Tab);
    QWidget* const next = QApplication::focusWidget();
    for (int i = 0; i < 50 && QApplication::focusWidget() == next; ++i) QTest::keyClick(next, Qt::Key_Backtab);
    EXPECT_EQ(QApplication::focusWidget(), here);
  }
}

TEST_P(Access, EveryMnemonicIsOnce) {
  for (const PageId page : testing::kAllPages) {
    show(page);
    QStringList seen;
    const auto expect_once = [&](const QString& text) {
      const QString keys = QKeySequence::mnemonic(text).toString();
      if (keys.isEmpty()) return;
      EXPECT_FALSE(seen.contains(keys)) << window_->page(page).title().toStdString() << ": " << keys.toStdString();
      seen << keys;
    };
    for (const QAction* menu : window_->menuBar()->actions()) expect_once(menu->text());
    for (const auto* made : shown<QAbstractButton>()) expect_once(made->text());
    for (const auto* label : shown<QLabel>()) {
      if (label->buddy() != nullptr) expect_once(label->text());
    }
  }
}

TEST_P(Access, NothingIsCutAt720Lines) { expect_room(); }

// Runs the test in a child process, because Qt reads the scale when it starts.
TEST(AccessScaled, NothingIsCutAt200Percent) {
  QProcess child;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert("QT_SCALE_FACTOR", "2");
  child.setProcessEnvironment(environment);
  child.setProcessChannelMode(QProcess::MergedChannels);
  child.start("/proc/self/exe",
              {"--gtest_filter=*Access.NothingIsCutAt720Lines*:*Access.AFrameHasThePixelsOfTheScreen*"});
  ASSERT_TRUE(child.waitForFinished(120'000));
  const QByteArray said = child.readAll();
  EXPECT_EQ(child.exitCode(), 0) << said.toStdString();
  EXPECT_TRUE(said.contains("4 tests ran") || said.contains("[  PASSED  ] 4 tests.")) << said.toStdString();
}

TEST_P(Access, AFrameHasThePixelsOfTheScreen) {
  const double ratio = qEnvironmentVariable("QT_SCALE_FACTOR", "1").toDouble();
  for (const PageId page : testing::kAllPages) {
    show(page);
    EXPECT_EQ(window_->grab().toImage().size(), window_->size() * ratio);
  }
}

TEST(Colors, WordsAreReadableOnEveryGround) {
  for (const Theme& t : {Theme::light(), Theme::dark()}) {
    SCOPED_TRACE(t.is_dark ? "dark" : "light");
    const std::pair<const char*, QColor> grounds[] = {
        {"window", t.window}, {"surface", t.surface}, {"raised", t.raised}, {"selection", t.selection}};
    const std::pair<const char*, QColor> words[] = {{"text", t.text},       {"faint", t.faint}, {"error", t.error},
                                                    {"warning", t.warning}, {"info", t.info},   {"accent", t.accent}};
    for (const auto& [ground, under] : grounds) {
      for (const auto& [word, over] : words) EXPECT_GE(contrast(over, under), 4.5) << word << " on " << ground;
    }
    EXPECT_GE(contrast(t.accent_text, t.accent), 4.5);
    for (const QColor& ground : {t.added, t.removed}) EXPECT_GE(contrast(t.text, ground), 4.5);
    // Marks and curves: WCAG requires 3:1 for graphics.
    for (const QColor& mark : {t.peak, t.what_if}) EXPECT_GE(contrast(mark, t.surface), 3);
  }
}

TEST(Colors, TheContrastIsThatOfWcag) {
  EXPECT_NEAR(contrast(Qt::black, Qt::white), 21, 0.01);
  EXPECT_NEAR(contrast(Qt::white, Qt::white), 1, 0.01);
  EXPECT_NEAR(contrast(QColor(0x77, 0x77, 0x77), Qt::white), 4.48, 0.01);
}

TEST(Colors, NamesAreReadableOnTheColorsOfTheTimeline) {
  for (const Scheme scheme : {Scheme::light, Scheme::dark}) {
    set_scheme(scheme);
    const Theme& t = theme();
    std::vector<QColor> grounds = {t.phase(model::Phase::forward), t.phase(model::Phase::backward),
                                   t.phase(model::Phase::optimizer), t.phase(model::Phase::evaluation),
                                   t.phase(model::Phase::other)};
    for (int i = 0; i < 500; ++i) grounds.push_back(t.name("operator" + std::to_string(i)));
    for (const QColor& ground : grounds)
      EXPECT_GE(contrast(text_on(ground), ground), 4.5) << ground.name().toStdString();
  }
  set_scheme(Scheme::light);
}

TEST(Colors, OperatorsAreVisibleOnTheDarkTimeline) {
  const Theme t = Theme::dark();
  for (int i = 0; i < 2000; ++i) {
    const QColor color = t.name("operator" + std::to_string(i));
    for (const QColor& ground : {t.surface, t.window})
      EXPECT_GE(contrast(color, ground), 3) << color.name().toStdString();
  }
}

}  // namespace
}  // namespace tapelens::gui
