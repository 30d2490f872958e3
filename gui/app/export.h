// Exports a page to a file or to the clipboard.
#pragma once

#include <QString>

#include "gui/models/saving.h"
#include "trace/result.h"

namespace tapelens::gui {

class Page;

// The file extension decides: .png, .svg, .csv.
trace::Status export_page(Page& page, const QString& path, const Saving& saving = {});

// Copies the table of the page; a page without a table copies its picture.
void copy_page(Page& page);

}  // namespace tapelens::gui
