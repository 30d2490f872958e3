// The command line of tapelens-gui. `tapelens view` passes its words on; only this file checks the values.
#pragma once

#include <QSize>
#include <QString>
#include <QStringList>
#include <optional>

#include "analyzer/report/report.h"
#include "gui/models/session.h"
#include "gui/widgets/theme.h"
#include "trace/result.h"

namespace tapelens::gui {

struct WindowOptions {
  QString file, other;  // other: recording to compare with
  std::optional<PageId> page;
  std::optional<report::At> at;
  QString device;      // "cuda:0"; empty: the device with the peak
  QString screenshot;  // path of a picture of the window; empty: the window stays open
  QString card;        // path of a card; empty: likewise
  std::optional<QSize> size;
  std::optional<Scheme> scheme;  // none: the last one used
  // Only writes files, without a visible window.
  bool is_headless() const { return !screenshot.isEmpty() || !card.isEmpty(); }
  bool is_forced = false;  // pictures may replace any file
  QStringList files() const { return other.isEmpty() ? QStringList{file} : QStringList{file, other}; }
  bool wants_help = false, wants_version = false;
};

// `arguments` excludes the program's name.
trace::Result<WindowOptions> parse_options(const QStringList& arguments);
QString help_text();

// Runs `tapelens-gui`: its command line and its window. Returns the exit code: 0 fine, 2 wrong usage, 3 unreadable file
// or unwritable picture.
int run_application(int argc, char** argv);

}  // namespace tapelens::gui
