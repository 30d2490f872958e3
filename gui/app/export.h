// What a page shows, as a file or on the clipboard.
#pragma once

#include <QString>

#include "gui/models/saving.h"
#include "trace/result.h"

namespace tapelens::gui {

class Page;

// By the name's ending: .png, .svg, .csv.
trace::Status export_page(Page& page, const QString& path, const Saving& saving = {});

// The table of the page if it has one, else its picture.
void copy_page(Page& page);

}  // namespace tapelens::gui
