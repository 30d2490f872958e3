// What a page shows, as a file or on the clipboard.
#pragma once

#include <QString>
#include <functional>

#include "trace/result.h"

class QIODevice;

namespace tapelens::gui {

class Page;

// All of it or, if it cannot be written, what was there before. `write` says whether it could.
trace::Status save_file(const QString& path, const std::function<bool(QIODevice&)>& write);

// By the name's ending: .png, .svg, .csv.
trace::Status export_page(Page& page, const QString& path);

// The table of the page if it has one, else its picture.
void copy_page(Page& page);

}  // namespace tapelens::gui
