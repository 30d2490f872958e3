// The command line of tapelens-gui: the same words as `tapelens view`.
#pragma once

#include <QSize>
#include <QString>
#include <QStringList>
#include <optional>

#include "analyzer/report/report.h"
#include "gui/models/session.h"
#include "gui/widgets/theme.h"

namespace tapelens::gui {

struct WindowOptions {
  QString file, other;  // other: to compare with
  std::optional<PageId> page;
  std::optional<report::At> at;
  QString screenshot;  // where to write a picture of the window; empty: the window stays open
  std::optional<QSize> size;
  std::optional<Scheme> scheme;  // none: that of the last time
  bool wants_help = false, wants_version = false;
};

// `arguments` without the program's name. Otherwise one sentence.
struct ParsedOptions {
  WindowOptions options;
  QString problem;  // empty: none
};
ParsedOptions parse_options(const QStringList& arguments);
QString help_text();

}  // namespace tapelens::gui
