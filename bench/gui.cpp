// tapelens-bench-gui [EVENTS...]: cost of the window. For each recording, by default of 1, 10 and 100 thousand and 10
// million events: the time to the first picture, frames of a scripted walk through the timeline at 1920x1080 on one
// core (p50, p99, max), the time from a tick to the what-if curve, and the total memory.
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QMouseEvent>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "gui/app/main_window.h"
#include "gui/timeline/timeline_page.h"
#include "testing/synthetic.h"

namespace tapelens::bench {
namespace {

using gui::Part;

constexpr int kZoomFrames = 120, kPanFrames = 120, kHoverFrames = 200;

class Frames {
 public:
  void add(double ms) { ms_.push_back(ms); }
  void print(const char* what) {
    std::ranges::sort(ms_);
    std::printf("  %-34s %5zu frames   p50 %6.2f   p99 %6.2f   max %6.2f ms\n", what, ms_.size(), at(0.5), at(0.99),
                ms_.back());
    std::fflush(stdout);
  }
  void add_all(const Frames& other) { ms_.insert(ms_.end(), other.ms_.begin(), other.ms_.end()); }

 private:
  double at(double share) const {
    return ms_[std::min(ms_.size() - 1, static_cast<size_t>(share * static_cast<double>(ms_.size())))];
  }
  std::vector<double> ms_;
};

int not_painted_once = 0;  // frames

double ms_of(const QElapsedTimer& timer) { return static_cast<double>(timer.nsecsElapsed()) / 1e6; }

bool wait_for(const std::function<bool()>& there, int seconds) {
  QElapsedTimer timer;
  timer.start();
  while (!there()) {
    if (timer.elapsed() > seconds * 1000) return false;
    QApplication::processEvents(QEventLoop::WaitForMoreEvents);
  }
  return true;
}

// Counts how often a widget is painted.
class Paints : public QObject {
 public:
  int count = 0;
  bool eventFilter(QObject*, QEvent* event) override {
    if (event->type() == QEvent::Paint) ++count;
    return false;
  }
};

// Time from a change of the picture to its last pixel, with the event loop's work.
template <class Change>
double frame(QWidget& view, Change change) {
  Paints paints;
  view.installEventFilter(&paints);
  QElapsedTimer timer;
  timer.start();
  change();
  QApplication::sendPostedEvents();
  const double ms = ms_of(timer);
  view.removeEventFilter(&paints);
  if (paints.count != 1) ++not_painted_once;
  return ms;
}

void walk(gui::MainWindow& window, Frames& all) {
  gui::Session& session = window.session();
  gui::TimelineView& view = static_cast<gui::TimelinePage&>(window.page(gui::PageId::timeline)).timeline();
  const gui::Subject& subject = session.subject();
  const auto look = [&](model::Interval range) {
    gui::ViewState next = session.view();
    next.range = range;
    session.look(next, false);
  };
  // Zooms from the whole run to the operator that made the peak's last allocation, and back.
  const auto& operators = subject.of.process.operators;
  const model::AllocationId last = subject.device.when.last_allocation;
  const model::OperatorId op = subject.of.process.allocations.op[last];
  const double end = static_cast<double>(session.document()->facts().duration.ns);
  const double to_begin = static_cast<double>(op ? operators.begin[op].ns : subject.device.when.time.ns - 5000);
  const double to_end = static_cast<double>(op ? operators.end[op].ns : subject.device.when.time.ns + 5000);
  Frames zoom, pan, hover, regroup;
  for (int i = 0; i <= 2 * kZoomFrames; ++i) {
    const double share = 1 - std::abs(i - kZoomFrames) / static_cast<double>(kZoomFrames);
    const double length = end * std::pow(std::max(to_end - to_begin, 2000.0) / end, share);
    const double middle = (to_begin + to_end) / 2;
    const double begin = std::clamp(middle - length / 2, 0.0, end - length);
    zoom.add(frame(view, [&] {
      look({model::Time{static_cast<int64_t>(begin)}, model::Time{static_cast<int64_t>(begin + length)}});
    }));
  }
  for (const double part : {1.0 / 3, 1.0 / 100, 1.0 / 10000}) {
    for (int i = 0; i < kPanFrames; ++i) {
      const double begin = i * (1 - part) * end / kPanFrames;
      pan.add(frame(view, [&] {
        look({model::Time{static_cast<int64_t>(begin)}, model::Time{static_cast<int64_t>(begin + part * end)}});
      }));
    }
    for (int i = 0; i < kHoverFrames; ++i) {
      const QPoint place(view.lanes().picture_left() + i * view.lanes().picture_width() / kHoverFrames,
                         view.lanes().curve.top() + (i * 37) % (view.height() - view.lanes().curve.top()));
      hover.add(frame(view, [&] {
        QMouseEvent move(QEvent::MouseMove, place, view.mapToGlobal(place), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
        QApplication::sendEvent(&view, &move);
      }));
    }
    look({model::Time{0}, model::Time{static_cast<int64_t>(end)}});
    for (size_t by = 0; by < gui::kCurveBys; ++by) {
      regroup.add(frame(view, [&] {
        gui::ViewState next = session.view();
        next.by = static_cast<peak::By>(by);
        session.look(next, false);
      }));
    }
  }
  zoom.print("zoom, whole run to one operator");
  pan.print("pan");
  hover.print("hover");
  regroup.print("regroup");
  for (const Frames& frames : {zoom, pan, hover, regroup}) all.add_all(frames);
  all.print("all of them");
  if (not_painted_once > 0) std::printf("  %-34s %5d\n", "frames not painted, or twice", not_painted_once);
}

void tick(gui::Session& session) {
  if (session.subject().advised->advice.findings.empty()) {
    std::printf("  no finding to tick\n");
    return;
  }
  Frames frames;
  const auto& findings = session.subject().advised->advice.findings;
  for (size_t i = 0; i < 12; ++i) {
    const QString id = QString::fromStdString(findings[i % findings.size()].id);
    bool done = false;
    const auto connection = QObject::connect(&session, &gui::Session::whatIfChanged, [&] { done = true; });
    QElapsedTimer timer;
    timer.start();
    session.tick(id, !session.ticked().contains(id));
    wait_for([&] { return done; }, 60);
    frames.add(ms_of(timer));
    QObject::disconnect(connection);
  }
  frames.print("tick to what-if curve");
}

void use_one_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof(one), &one);
}

int measure(const QString& path) {
  gui::set_scheme(gui::Scheme::light);
  gui::MainWindow window(gui::Scheme::light);
  window.resize(1920, 1080);
  window.show();
  QApplication::processEvents();
  gui::Session& session = window.session();
  QElapsedTimer timer;
  timer.start();
  window.open(path);
  bool failed = false;
  QObject::connect(&session, &gui::Session::failed, [&](const QString& why) {
    failed = true;
    std::fprintf(stderr, "%s\n", why.toUtf8().constData());
  });
  if (!wait_for([&] { return failed || session.document() != nullptr; }, 300) || failed) return 1;
  window.repaint();
  std::printf("  %-34s %8.3f s\n", "first picture", ms_of(timer) / 1e3);
  for (const auto& [part, name] : {std::pair{Part::tracks, "operators laid out"},
                                   {Part::blocks, "allocations laid out"},
                                   {Part::curves, "all groupings"},
                                   {Part::relations, "who used what"},
                                   {Part::advice, "advice"}}) {
    const Part wanted = part;
    if (!wait_for([&] { return session.has(wanted); }, 300)) return 1;
    std::printf("  %-34s %8.3f s\n", name, ms_of(timer) / 1e3);
  }
  wait_for([&] { return session.moment() != nullptr; }, 60);
  use_one_core();
  Frames all;
  walk(window, all);
  tick(session);
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("  %-34s %8.0f MiB\n", "resident at most", static_cast<double>(usage.ru_maxrss) / 1024);
  return 0;
}

int run_child(const char* self, const std::string& path) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execl(self, self, "--recording", path.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tapelens::bench

int main(int argc, char** argv) {
  using namespace tapelens;
  if (argc == 3 && std::string_view(argv[1]) == "--recording") {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    qputenv("XDG_CONFIG_HOME", "/nonexistent");
    qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString&) {});
    const QApplication application(argc, argv);
    return bench::measure(QString::fromLocal8Bit(argv[2]));
  }
  std::vector<uint64_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  if (sizes.empty()) sizes = {1'000, 10'000, 100'000, 10'000'000};
  for (const uint64_t size : sizes) {
    if (size == 0) {
      std::fprintf(stderr, "usage: tapelens-bench-gui [EVENTS...]\n");
      return 2;
    }
    const auto recording = testing::SyntheticRecording::make({.events = size});
    if (!recording) {
      std::fprintf(stderr, "tapelens-bench-gui: %s\n", recording.error().message.c_str());
      return 1;
    }
    std::printf("%llu events\n", static_cast<unsigned long long>((*recording).events()));
    if (bench::run_child("/proc/self/exe", (*recording).path()) != 0) return 1;
  }
  return 0;
}
