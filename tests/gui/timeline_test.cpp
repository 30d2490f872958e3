// The painted timeline, and its reactions to the mouse and the keyboard.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>
#include <QTextBrowser>
#include <QWheelEvent>
#include <random>

#include "gui/models/facts.h"
#include "gui/timeline/timeline_page.h"
#include "gui/widgets/theme.h"
#include "testing/trace_builder.h"
#include "tests/gui/advice_recording.h"
#include "tests/gui/support/recording.h"

namespace tapelens::gui {
namespace {

class OnTimeline : public ::testing::Test {
 protected:
  void SetUp() override {
    set_scheme(Scheme::light);
    page.resize(1100, 700);
    page.show();
    open(testing::synthetic_recording(12'000));
  }
  void open(const QString& path) {
    session.open(path);
    ASSERT_TRUE(QTest::qWaitFor([&] { return session.has(Part::advice) && session.moment() != nullptr; }, 60'000));
    QApplication::processEvents();
    view.setFocus();
  }
  QImage grabbed() { return view.grab().toImage().convertToFormat(QImage::Format_RGB32); }
  void wheel(QPoint place, int notches, Qt::KeyboardModifiers modifiers = {}) {
    QWheelEvent event(place, view.mapToGlobal(place), {}, QPoint(0, 120 * notches), Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(&view, &event);
  }
  void drag(QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = {}) {
    QTest::mousePress(&view, Qt::LeftButton, modifiers, from);
    for (int i = 1; i <= 8; ++i) {
      const QPoint at = from + (to - from) * i / 8;
      QMouseEvent move(QEvent::MouseMove, at, view.mapToGlobal(at), Qt::NoButton, Qt::LeftButton, modifiers);
      QApplication::sendEvent(&view, &move);
    }
    QTest::mouseRelease(&view, Qt::LeftButton, modifiers, to);
  }
  void look(Interval range) {
    ViewState next = session.view();
    next.range = range;
    session.look(next);
    QApplication::processEvents();
  }
  const Lanes& lanes() { return view.lanes(); }
  QPoint in(const QRect& lane, double across, double down = 0.5) {
    return {lane.left() + static_cast<int>(across * lane.width()), lane.top() + static_cast<int>(down * lane.height())};
  }
  // The middle of a block that is wide and high enough for a click.
  std::pair<AllocationId, QPoint> some_block() {
    const auto& blocks = *session.subject().blocks;
    const picture::ByteAxis bytes{0, blocks.shown(), lanes().blocks.height()};
    std::pair<AllocationId, QPoint> found;
    blocks.visit(view.scene().axis, bytes, view.scene().columns, [&](const picture::Blocks::Rectangle& r) {
      if (found.first || r.x1 - r.x0 < 40 || r.y1 - r.y0 < 2 ||
          session.subject().of.analysis.provenance().saves(r.allocation).empty())
        return;
      found = {r.allocation, lanes().blocks.topLeft() + QPoint((r.x0 + r.x1) / 2, (r.y0 + r.y1) / 2)};
    });
    return found;
  }

  Session session;
  TimelinePage page{session};
  TimelineView& view = page.timeline();
};

// For each column, the highest pixel in a colour of a group.
std::vector<int> tops(const QImage& image, const QRect& lane, const Scene& scene) {
  std::vector<int> out;
  for (int c = 0; c < lane.width(); ++c) {
    int top = lane.bottom() + 1;
    for (int y = lane.bottom(); y >= lane.top(); --y) {
      const picture::Pixel p = image.pixel(lane.left() + c, y);
      const bool is_group = std::ranges::any_of(
          scene.grounds, [&](const Ground& g) { return p == g.pixel || (p == g.ink && g.ink != 0); });
      if (is_group) top = y;
    }
    out.push_back(top);
  }
  return out;
}

TEST_F(OnTimeline, WhatIsSelectedHasItsStackAndTheFindingsAboutIt) {
  const testing::AdviceRecording recording;
  session.close();
  open(recording.path());
  const Advised& advised = *session.subject().advised;
  const auto change = std::ranges::find_if(advised.changes, [](const auto& c) { return !c.what.without.empty(); });
  ASSERT_NE(change, advised.changes.end());
  const advise::Finding& finding = advised.advice.findings[static_cast<size_t>(change - advised.changes.begin())];
  ViewState next = session.view();
  next.allocation = session.subject().of.process.saves.allocation[change->what.without.front()];
  session.look(next);
  auto* inspector = page.findChild<QTextBrowser*>();
  const QString said = inspector->toPlainText().remove(QChar(0x200b));
  EXPECT_TRUE(said.contains(QString::fromStdString(finding.title))) << said.toStdString();
  EXPECT_TRUE(said.contains("Stack, innermost frame first")) << said.toStdString();
  Q_EMIT inspector->anchorClicked(QUrl(QString::fromStdString("finding:" + finding.id)));
  EXPECT_EQ(session.view().page, PageId::advice);
  EXPECT_EQ(session.view().finding, QString::fromStdString(finding.id));
}

TEST_F(OnTimeline, TheCurveReadBackFromThePictureIsTheModels) {
  std::mt19937_64 random(3);
  const Subject& subject = session.subject();
  for (int i = 0; i < 12; ++i) {
    const int64_t whole = session.document()->facts().duration.ns;
    const int64_t length = std::max<int64_t>(picture::kLeastShown, whole >> (i % 8));
    const int64_t begin = static_cast<int64_t>(random() % static_cast<uint64_t>(whole - length + 1));
    ViewState next = session.view();
    next.range = {Time{begin}, Time{begin + length}};
    next.by = static_cast<peak::By>(i % 7);
    next.at.reset();
    session.look(next);
    // Paints without the overlays, which are the peak's mark and the cursor.
    QImage image(view.size(), QImage::Format_RGB32);
    {
      ImageSurface surface(image);
      surface.fill(QRect(QPoint(), view.size()), {pixel(theme().surface), 0, {}});
      paint_curve(surface, view.scene(), lanes().curve);
    }
    const auto found = tops(image, lanes().curve, view.scene());
    const double scale = lanes().curve.height() / static_cast<double>(view.scene().top.value);
    for (int c = 0; c < lanes().curve.width(); ++c) {
      const picture::TimeAxis& axis = view.scene().axis;
      const Interval column{axis.time_of(c), axis.time_of(c + 1)};
      const double wanted = static_cast<double>(subject.timeline.largest(column).bytes.value) * scale;
      ASSERT_NEAR(lanes().curve.bottom() + 1 - found[static_cast<size_t>(c)], wanted, 1.0)
          << "column " << c << " of " << i;
    }
  }
}

TEST_F(OnTimeline, TheWheelZoomsAtTheCursorAndDraggingPans) {
  const QPoint place = in(lanes().curve, 0.3);
  const double x = place.x() - lanes().picture_left();
  const Time under = view.scene().axis.time_of(x);
  const Interval before = session.view().range;
  wheel(place, 4);
  const Interval zoomed = session.view().range;
  EXPECT_LT(zoomed.end.ns - zoomed.begin.ns, (before.end.ns - before.begin.ns) / 2);
  EXPECT_NEAR(static_cast<double>(view.scene().axis.time_of(x).ns), static_cast<double>(under.ns),
              view.scene().axis.ns_per_pixel() * 2);
  drag(in(lanes().curve, 0.6), in(lanes().curve, 0.4));
  const Interval panned = session.view().range;
  EXPECT_NEAR(static_cast<double>(panned.begin.ns - zoomed.begin.ns),
              0.2 * static_cast<double>(zoomed.end.ns - zoomed.begin.ns), view.scene().axis.ns_per_pixel() * 3);
  wheel(place, -4);
  session.back();
  EXPECT_TRUE(session.can_go_forward());
  for (int i = 0; i < 30; ++i) wheel(place, 10);
  EXPECT_EQ(session.view().range.end.ns - session.view().range.begin.ns, picture::kLeastShown);
}

TEST_F(OnTimeline, KeysZoomPanFitAndFindThePeak) {
  const auto length = [&] { return session.view().range.end.ns - session.view().range.begin.ns; };
  const int64_t at_first = length();
  QTest::keyClick(&view, Qt::Key_W);
  EXPECT_LT(length(), at_first);
  const int64_t begin = session.view().range.begin.ns;
  QTest::keyClick(&view, Qt::Key_D);
  EXPECT_GT(session.view().range.begin.ns, begin);
  QTest::keyClick(&view, Qt::Key_A);
  EXPECT_NEAR(static_cast<double>(session.view().range.begin.ns), static_cast<double>(begin),
              static_cast<double>(at_first) / 1000);
  QTest::keyClick(&view, Qt::Key_S);
  QTest::keyClick(&view, Qt::Key_P);
  EXPECT_TRUE(session.view().range.contains(session.subject().device.when.time));
  EXPECT_LT(length(), at_first);
  QTest::keyClick(&view, Qt::Key_BracketRight);
  const uint32_t step = session.view().step;
  EXPECT_EQ(session.view().range, session.subject().of.bands.steps[step]);
  QTest::keyClick(&view, Qt::Key_BracketRight);
  EXPECT_EQ(session.view().step, step + 1);
  QTest::keyClick(&view, Qt::Key_BracketLeft);
  EXPECT_EQ(session.view().step, step);
  QTest::keyClick(&view, Qt::Key_F);
  EXPECT_EQ(session.view().range, session.subject().busy());
  QTest::keyClick(&view, Qt::Key_F);
  EXPECT_EQ(session.view().range, (Interval{Time{0}, session.document()->facts().duration}));
  QTest::keyClick(&view, Qt::Key_Escape);
  EXPECT_EQ(session.view().step, UINT32_MAX);
}

TEST_F(OnTimeline, ABlockIsToldOfAndSelectedAndItsEventsAreMarked) {
  look(session.subject().of.bands.steps[1]);
  const auto [id, place] = some_block();
  ASSERT_TRUE(id);
  QTest::mouseMove(&view, place);
  const QImage before = grabbed();
  QTest::mouseClick(&view, Qt::LeftButton, {}, place);
  EXPECT_EQ(session.view().allocation, id);
  EXPECT_NE(grabbed(), before);
  QTest::keyClick(&view, Qt::Key_Period);
  const AllocationId next = session.view().allocation;
  EXPECT_GT(next.value, id.value);
  QTest::keyClick(&view, Qt::Key_Comma);
  EXPECT_EQ(session.view().allocation, id);
  QTest::keyClick(&view, Qt::Key_Escape);
  EXPECT_FALSE(session.view().allocation);
}

TEST_F(OnTimeline, AClickOnTheCurveLooksAtTheMomentOfItsColumn) {
  const QPoint place = in(lanes().curve, 0.52);
  QTest::mouseClick(&view, Qt::LeftButton, {}, place);
  ASSERT_TRUE(session.view().at);
  const auto column = static_cast<size_t>(place.x() - lanes().picture_left());
  ASSERT_TRUE(QTest::qWaitFor([&] { return session.moment() != nullptr; }, 10'000));
  EXPECT_EQ(session.moment()->set.bytes, view.scene().columns[column].most);
}

TEST_F(OnTimeline, ShiftAndDragChoosesARangeAndEnterZoomsToIt) {
  const QPoint from = in(lanes().curve, 0.2), to = in(lanes().curve, 0.5);
  const Time begin = view.scene().axis.time_of(from.x() - lanes().picture_left());
  const Time end = view.scene().axis.time_of(to.x() - lanes().picture_left());
  const Interval shown = session.view().range;
  drag(from, to, Qt::ShiftModifier);
  EXPECT_EQ(session.view().range, shown);
  ASSERT_TRUE(view.chosen_range());
  EXPECT_EQ(*view.chosen_range(), (Interval{begin, end}));
  EXPECT_TRUE(view.hint().contains("chosen")) << view.hint().toStdString();
  QTest::keyClick(&view, Qt::Key_Return);
  EXPECT_FALSE(view.chosen_range());
  EXPECT_LE(session.view().range.begin, begin);
  EXPECT_LT(session.view().range.end.ns - session.view().range.begin.ns, (end.ns - begin.ns) * 11 / 10);
}

TEST_F(OnTimeline, ARangeAnswersBesideTheTimeline) {
  drag(in(lanes().curve, 0.2), in(lanes().curve, 0.5), Qt::ShiftModifier);
  ASSERT_TRUE(session.selected_range());
  ASSERT_TRUE(QTest::qWaitFor([&] { return session.range_facts() != nullptr; }, 10'000));
  const RangeFacts facts = *session.range_facts();  // the click below ends them
  const Interval range = *session.selected_range();
  EXPECT_EQ(facts.when, range);

  const Subject& subject = session.subject();
  const Process& p = subject.of.process;
  uint64_t allocations = 0, freed = 0;
  Bytes allocated, stays, before, after;
  for (const AllocationId id : p.allocations.ids()) {
    if (p.allocations.device[id] != subject.device.device || p.allocations.origin[id] != model::Origin::allocator)
      continue;
    const Bytes bytes = p.allocations.bytes[id];
    const Time begin = p.allocations.time[id], end = p.freed(id);
    if (begin < range.begin && end >= range.begin) before += bytes;
    if (begin < range.end && end >= range.end) after += bytes;
    if (!range.contains(begin)) continue;
    ++allocations;
    allocated += bytes;
    if (end < range.end) {
      ++freed;
    } else {
      stays += bytes;
    }
  }
  EXPECT_GT(allocations, 0U);
  EXPECT_EQ(facts.allocations, allocations);
  EXPECT_EQ(facts.allocated, allocated);
  EXPECT_EQ(facts.freed, freed);
  EXPECT_EQ(facts.begin, before);
  EXPECT_EQ(facts.end, after);
  EXPECT_EQ(facts.peak, subject.timeline.largest(range).bytes);
  Bytes listed;
  for (const RangeFacts::Group& group : facts.stay) listed += group.bytes;
  ASSERT_FALSE(facts.stay.empty());
  if (facts.groups == facts.stay.size()) {
    EXPECT_EQ(listed, stays);
  } else {
    EXPECT_LE(listed, stays);
  }

  auto* text = page.findChild<QTextBrowser*>();
  EXPECT_TRUE(text->toPlainText().contains("Selected range")) << text->toPlainText().toStdString();
  EXPECT_TRUE(text->toPlainText().contains(bytes_words(facts.peak).replace(' ', QChar(0xa0))) ||
              text->toPlainText().contains(bytes_words(facts.peak)));
  Q_EMIT text->anchorClicked(QUrl(QString("allocation:%1").arg(facts.stay[0].largest.value)));
  EXPECT_EQ(session.view().allocation, facts.stay[0].largest);
  EXPECT_FALSE(session.selected_range());
  EXPECT_FALSE(view.chosen_range());
  EXPECT_FALSE(text->toPlainText().contains("Selected range"));
}

TEST_F(OnTimeline, TheMinimapMovesWhatIsShownAndStepsZoom) {
  QTest::keyClick(&view, Qt::Key_W);
  QTest::keyClick(&view, Qt::Key_W);
  const int64_t length = session.view().range.end.ns - session.view().range.begin.ns;
  QTest::mouseClick(&view, Qt::LeftButton, {}, in(lanes().minimap, 0.75));
  const Interval range = session.view().range;
  EXPECT_EQ(range.end.ns - range.begin.ns, length);
  EXPECT_TRUE(range.contains(Time{session.document()->facts().duration.ns * 3 / 4}));
  const QPoint band = in(lanes().bands, 0.5, 0.2);
  QTest::mouseClick(&view, Qt::LeftButton, {}, band);
  const uint32_t step = session.view().step;
  ASSERT_LT(step, session.subject().of.steps.size());
  QTest::mouseDClick(&view, Qt::LeftButton, {}, band);
  const Interval when = session.subject().of.bands.steps[step];
  EXPECT_LE(session.view().range.begin, when.begin);
  EXPECT_GE(session.view().range.end, when.end);
}

TEST_F(OnTimeline, CtrlAndTheWheelZoomBytes) {
  look(session.subject().of.bands.steps[1]);
  const QImage before = grabbed();
  const Interval range = session.view().range;
  for (int i = 0; i < 12; ++i) wheel(in(lanes().blocks, 0.5, 0.01), 3, Qt::ControlModifier);
  EXPECT_EQ(session.view().range, range);
  EXPECT_NE(grabbed(), before);
  for (int i = 0; i < 60; ++i) {
    QEvent leave(QEvent::Leave);  // otherwise the cursor's line is in the picture
    QApplication::sendEvent(&view, &leave);
    if (grabbed().copy(lanes().blocks) == before.copy(lanes().blocks)) return;
    wheel(in(lanes().blocks, 0.5, 0.01), -1, Qt::ControlModifier);
  }
  ADD_FAILURE() << "the way out does not stop at what was shown at first";
}

TEST_F(OnTimeline, SmallAllocationsAreAThinLineUntilTheyAreZoomedOutTo) {
  trace::SpoolBuilder b;
  b.at(1'000'000).op("aten::ones").alloc(0x1000, 64 << 20).end_op();
  b.op("aten::ones").alloc(0x2000, 1024).end_op();
  b.at(9'000'000).free(0x1000).free(0x2000);
  b.seal();
  session.close();
  open(QString::fromStdString(b.folder() / "run.tapelens"));
  ASSERT_TRUE(session.subject().blocks->has_small());
  const QRect lane = lanes().blocks;
  const auto pixel_at = [&](int y) { return grabbed().pixelColor(lane.center().x(), lane.top() + y); };
  EXPECT_EQ(pixel_at(0), theme().line);
  EXPECT_NE(pixel_at(kSmallLine), theme().line);
  const QPoint line(lane.center().x(), lane.top() + 1);
  EXPECT_TRUE(view.tip_at(line).contains("Small allocations are not shown"));
  wheel(in(lane, 0.5, 0.9), -1, Qt::ControlModifier);
  grabbed();
  EXPECT_FALSE(view.tip_at(line).contains("Small allocations are not shown"));
  EXPECT_NE(pixel_at(0), theme().line);
}

TEST_F(OnTimeline, FewStepsAreShownAtFirstAndOfManyThoseAroundThePeak) {
  const auto& steps = session.subject().of.bands.steps;
  const Interval shown = session.view().range, whole = session.subject().busy();
  const Time when = session.subject().device.when.time;
  EXPECT_TRUE(shown.contains(when));
  size_t seen = 0;
  for (const Interval& step : steps) seen += step.begin >= shown.begin && step.end <= shown.end;
  if (steps.size() > 14) {
    EXPECT_LE(seen, 3U);
    EXPECT_LT(shown.end.ns - shown.begin.ns, (whole.end.ns - whole.begin.ns) / 2);
  } else {
    EXPECT_GE(seen + 2, steps.size());
  }
}

TEST_F(OnTimeline, SearchHighlightsAndWalksWhatItFinds) {
  auto* field = page.findChild<QLineEdit*>();
  QTest::keyClick(&view, Qt::Key_Slash);
  EXPECT_TRUE(field->hasFocus() || page.focusWidget() == field);
  const QImage before = grabbed();
  QTest::keyClicks(field, "gelu");
  ASSERT_TRUE(QTest::qWaitFor([&] { return session.found() != nullptr && session.found()->filter == "gelu"; }, 10'000));
  const SearchResult& found = *session.found();
  uint64_t counted = 0;
  for (const uint8_t is_found : found.is_allocation) counted += is_found;
  EXPECT_EQ(counted, found.allocations);
  ASSERT_FALSE(found.biggest.empty());
  // The maximum of the search's curve equals the highest sum of matching live bytes, counted event by event.
  const Process& p = session.subject().of.process;
  const peak::Timeline& timeline = session.subject().timeline;
  Bytes sum, most;
  for (uint32_t event = 0; event < timeline.events(); ++event) {
    const AllocationId id = timeline.allocation_of(event);
    if (found.is_allocation[id.value] == 0) continue;
    const bool is_made = timeline.live_after(event) > timeline.live_after_first(event);
    sum = is_made ? sum + p.allocations.bytes[id] : sum - p.allocations.bytes[id];
    most = std::max(most, sum);
  }
  EXPECT_EQ(found.curve.most(), most);
  EXPECT_GT(most, Bytes{});
  EXPECT_EQ(std::ranges::max(view.scene().found), most);
  for (size_t c = 0; c < view.scene().found.size(); ++c) EXPECT_LE(view.scene().found[c], view.scene().columns[c].most);
  const auto labels = page.findChildren<QLabel*>();
  EXPECT_TRUE(std::ranges::any_of(
      labels, [&](const QLabel* label) { return label->text().contains("at most " + bytes_words(most)); }));
  EXPECT_NE(grabbed(), before);
  QTest::keyClick(field, Qt::Key_Return);
  const AllocationId first = session.view().allocation;
  EXPECT_EQ(found.is_allocation[first.value], 1);
  QTest::keyClick(field, Qt::Key_Return);
  const AllocationId second = session.view().allocation;
  EXPECT_NE(second, first);
  QTest::keyClick(field, Qt::Key_Return, Qt::ShiftModifier);
  EXPECT_EQ(session.view().allocation, first);
  QTest::keyClick(field, Qt::Key_Escape);
  EXPECT_TRUE(session.view().filter.isEmpty());
  QTest::keyClicks(field, "no such thing");
  ASSERT_TRUE(QTest::qWaitFor([&] { return session.found() != nullptr; }, 10'000));
  EXPECT_EQ(session.found()->allocations, 0u);
}

TEST_F(OnTimeline, AFieldIsFoundByItsWholeName) {
  ViewState next = session.view();
  next.filter = "GeluBackward0.self";
  session.look(next);
  ASSERT_TRUE(QTest::qWaitFor([&] { return session.found() != nullptr; }, 10'000));
  const Process& p = session.subject().of.process;
  const Text& text = session.document()->text();
  std::vector<uint8_t> wanted(p.allocations.rows() + 1, 0);
  for (uint32_t row = 1; row <= p.saves.rows(); ++row) {
    const model::SaveId save{row};
    if (peak::field_text(p, text, p.saves.node[save], p.saves.field[save]) == "GeluBackward0.self")
      wanted[p.saves.allocation[save].value] = 1;
  }
  EXPECT_GT(session.found()->allocations, 0u);
  EXPECT_EQ(session.found()->is_allocation, wanted);
}

TEST_F(OnTimeline, WhenItIsClosedNothingIsBeingDone) {
  const QString path = testing::synthetic_recording(30'000);
  bool was_busy = false;
  QObject::connect(&session, &Session::progressed, [&](const QString&, double share) {
    if (was_busy || share >= 1 || session.document() == nullptr || session.document()->facts().path != path) return;
    was_busy = true;
    QMetaObject::invokeMethod(&session, &Session::close, Qt::QueuedConnection);
  });
  QSignalSpy told(&session, &Session::progressed), closed(&session, &Session::closed);
  session.open(path);
  ASSERT_TRUE(QTest::qWaitFor([&] { return was_busy && closed.count() == 2; }, 30'000));
  QTest::qWait(50);
  EXPECT_EQ(told.last()[1].toDouble(), 1);
}

TEST_F(OnTimeline, WhatIsTickedIsDrawnOverTheCurve) {
  if (session.subject().advised->advice.findings.empty()) GTEST_FAIL() << "the recording has no finding";
  const QImage before = grabbed();
  session.tick(QString::fromStdString(session.subject().advised->advice.findings.front().id), true);
  ASSERT_TRUE(QTest::qWaitFor([&] { return session.what_if() != nullptr; }, 10'000));
  QApplication::processEvents();
  EXPECT_NE(grabbed(), before);
  EXPECT_LE(session.what_if()->after, session.what_if()->before);
  // The curve of the what-if has the predicted peak.
  std::vector<Bytes> lowered;
  const picture::TimeAxis axis({Time{0}, session.document()->facts().duration}, 500);
  session.what_if()->curve.columns(session.subject().timeline, axis, lowered);
  EXPECT_EQ(std::ranges::max(lowered), session.what_if()->after);
}

TEST_F(OnTimeline, BackComesToWhatWasShown) {
  const Interval first = session.view().range;
  QTest::qWait(600);
  QTest::keyClick(&view, Qt::Key_W);
  QTest::keyClick(&view, Qt::Key_W);  // continues the zoom: one step of the history
  const Interval second = session.view().range;
  QTest::qWait(600);
  QTest::keyClick(&view, Qt::Key_D);
  session.back();
  EXPECT_EQ(session.view().range, second);
  session.back();
  EXPECT_EQ(session.view().range, first);
  session.forward();
  EXPECT_EQ(session.view().range, second);
}

// Two bursts of allocations, one and ten seconds after the start. The run ends after twenty seconds.
class OnPauses : public OnTimeline {
 protected:
  static constexpr int64_t kSecond = 1'000'000'000, kBurst = 40'000'000;
  const Interval first{Time{kSecond}, Time{kSecond + kBurst}}, second{Time{10 * kSecond}, Time{10 * kSecond + kBurst}};

  void SetUp() override {
    OnTimeline::SetUp();
    uint64_t address = 0;
    for (const Interval& burst : {first, second}) {
      for (int64_t i = 0; i < 40; ++i) {
        const auto begin = static_cast<uint64_t>(burst.begin.ns + i * 1'000'000);
        b.at(begin).op("aten::ones").alloc(address += 0x1000, 2048).at(begin + 999'000).end_op();
      }
    }
    b.at(20 * kSecond).free(0x1000);
    b.seal();
    session.close();
    open(QString::fromStdString(b.folder() / "run.tapelens"));
    look({Time{0}, session.document()->facts().duration});
  }
  void choose(picture::AxisKind kind) {
    auto* list = page.findChild<QComboBox*>("axis");
    const int row = list->findData(static_cast<int>(kind));
    list->setCurrentIndex(row);
    Q_EMIT list->activated(row);
    QApplication::processEvents();
  }
  picture::AxisKind chosen() {
    return static_cast<picture::AxisKind>(page.findChild<QComboBox*>("axis")->currentData().toInt());
  }
  // The part of the picture that an interval has.
  double share(Interval interval) {
    const picture::TimeAxis& axis = view.scene().axis;
    return axis.columns_of(interval) / axis.width;
  }
  int x_of(int64_t ns) { return static_cast<int>(view.scene().x_of(Time{ns})); }

  trace::SpoolBuilder b;
};

TEST_F(OnPauses, TheBurstsHaveTheWidthAndEachAxisHasItsOwn) {
  using enum picture::AxisKind;
  EXPECT_EQ(chosen(), without_pauses);
  EXPECT_GT(share(first) + share(second), 0.85);
  EXPECT_EQ(picture::breaks(view.scene().axis).size(), 3U);
  const QImage without = grabbed();
  const Interval shown = session.view().range;
  choose(time);
  EXPECT_EQ(session.view().range, shown);
  EXPECT_LT(share(first) + share(second), 0.01);
  EXPECT_TRUE(picture::breaks(view.scene().axis).empty());
  EXPECT_NE(grabbed(), without);
  choose(events);
  EXPECT_NEAR(share(first), share(second), 0.03);
  EXPECT_GT(share(first), 0.45);
  session.back();
  EXPECT_EQ(chosen(), time);
  session.back();
  QEvent leave(QEvent::Leave);
  QApplication::sendEvent(&view, &leave);
  EXPECT_EQ(grabbed(), without);
}

TEST_F(OnPauses, APauseIsNamedAndDurationsStayReal) {
  const QPoint pause(x_of(5 * kSecond), lanes().curve.center().y());
  EXPECT_TRUE(view.tip_at(pause).contains("Pause of 8.96")) << view.tip_at(pause).toStdString();
  EXPECT_TRUE(view.tip_at({pause.x(), lanes().axis.center().y()}).contains("Pause of 8.96"));
  const QPoint busy(x_of(kSecond + kBurst / 2), lanes().curve.center().y());
  EXPECT_FALSE(view.tip_at(busy).contains("Pause"));
  drag({x_of(kSecond + kBurst / 2), busy.y()}, {x_of(10 * kSecond + kBurst / 2), busy.y()}, Qt::ShiftModifier);
  ASSERT_TRUE(view.chosen_range());
  EXPECT_NEAR(static_cast<double>(view.chosen_range()->end.ns - view.chosen_range()->begin.ns), 9e9, 1e6);
  QTest::keyClick(&view, Qt::Key_Return);
  EXPECT_EQ(picture::breaks(view.scene().axis).size(), 1U);
  EXPECT_LT(share({first.end, second.begin}), 0.05);
}

TEST_F(OnPauses, TheWheelKeepsTheTimeUnderTheCursorAndTheMinimapFollowsTheAxis) {
  for (const picture::AxisKind kind : {picture::AxisKind::without_pauses, picture::AxisKind::events}) {
    choose(kind);
    look({Time{0}, session.document()->facts().duration});
    const QPoint place(x_of(10 * kSecond + kBurst / 3), lanes().curve.center().y());
    const Time under = view.scene().axis.time_of(place.x() - lanes().picture_left());
    for (int i = 0; i < 4; ++i) {
      wheel(place, 1);
      EXPECT_NEAR(view.scene().x_of(under), place.x(), 1.5);
    }
    const QRect map = lanes().minimap;
    const double x = minimap_axis(session, map.width(), 1).x_of(Time{kSecond + kBurst / 2});
    QTest::mouseClick(&view, Qt::LeftButton, {}, QPoint(map.left() + static_cast<int>(x), map.center().y()));
    EXPECT_TRUE(session.view().range.contains(Time{kSecond + kBurst / 2}));
    EXPECT_FALSE(session.view().range.contains(Time{10 * kSecond + kBurst / 2}));
  }
}

TEST_F(OnTimeline, ARunWithoutPausesHasNoAxisWithoutThem) {
  auto* list = page.findChild<QComboBox*>("axis");
  EXPECT_EQ(list->currentText(), "Time");
  EXPECT_EQ(view.scene().axis.scale(), nullptr);
  ViewState next = session.view();
  next.axis = picture::AxisKind::events;
  session.look(next);
  EXPECT_EQ(list->currentText(), "Events");
  ASSERT_NE(view.scene().axis.scale(), nullptr);
  // The curve's columns still show the most of their times.
  for (size_t c = 0; c < view.scene().columns.size(); ++c) {
    const auto column = static_cast<double>(c);
    const Interval times{view.scene().axis.time_of(column), view.scene().axis.time_of(column + 1)};
    EXPECT_EQ(view.scene().columns[c].most, session.subject().timeline.largest(times).bytes);
  }
}

// A run that fails in its first step, and frees its memory a second later.
TEST(FirstView, EndsAtTheFailure) {
  trace::SpoolBuilder b;
  b.at(1'000'000).enter("net", "Net").op("aten::mm").alloc(1, 4000).end_op();
  b.at(3'000'000).op("aten::mm").out_of_memory(1 << 20, 4000, 4000, 0, "cpu").end_op().leave();
  b.at(1'000'000'000).free(1);
  b.seal();
  Session session;
  session.open(QString::fromStdString(b.folder() / "run.tapelens"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return session.document() != nullptr; }, 10'000));
  const Interval shown = session.view().range;
  EXPECT_LE(shown.begin.ns, 1'000'010);
  EXPECT_GT(shown.end.ns, 3'000'020);
  EXPECT_LT(shown.end.ns, 3'200'000);
  EXPECT_GT(session.subject().busy().end.ns, 900'000'000);
}

}  // namespace
}  // namespace tapelens::gui
