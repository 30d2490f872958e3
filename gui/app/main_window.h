// The window: pages over one session, with menus and the usual desktop functions.
#pragma once

#include <QMainWindow>
#include <QStringList>
#include <array>
#include <memory>

#include "analyzer/live/live_run.h"
#include "gui/app/options.h"
#include "gui/models/session.h"
#include "gui/widgets/page.h"

class QAction;
class QComboBox;
class QActionGroup;
class QLabel;
class QMenu;
class QProgressBar;
class QStackedWidget;
class QToolButton;

namespace tapelens::gui {

class LivePage;
class StartPage;

class MainWindow final : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(Scheme scheme, QWidget* parent = nullptr);
  ~MainWindow() override;

  // The scheme that the user chose last, in any window.
  static Scheme kept_scheme();

  // A recording, or the spools of one that a program still writes: those are followed until the recording exists.
  void open(const QString& path);
  void open_other(const QString& path);
  void show_page(PageId page);
  // Shows a device and a time of the open recording; an error if it does not have them.
  trace::Status look_at(const WindowOptions& options);
  trace::Status look_at(const report::At& at);
  // Shows a message over the page until the user dismisses it.
  void say(const QString& sentence);

  Session& session() { return session_; }
  LivePage& live() { return *live_; }
  Page& page(PageId id) { return *pages_[static_cast<size_t>(id)]; }

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void make_pages();
  QWidget* make_head();
  void make_menus();
  QAction* add(QMenu& menu, const QString& text, const QKeySequence& keys, const std::function<void()>& run);
  void follow();
  void follow_run(const live::LiveTarget& target);
  void close_all();
  void show_headline();
  void show_note();
  trace::Status look_at_device(const QString& name);
  void show_subjects();
  void show_progress(const QString& what, double share);
  void ask_file();
  void ask_export();
  void ask_card();
  QStringList open_files() const;
  void show_keys();
  void about();
  void remember(const QString& path);
  void show_recent();
  void keep_state();
  void restore_state();
  void choose_scheme(Scheme scheme);

  Session session_;
  std::array<Page*, kPages> pages_{};
  StartPage* start_ = nullptr;
  LivePage* live_ = nullptr;
  QStackedWidget *outer_ = nullptr, *inner_ = nullptr;
  std::array<QToolButton*, kPages> tabs_{};
  QComboBox* subject_ = nullptr;
  QToolButton *back_ = nullptr, *forward_ = nullptr, *cancel_ = nullptr;
  QLabel *headline_ = nullptr, *note_ = nullptr, *problem_ = nullptr, *doing_ = nullptr;
  QWidget *banner_ = nullptr, *working_ = nullptr;
  QProgressBar* progress_ = nullptr;
  QMenu* recent_menu_ = nullptr;
  QAction *back_action_ = nullptr, *forward_action_ = nullptr, *export_ = nullptr, *card_ = nullptr, *copy_ = nullptr,
          *find_ = nullptr, *close_ = nullptr;
  Scheme scheme_;
  QString opening_;
};

}  // namespace tapelens::gui
