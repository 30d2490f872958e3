// The menus of the window, with their exports and the Help pages.
#include <QActionGroup>
#include <QApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>
#include <QMessageBox>

#include "gui/app/exports.h"
#include "gui/app/main_window.h"
#include "gui/models/visible_text.h"

namespace tapelens::gui {

// Names keys explicitly, because Qt's standard keys depend on the desktop; some desktops have no key to quit.
QAction* MainWindow::add(QMenu& menu, const QString& text, const QKeySequence& keys, const std::function<void()>& run) {
  QAction* action = menu.addAction(text);
  action->setShortcut(keys);
  connect(action, &QAction::triggered, this, run);
  return action;
}

void MainWindow::make_menus() {
  QMenu& file = *menuBar()->addMenu(tr("&File"));
  add(file, tr("&Open …"), QKeySequence("Ctrl+O"), [this] { ask_file(); });
  recent_menu_ = file.addMenu(tr("Open &recent"));
  add(file, tr("Compare &with …"), {}, [this] { show_page(PageId::compare); });
  file.addSeparator();
  export_ = add(file, tr("&Export this page …"), QKeySequence("Ctrl+E"), [this] { ask_export(); });
  card_ = add(file, tr("Export c&ard …"), {}, [this] { ask_card(); });
  close_ = add(file, tr("&Close"), QKeySequence("Ctrl+W"), [this] { close_all(); });
  file.addSeparator();
  add(file, tr("&Quit"), QKeySequence("Ctrl+Q"), [this] { close(); });

  QMenu& edit = *menuBar()->addMenu(tr("&Edit"));
  copy_ =
      add(edit, tr("&Copy this page"), QKeySequence("Ctrl+Shift+C"), [this] { copy_page(page(session_.view().page)); });
  find_ = add(edit, tr("&Find"), QKeySequence("Ctrl+F"), [this] { page(session_.view().page).find(); });

  QMenu& view = *menuBar()->addMenu(tr("&View"));
  for (size_t i = 0; i < pages_.size(); ++i) {
    add(view, pages_[i]->title(), QKeySequence(QString("Ctrl+%1").arg(i + 1)),
        [this, i] { show_page(static_cast<PageId>(i)); });
  }
  view.addSeparator();
  back_action_ = add(view, tr("&Back"), QKeySequence("Alt+Left"), [this] { session_.back(); });
  forward_action_ = add(view, tr("&Forward"), QKeySequence("Alt+Right"), [this] { session_.forward(); });
  view.addSeparator();
  QMenu& colors = *view.addMenu(tr("&Colors"));
  auto* schemes = new QActionGroup(this);
  for (const auto& [scheme, name] :
       {std::pair{Scheme::system, tr("As the system")}, {Scheme::light, tr("Light")}, {Scheme::dark, tr("Dark")}}) {
    QAction* action = add(colors, name, {}, [this, chosen = scheme] { choose_scheme(chosen); });
    action->setCheckable(true);
    action->setChecked(scheme == scheme_);
    schemes->addAction(action);
  }

  QMenu& help = *menuBar()->addMenu(tr("&Help"));
  add(help, tr("&Keys"), QKeySequence("F1"), [this] { show_keys(); });
  add(help, tr("&About Tapelens"), {}, [this] { about(); });
}

QStringList MainWindow::open_files() const {
  return session_.document() == nullptr ? QStringList() : QStringList{session_.document()->facts().path};
}

void MainWindow::ask_export() {
  Page& shown = page(session_.view().page);
  const QString kinds = shown.table() != nullptr ? tr("Picture (*.png);;Drawing (*.svg);;Table (*.csv)")
                                                 : tr("Picture (*.png);;Drawing (*.svg)");
  QString chosen;
  QString path = QFileDialog::getSaveFileName(this, tr("Export %1").arg(shown.title()),
                                              shown.title().toLower() + ".png", kinds, &chosen);
  if (path.isEmpty()) return;
  if (QFileInfo(path).suffix().isEmpty()) path += chosen.section('*', 1).section(')', 0, 0);
  if (const auto exported = export_page(shown, path, {open_files()}); !exported) say(sentence(exported.error()));
}

// A card of the ticked findings or, if none is ticked, of all.
void MainWindow::ask_card() {
  QString chosen;
  QString path = QFileDialog::getSaveFileName(this, tr("Export card"),
                                              QFileInfo(session_.document()->facts().path).completeBaseName() + ".png",
                                              tr("Picture (*.png);;Drawing (*.svg)"), &chosen);
  if (path.isEmpty()) return;
  if (QFileInfo(path).suffix().isEmpty()) path += chosen.section('*', 1).section(')', 0, 0);
  const auto exported = export_card(*session_.document(), session_.subject(), session_.ticked(), path, {open_files()});
  if (!exported) say(sentence(exported.error()));
}

void MainWindow::show_keys() {
  const QByteArray pages = QString::fromUtf8("Ctrl+1 … Ctrl+%1").arg(kPages).toUtf8();
  const std::pair<const char*, const char*> keys_of[] = {
      {pages.constData(), "the pages"},
      {"Alt+Left, Alt+Right", "back and forward"},
      {"Ctrl+F", "filter or search"},
      {"Ctrl+E", "export this page: PNG, SVG, CSV"},
      {"Ctrl+Shift+C", "copy this page: its table, or its picture"},
      {"Ctrl+C, Menu", "copy the row of a table; the menu of the row"},
      {"", ""},
      {"W S, Up Down, wheel", "timeline: zoom in and out"},
      {"A D, Left Right, drag", "pan"},
      {"Shift and drag", "choose a range; Enter zooms to it, Esc clears"},
      {"Ctrl and wheel", "over allocations: zoom bytes"},
      {"P", "the step of the peak"},
      {"F", "the whole run"},
      {"[ and ]", "the step before, the next step"},
      {", and .", "the allocation before, the next allocation"},
      {"O and Shift+O", "the next time out of memory, the time before"},
      {"/", "search; Enter and Shift+Enter walk the results"},
      {"", ""},
      {"Space", "advice: tick a finding"},
      {"Enter, Backspace", "icicle: zoom into a piece, and out"},
      {"+ −, Ctrl and wheel, F", "memory map: zoom in and out, all of it at once"},
      {"Left Right Up Down", "the block before and behind, above and below; Enter shows it in the timeline"},
  };
  QString rows;
  for (const auto& [keys, what] : keys_of) {
    rows += QString("<tr><td style='padding-right:18px'><b>%1</b></td><td>%2</td></tr>")
                .arg(QString::fromUtf8(keys).toHtmlEscaped(), QString::fromUtf8(what).toHtmlEscaped());
  }
  QMessageBox box(QMessageBox::NoIcon, tr("Keys"), "<table cellspacing=0 cellpadding=2>" + rows + "</table>",
                  QMessageBox::Close, this);
  box.exec();
}

void MainWindow::about() {
  QMessageBox box(
      QMessageBox::NoIcon, tr("About Tapelens"),
      tr("<b>Tapelens %1</b><p>Shows the memory at the peak of a PyTorch training run, its holders, and how "
         "to lower the peak.</p>")
          .arg(QApplication::applicationVersion()),
      QMessageBox::Close, this);
  box.exec();
}

}  // namespace tapelens::gui
