#include <QApplication>
#include <QFileInfo>
#include <QImage>
#include <QTimer>
#include <cstdio>

#include "gui/app/exports.h"
#include "gui/app/main_window.h"
#include "gui/app/options.h"
#include "gui/live/live_page.h"
#include "gui/models/visible_text.h"

namespace tapelens::gui {

namespace {

enum ExitCode : int { kFine = 0, kUsage = 2, kUnreadable = 3 };

void say_line(const QString& line) { std::fprintf(stderr, "tapelens-gui: %s\n", line.toUtf8().constData()); }

// Qt's messages about the machine do not matter to the user, so they are dropped.
void pass_on(QtMsgType type, const QMessageLogContext&, const QString& text) {
  for (const char* start : {"QStandardPaths: XDG_RUNTIME_DIR not set", "This plugin does not support "}) {
    if (text.startsWith(start)) return;
  }
  if (type != QtDebugMsg && type != QtInfoMsg) std::fprintf(stderr, "tapelens-gui: %s\n", text.toUtf8().constData());
}

bool has_display() {
  return !qEnvironmentVariableIsEmpty("DISPLAY") || !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") ||
         !qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM");
}

// Opens the recording, waits until all parts are computed, writes the pictures and exits.
class Photographer : public QObject {
 public:
  Photographer(MainWindow& window, const WindowOptions& options) : window_(window), options_(options) {
    Session& session = window.session();
    connect(&session, &Session::failed, this, [this](const QString& why) { end(why, kUnreadable); });
    connect(&session, &Session::opened, this, [this] {
      if (const auto looked = window_.look_at(options_); !looked) return end(sentence(looked.error()), kUsage);
      look();
    });
    for (const auto signal : {&Session::momentChanged, &Session::whatIfChanged}) {
      connect(&session, signal, this, &Photographer::look);
    }
    connect(&session, &Session::made, this, &Photographer::look);
    connect(&window_.live(), &LivePage::shown, this, &Photographer::look_at_run);
  }

 private:
  void look() {
    Session& session = window_.session();
    if (done_ || !session.has(Part::advice) || session.moment() == nullptr) return;
    if (window_.page(session.view().page).is_busy()) {
      QTimer::singleShot(20, this, &Photographer::look);
      return;
    }
    take();
  }
  // A picture shows the present state of the run. A card needs its recording.
  void look_at_run() {
    const LiveFigures* figures = window_.live().figures();
    if (done_ || !options_.card.isEmpty() || figures == nullptr || figures->devices.isEmpty()) return;
    take();
  }
  void take() {
    done_ = true;
    // Gives the pages time to update their layout.
    QTimer::singleShot(200, this, [this] {
      const trace::Status written = write();
      written ? end(QString(), kFine) : end(written.error());
    });
  }
  trace::Status write() {
    const Saving saving{options_.files(), options_.is_forced};
    if (!options_.screenshot.isEmpty()) {
      if (auto written = save_png(options_.screenshot, saving, window_.grab().toImage()); !written) return written;
    }
    if (options_.card.isEmpty()) return trace::Done{};
    const Session& session = window_.session();
    return export_card(*session.document(), session.subject(), {}, options_.card, saving);
  }
  void end(const trace::Error& error) {
    end(sentence(error), error.kind == trace::ErrorKind::usage ? kUsage : kUnreadable);
  }
  void end(const QString& why, int code) {
    if (!why.isEmpty()) say_line(why);
    QApplication::exit(why.isEmpty() ? kFine : code);
  }

  MainWindow& window_;
  const WindowOptions& options_;
  bool done_ = false;
};

}  // namespace

int run_application(int argc, char** argv) {
  QStringList arguments;
  for (int i = 1; i < argc; ++i) arguments << QString::fromLocal8Bit(argv[i]);
  const auto parsed = parse_options(arguments);
  if (!parsed) {
    say_line(sentence(parsed.error()));
    return kUsage;
  }
  const WindowOptions& options = *parsed;
  if (options.wants_help || options.wants_version) {
    std::fputs(options.wants_help ? help_text().toUtf8().constData() : "tapelens-gui " TAPELENS_VERSION "\n", stdout);
    return kFine;
  }
  for (const auto& [path, ending] : {std::pair{options.screenshot, QString("png")},
                                     std::pair{options.card, QFileInfo(options.card).suffix().toLower()}}) {
    if (path.isEmpty()) continue;
    if (const auto may = may_save(path, picture_kind(ending), {options.files(), options.is_forced}); !may) {
      say_line(sentence(may.error()));
      return may.error().kind == trace::ErrorKind::usage ? kUsage : kUnreadable;
    }
  }
  if (!has_display()) {
    if (!options.is_headless()) {
      say_line("no display was found: set DISPLAY or WAYLAND_DISPLAY, or use --screenshot PATH, `tapelens report`");
      return kUnreadable;
    }
    qputenv("QT_QPA_PLATFORM", "offscreen");
  }
  qInstallMessageHandler(pass_on);
  QApplication application(argc, argv);
  QApplication::setApplicationName("tapelens-gui");
  QApplication::setOrganizationName("Tapelens");
  QApplication::setApplicationVersion(TAPELENS_VERSION);
  QApplication::setDesktopFileName("org.tapelens.Tapelens");
  const bool is_photo = options.is_headless();
  const Scheme scheme = options.scheme.value_or(is_photo ? Scheme::system : MainWindow::kept_scheme());
  set_scheme(scheme);
  MainWindow window(scheme);
  if (options.size) window.resize(*options.size);
  Session& session = window.session();
  QObject::connect(&session, &Session::opened, &window, [&, is_first = true]() mutable {
    if (!std::exchange(is_first, false)) return;
    if (options.page) window.show_page(*options.page);
    if (!options.other.isEmpty()) {
      window.open_other(options.other);
      if (!options.page) window.show_page(PageId::compare);
    }
    if (is_photo) return;
    if (const auto looked = window.look_at(options); !looked) window.say(sentence(looked.error()));
  });
  std::unique_ptr<Photographer> photographer;
  if (is_photo) photographer = std::make_unique<Photographer>(window, options);
  if (is_photo) window.setAttribute(Qt::WA_DontShowOnScreen);
  window.show();
  if (!options.file.isEmpty()) window.open(options.file);
  return QApplication::exec();
}

}  // namespace tapelens::gui
