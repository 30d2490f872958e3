// What a page shows, as a file or on the clipboard.
#pragma once

#include <QString>

class QAbstractItemModel;

namespace tapelens::gui {

class Page;

// By the name's ending: .png, .svg, .csv. Otherwise why not, in one sentence.
QString export_page(Page& page, const QString& path);

// Tables as comma separated values (RFC 4180; bytes and times as numbers), or as they are shown with tabs between.
QString table_text(const QAbstractItemModel& table, char between);

// The table of the page if it has one, else its picture.
void copy_page(Page& page);

}  // namespace tapelens::gui
