// What a page shows, as a file or on the clipboard.
#pragma once

#include <QString>

namespace tapelens::gui {

class Page;

// By the name's ending: .png, .svg, .csv. Otherwise why not, in one sentence.
QString export_page(Page& page, const QString& path);

// The table of the page if it has one, else its picture.
void copy_page(Page& page);

}  // namespace tapelens::gui
