// The command line of tapelens-gui, which `tapelens view` hands its words to: what a value may be is known here alone.
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
  QString file, other;  // other: to compare with
  std::optional<PageId> page;
  std::optional<report::At> at;
  QString device;      // "cuda:0"; empty: the one with the largest peak
  QString screenshot;  // where to write a picture of the window; empty: the window stays open
  QString card;        // where to write a card; empty: likewise
  std::optional<QSize> size;
  std::optional<Scheme> scheme;  // none: that of the last time
  // Something is written, and nobody looks.
  bool is_headless() const { return !screenshot.isEmpty() || !card.isEmpty(); }
  bool is_forced = false;  // a picture replaces any file
  QStringList files() const { return other.isEmpty() ? QStringList{file} : QStringList{file, other}; }
  bool wants_help = false, wants_version = false;
};

// `arguments` without the program's name.
trace::Result<WindowOptions> parse_options(const QStringList& arguments);
QString help_text();

}  // namespace tapelens::gui
