// One picture to show others: the memory over time as it was and without findings, two numbers, and the fixes.
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

// Without `ticked`, by fingerprint; if none is, without all that counts in Advice::peak_after_all. Wants Part::advice.
void paint_card(QPainter& painter, const Document& document, const Subject& subject, const QSet<QString>& ticked);

// By the name's ending: .png, twice as many pixels, or .svg.
trace::Status export_card(const Document& document, const Subject& subject, const QSet<QString>& ticked,
                          const QString& path, const Saving& saving = {});

}  // namespace tapelens::gui
