// tapelens-bench-live FOLDER: the window follows the spools in the folder until their processes have ended. For each
// picture it prints the time (CLOCK_MONOTONIC, in seconds), the events and the live MiB that the picture shows.
#include <QApplication>
#include <QEvent>
#include <QObject>
#include <cstdio>

#include "gui/app/main_window.h"
#include "gui/live/live_curve.h"
#include "gui/live/live_page.h"
#include "trace/spool_writer.h"

namespace tapelens::bench {
namespace {

// The curve is painted once for each picture.
class Pictures : public QObject {
 public:
  explicit Pictures(const gui::LivePage& page) : page_(page) {}
  bool eventFilter(QObject*, QEvent* event) override {
    const gui::LiveFigures* figures = page_.figures();
    if (event->type() != QEvent::Paint || figures == nullptr) return false;
    std::printf("%.6f %llu %.1f\n", static_cast<double>(trace::monotonic_ns()) / 1e9,
                static_cast<unsigned long long>(figures->events), static_cast<double>(figures->live.value) / (1 << 20));
    std::fflush(stdout);
    return false;
  }

 private:
  const gui::LivePage& page_;
};

int follow(const QString& folder) {
  gui::set_scheme(gui::Scheme::light);
  gui::MainWindow window(gui::Scheme::light);
  window.resize(1280, 800);
  window.show();
  window.open(folder);
  gui::LivePage& page = window.live();
  if (!page.is_following()) {
    std::fprintf(stderr, "tapelens-bench-live: %s holds no spools\n", folder.toUtf8().constData());
    return 1;
  }
  Pictures pictures(page);
  for (gui::LiveCurve* curve : page.findChildren<gui::LiveCurve*>()) curve->installEventFilter(&pictures);
  QObject::connect(&page, &gui::LivePage::sealed, &window, [] { QApplication::quit(); });
  QObject::connect(&page, &gui::LivePage::shown, &window, [&page] {
    if (page.figures() != nullptr && (page.figures()->is_over || page.figures()->is_gone)) QApplication::quit();
  });
  return QApplication::exec();
}

}  // namespace
}  // namespace tapelens::bench

int main(int argc, char** argv) {
  using namespace tapelens;
  if (argc != 2) {
    std::fprintf(stderr, "usage: tapelens-bench-live FOLDER\n");
    return 2;
  }
  qputenv("QT_QPA_PLATFORM", "offscreen");
  qputenv("XDG_CONFIG_HOME", "/nonexistent");
  qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString&) {});
  const QApplication application(argc, argv);
  return bench::follow(QString::fromLocal8Bit(argv[1]));
}
