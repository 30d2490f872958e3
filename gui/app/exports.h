// Exports of the window: the card, which is a picture to share, and a page.
#pragma once

#include <QSet>
#include <QSize>
#include <QString>

#include "gui/models/document.h"
#include "gui/models/saving.h"
#include "trace/result.h"

class QPainter;

namespace tapelens::gui {

inline constexpr QSize kCardSize(1200, 675);  // device independent

// Shows the memory without the findings in `ticked` (fingerprints). If that is empty: without all that count in
// Advice::peak_after_all. Needs Part::advice.
void paint_card(QPainter& painter, const Document& document, const Subject& subject, const QSet<QString>& ticked);

// The file extension decides: .png (at double resolution) or .svg.
trace::Status export_card(const Document& document, const Subject& subject, const QSet<QString>& ticked,
                          const QString& path, const Saving& saving = {});

// ---- a page, to a file or to the clipboard
class Page;

// The file extension decides: .png, .svg, .csv.
trace::Status export_page(Page& page, const QString& path, const Saving& saving = {});

// Copies the table of the page; a page without a table copies its picture.
void copy_page(Page& page);

}  // namespace tapelens::gui
