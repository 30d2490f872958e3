// The timeline of a device with blocks, segments and failed requests.
#include <gtest/gtest.h>

#include <QTest>
#include <QTextBrowser>
#include <QToolTip>

#include "gui/models/facts.h"
#include "gui/models/out_of_memory.h"
#include "gui/timeline/scene.h"
#include "gui/timeline/timeline_page.h"
#include "gui/widgets/theme.h"
#include "tests/gui/support/device_recording.h"
#include "tests/gui/support/recording.h"

namespace tapelens::gui {
namespace {

class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    set_scheme(Scheme::light);
    page.resize(1200, 800);
    page.show();
    open(recording.path());
  }
  void open(const QString& path) {
    session.open(path);
    const auto is_open = [&] {
      return session.document() != nullptr && session.document()->facts().path == path && session.has(Part::advice) &&
             session.moment() != nullptr;
    };
    ASSERT_TRUE(QTest::qWaitFor(is_open, 60'000));
    QApplication::processEvents();
    view.setFocus();
  }
  size_t subject_of(const QString& name) {
    const auto& all = session.document()->subjects();
    const auto at = std::ranges::find(all, name, &Subject::name);
    EXPECT_NE(at, all.end()) << name.toStdString();
    return static_cast<size_t>(at - all.begin());
  }
  void look_at(size_t subject) {
    ViewState next = session.view();
    next.subject = subject;
    session.look(next);
    QApplication::processEvents();
  }
  QImage grabbed() { return view.grab().toImage().convertToFormat(QImage::Format_RGB32); }
  // The number of the lane's columns that have a pixel of that colour.
  int columns_with(const QImage& image, const QRect& lane, const QColor& color) {
    int count = 0;
    for (int x = lane.left(); x <= lane.right(); ++x) {
      for (int y = lane.top(); y <= lane.bottom(); ++y) {
        if (image.pixel(x, y) != color.rgb()) continue;
        ++count;
        break;
      }
    }
    return count;
  }

  testing::DeviceRecording recording;
  Session session;
  TimelinePage page{session};
  TimelineView& view = page.timeline();
};

TEST_F(OnDevice, TheLinesAreThoseOfTheAllocatorAndThereIsRoomForThem) {
  const Subject& subject = session.subject();
  ASSERT_EQ(subject.name, "cuda:0");
  ASSERT_NE(subject.lines, nullptr);
  const peak::DeviceMemory& memory = subject.of.analysis.memory(subject.device.device);
  const Scene& scene = view.scene();
  EXPECT_GE(scene.top, memory.reserved_peak);
  EXPECT_EQ(std::ranges::max(scene.allocated), memory.allocated_peak);
  EXPECT_EQ(std::ranges::max(scene.active), memory.active_peak);
  EXPECT_EQ(std::ranges::max(scene.reserved), memory.reserved_peak);
  EXPECT_GT(memory.active_peak, memory.allocated_peak) << "the recording has blocks that wait";
  EXPECT_EQ(memory.reserved.value.back(), static_cast<int64_t>(recording.reserved()));
  // The line of the reserved bytes is the upper edge of the painted area.
  const QRect& lane = view.lanes().curve;
  const QImage image = grabbed();
  EXPECT_GT(columns_with(image, lane, theme().reserved), lane.width() / 2);
  ViewState next = session.view();
  next.subject = subject_of("cpu");
  session.look(next);
  QApplication::processEvents();
  EXPECT_EQ(session.subject().lines, nullptr);
  EXPECT_TRUE(view.scene().allocated.empty());
  EXPECT_EQ(columns_with(grabbed(), view.lanes().curve, theme().reserved), 0);
}

TEST_F(OnDevice, ValuesAtAMomentAreToldInTheTipTheHintAndTheInspector) {
  const Subject& subject = session.subject();
  const auto& columns = view.scene().columns;
  const auto largest = static_cast<size_t>(
      std::ranges::max_element(columns, {}, [](const picture::PixelColumn& c) { return c.most; }) - columns.begin());
  const Time time = subject.timeline.moment_after_first(columns[largest].events).time;
  const peak::DeviceMemory& memory = subject.lines->memory;
  const QString allocated = bytes_words(Bytes{memory.allocated.at(time)});
  const QString reserved = bytes_words(Bytes{memory.reserved.at(time)});
  const QString tip = column_tip(view.scene(), largest);
  for (const QString& word : {QString("allocated"), allocated, QString("reserved"), reserved})
    EXPECT_TRUE(tip.contains(word)) << tip.toStdString();
  QTest::mouseMove(&view, view.lanes().curve.center());
  EXPECT_TRUE(view.hint().contains(" allocated")) << view.hint().toStdString();
  EXPECT_TRUE(view.hint().contains(" reserved")) << view.hint().toStdString();
  const QString summary = page.findChild<QTextBrowser*>()->toPlainText();
  EXPECT_TRUE(summary.contains("reserved, in segments")) << summary.toStdString();
  // The facts of an allocation include its block.
  const AllocationId weight{2};
  const auto facts = facts_of(*session.document(), subject, weight, true);
  EXPECT_EQ(facts.block, "1.0 MiB at 0x7f1200000000, default stream");
  EXPECT_TRUE(allocation_tip(session, weight).contains(facts.block));
}

TEST_F(OnDevice, TheOtherDevicesAreLanesAndAClickLooksAtThem) {
  const auto& others = view.lanes().others;
  ASSERT_EQ(others.size(), 2u);
  const size_t second = subject_of("cuda:1");
  const auto lane = std::ranges::find(others, second, &Lanes::Other::subject);
  ASSERT_NE(lane, others.end());
  EXPECT_GT(columns_with(grabbed(), lane->where, theme().reserved), lane->where.width() / 2);
  EXPECT_TRUE(subject_tip(session.document()->subject(second)).contains("reserved at most"));
  const Interval shown = session.view().range;
  QTest::mouseClick(&view, Qt::LeftButton, {}, lane->where.center());
  EXPECT_EQ(session.view().subject, second);
  EXPECT_EQ(session.view().range, shown);
}

TEST_F(OnDevice, ARequestThatFoundNoMemoryIsMarkedListedAndGoneTo) {
  const Subject& subject = session.subject();
  ASSERT_EQ(subject.out_of_memory.size(), 1u);
  const model::OutOfMemoryId request = subject.out_of_memory[0];
  const auto facts = out_of_memory_facts(*session.document(), subject, request);
  EXPECT_EQ(facts.time.ns, static_cast<int64_t>(recording.oom_time()));
  EXPECT_EQ(facts.bytes, Bytes{512 << 20});
  EXPECT_EQ(facts.allocated.value, static_cast<int64_t>(recording.allocated()));
  EXPECT_EQ(facts.module, "Net.head");
  const QString words = out_of_memory_words(facts);
  EXPECT_EQ(words, "no memory for 512.0 MiB, requested by aten::mm at train.py:12 Net.forward");
  EXPECT_TRUE(page.findChild<QTextBrowser*>()->toPlainText().contains(words));
  EXPECT_GT(columns_with(grabbed(), view.lanes().curve, theme().error), 0);
  // By the keyboard, from another part of the timeline.
  ViewState away = session.view();
  away.range = {Time{0}, Time{picture::kLeastShown}};
  session.look(away);
  QApplication::processEvents();
  EXPECT_EQ(columns_with(grabbed(), view.lanes().curve, theme().error), 0);
  QTest::keyClick(&view, Qt::Key_O);
  ASSERT_TRUE(session.view().at);
  EXPECT_EQ(session.view().at->time, facts.time);
  EXPECT_TRUE(session.view().range.contains(facts.time));
  QTest::keyClick(&view, Qt::Key_O);  // the last failed request
  EXPECT_EQ(session.view().at->time, facts.time);
  QTest::keyClick(&view, Qt::Key_Escape);
  EXPECT_FALSE(session.view().at);
  // By a click on its cross.
  grabbed();
  const int x = static_cast<int>(view.scene().x_of(facts.time));
  QTest::mouseClick(&view, Qt::LeftButton, {}, {x, view.lanes().curve.top() + 7});
  ASSERT_TRUE(session.view().at);
  EXPECT_EQ(session.view().at->time, facts.time);
  EXPECT_TRUE(out_of_memory_tip(session, request).contains("5.0 MiB")) << "what the driver had";
  // By its link in the list.
  QTest::keyClick(&view, Qt::Key_Escape);
  Q_EMIT page.findChild<QTextBrowser*>()->anchorClicked(QUrl(QString("oom:%1").arg(request.value)));
  ASSERT_TRUE(session.view().at);
}

TEST_F(OnDevice, ARecordingWithoutADeviceHasNoneOfIt) {
  open(testing::synthetic_recording(12'000));
  EXPECT_EQ(session.subject().lines, nullptr);
  EXPECT_TRUE(session.subject().out_of_memory.empty());
  EXPECT_EQ(columns_with(grabbed(), view.lanes().curve, theme().reserved), 0);
  QTest::keyClick(&view, Qt::Key_O);
  EXPECT_FALSE(session.view().at);
}

TEST_F(OnDevice, OWalksAllRequestsInTheOrderOfTimeAndShiftOBack) {
  trace::SpoolBuilder b;
  b.block(0x1000000, 1 << 20, 1 << 20, "cuda:0");
  std::vector<uint64_t> times;
  for (const uint64_t bytes : {1 << 30, 1 << 29, 1 << 28}) {
    b.at(b.now() + 50'000).out_of_memory(bytes, 1 << 20, 2 << 20, UINT64_MAX, "cuda:0");
    times.push_back(b.now());
    b.out_of_memory(7, 1, 2, UINT64_MAX, "cuda:1");  // requests of another device are listed there
  }
  b.op("aten::mm").alloc(0x10, 64).end_op();
  const auto sealed = b.seal_all();
  open(QString::fromStdString(b.folder() / "run.tapelens"));
  ASSERT_EQ(session.subject().name, "cuda:0");
  EXPECT_TRUE(session.subject().lines->reserved.is_flat()) << "no segment was told of";
  std::vector<uint64_t> walked;
  const auto walk = [&](Qt::KeyboardModifiers modifiers) {
    QTest::keyClick(&view, Qt::Key_O, modifiers);
    walked.push_back(static_cast<uint64_t>(session.view().at->time.ns));
  };
  for (int i = 0; i < 4; ++i) walk({});
  EXPECT_EQ(walked, (std::vector{times[0], times[1], times[2], times[2]}));
  walked.clear();
  for (int i = 0; i < 3; ++i) walk(Qt::ShiftModifier);
  EXPECT_EQ(walked, (std::vector{times[1], times[0], times[0]}));
}

// Categories also differ without colours, and each line of a device differs from its background.
TEST(DeviceColors, CategoriesDifferInColorOrPattern) {
  for (const Scheme scheme : {Scheme::light, Scheme::dark}) {
    set_scheme(scheme);
    const QColor waiting = theme().category(peak::HolderKind::allocator);
    for (size_t k = 0; k < peak::kHolderKinds; ++k) {
      const auto kind = static_cast<peak::HolderKind>(k);
      if (kind == peak::HolderKind::allocator) continue;
      EXPECT_GE(contrast(waiting, theme().category(kind)), 1.5) << peak::category_name(kind);
      const Ground a = group_ground(peak::By::category, static_cast<uint8_t>(kind));
      EXPECT_NE(a.pattern, picture::Pattern::hatched) << peak::category_name(kind);
    }
    EXPECT_EQ(group_ground(peak::By::category, static_cast<uint8_t>(peak::HolderKind::allocator)).pattern,
              picture::Pattern::hatched);
    EXPECT_GE(contrast(waiting, theme().ink(peak::HolderKind::allocator)), 1.5) << "the pattern is seen";
    EXPECT_GE(contrast(theme().reserved, theme().surface), 3);
  }
  set_scheme(Scheme::light);
}

}  // namespace
}  // namespace tapelens::gui
